"""What holds in every world, looked at from outside: only tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import columns, make_cell, run

from simflow.episode import AGENTS, EPISODES, EXPOSURES, TEXT_KINDS, TRUTH, TURNS
from simflow.plan import Clock, Dynamics, Event, Feed, Network, Platform, Voice
from simflow.world.builtin import BuiltinEngine

ONE = 1 << 32


def worlds():
    """Cells of all kinds."""
    return st.builds(
        lambda model, feed, shape, seed, minutes, shown, tail: make_cell(
            agents=36,
            ticks=80,
            seed=seed,
            voices=(Voice("city council", 0.7),),
            events=(
                Event("news", "post", 2, text="Water bills rise."),
                Event("plea", "post", 9, until=70, every=15, by="city council", text="The council asks for patience."),
                Event("alarm", "broadcast", 20, by="city council", text="Boil your tap water.", topic="water tariff", stance=-0.4),
                Event("scare", "nudge", 30, topic="water tariff", amount=-0.5),
                Event("more", "join", 40, persona="renter", amount=3),
            ),
            dynamics=Dynamics(model, rate=0.4, repulsion=0.5, posting_tail=tail),
            platform=Platform(feed=Feed(feed, posts=shown)),
            network=Network(shape, links=4),
            clock=Clock(ticks=80, minutes=minutes),
        ),
        st.sampled_from(["bounded_confidence", "social_judgement", "degroot", "friedkin_johnsen"]),
        st.sampled_from(["mix", "chronological", "hot", "interest", "follow_first"]),
        st.sampled_from(["small_world", "preferential", "blocks", "configuration"]),
        st.integers(0, 2**40),
        st.sampled_from([10, 60, 720]),
        st.integers(1, 20),
        st.sampled_from(["mild", "strong"]),
    )


@settings(max_examples=20, deadline=None)
@given(worlds())
def test_the_rules_of_the_world_hold(cell):
    step = run(cell)
    check_schemas(step)
    check_identity(step)
    check_threads(step)
    check_exposures(step)
    check_acts_follow_exposures(step)
    check_stances(step)
    check_graph(cell, step)


def test_follows_unfollows_and_mutes_take_effect(standard):
    cell, step = standard
    kinds = step.episodes["kind"].to_pylist()
    assert kinds.count("follow") > 5
    assert kinds.count("unfollow") > 5
    check_graph(cell, step)


def check_schemas(step):
    assert step.agents.schema.equals(AGENTS)
    assert step.episodes.schema.equals(EPISODES)
    assert step.exposures.schema.equals(EXPOSURES)
    assert step.turns.schema.equals(TURNS)
    for name, table in step.truth.items():
        assert table.schema.equals(TRUTH[name])
    for table in (step.agents, step.episodes, step.exposures, *step.truth.values()):
        for field in table.schema:
            assert field.nullable or table[field.name].null_count == 0, field.name


def check_identity(step):
    ids = step.episodes["episode"].to_pylist()
    assert len(set(ids)) == len(ids)
    assert min(ids) >= 0
    order = list(zip(step.episodes["tick"].to_pylist(), step.episodes["ordinal"].to_pylist(), strict=True))
    assert order == sorted(set(order))
    assert step.agents["agent"].to_pylist() == list(range(step.agents.num_rows))
    names = step.agents["id"].to_pylist()
    assert len(set(names)) == len(names)


def check_threads(step):
    episodes = {e["episode"]: e for e in step.episodes.to_pylist()}
    for one in episodes.values():
        text = one["kind"] in TEXT_KINDS
        assert (one["text"] is not None) == text
        assert text == (one["lang"] is not None)
        if one["kind"] == "post":
            assert one["parent"] is None
            assert one["root"] == one["episode"]
        elif one["parent"] is not None:
            parent = episodes[one["parent"]]
            assert parent["tick"] < one["tick"]
            assert parent["root"] == one["root"]
            assert parent["actor"] == one["target"] != one["actor"]
            assert parent["kind"] in TEXT_KINDS
        if one["kind"] == "repost":
            assert one["text"] == episodes[one["parent"]]["text"]


def check_exposures(step):
    when = dict(zip(step.episodes["episode"].to_pylist(), step.episodes["tick"].to_pylist(), strict=True))
    who = dict(zip(step.episodes["episode"].to_pylist(), step.episodes["actor"].to_pylist(), strict=True))
    rows = step.exposures.to_pylist()
    pairs = [(r["reader"], r["episode"]) for r in rows]
    assert len(set(pairs)) == len(pairs)  # nobody is shown a post twice
    for row in rows:
        assert when[row["episode"]] < row["tick"]
        assert who[row["episode"]] != row["reader"]
    places = {}
    for row in rows:
        places.setdefault((row["tick"], row["reader"]), []).append(row["rank"])
    assert all(ranks == list(range(len(ranks))) for ranks in places.values())


def check_acts_follow_exposures(step):
    seen = {(r["tick"], r["reader"], r["episode"]) for r in step.exposures.to_pylist()}
    follows = set()
    for one in step.episodes.to_pylist():
        if one["parent"] is not None:
            assert (one["tick"], one["actor"], one["parent"]) in seen
        if one["kind"] in {"follow", "unfollow", "mute"}:
            assert one["target"] is not None
        if one["kind"] == "follow":
            follows.add((one["actor"], one["target"]))
    reactions = {(i["tick"], i["reader"], i["episode"]): i["reaction"] for i in step.truth["impacts"].to_pylist()}
    assert set(reactions) == seen
    acts = {(e["tick"], e["actor"], e["parent"]): e["kind"] for e in step.episodes.to_pylist() if e["parent"] is not None}
    assert acts == {where: what for where, what in reactions.items() if what is not None}


def check_graph(cell, step):
    """The follow graph at the end is that of the start, with every follow and unfollow done; mutes are those that happened."""
    start = BuiltinEngine(cell).begin()
    follows = {(i, int(j)) for i, row in enumerate(start["follows"]) for j in row if j >= 0}
    old = len(start["persona"])
    for one in step.episodes.to_pylist():
        pair = (one["actor"], one["target"])
        if one["kind"] == "follow":
            assert pair not in follows
            follows.add(pair)
        elif one["kind"] == "unfollow" and max(pair) < old:
            follows.remove(pair)
    final = {(i, int(j)) for i, row in enumerate(step.state["follows"]) for j in row if j >= 0}
    assert {p for p in follows if max(p) < old} == {p for p in final if max(p) < old}
    mutes = {(e["actor"], e["target"]) for e in step.episodes.to_pylist() if e["kind"] == "mute"}
    assert mutes == {(int(m) >> 32, int(m) & 0xFFFFFFFF) for m in step.state["mutes"]}


def check_stances(step):
    """x at the end - x at the start = contributions + self term + clip, to the last bit, and contributions are those of exposures."""
    rows = step.truth["stances"].to_pylist()
    latest = {}
    for row in rows:
        assert abs(row["stance"]) <= ONE
        key = (row["agent"], row["topic"])
        if key in latest:
            assert row["stance"] - latest[key] == row["contributions"] + row["self_term"] + row["clip"]
        else:
            assert row["contributions"] == row["self_term"] == row["clip"] == 0
        latest[key] = row["stance"]
    x = step.state["x"]
    for (agent, topic), stance in latest.items():
        assert x[agent, topic] == stance
    residents = np.flatnonzero(step.state["persona"] >= 0)
    assert len(latest) == len(residents) * x.shape[1]
    impacts = {}
    for one in step.truth["impacts"].to_pylist():
        key = (one["tick"], one["reader"], one["topic"])
        impacts[key] = impacts.get(key, 0) + one["contribution"]
    logged = {(r["tick"], r["agent"], r["topic"]): r["contributions"] for r in rows if r["contributions"]}
    assert {k: v for k, v in impacts.items() if v} == logged


def test_a_standard_world_is_alive(standard):
    cell, step = standard
    kinds = columns(step.episodes)["kind"].tolist()
    assert {"post", "reply", "repost", "quote", "like", "dislike", "follow", "unfollow"} <= set(kinds)
    assert len(set(step.episodes["actor"].to_pylist())) > 0.8 * cell.personas[0].count * 3


def test_sentences_name_who_did_what_to_whom(standard):
    _, step = standard
    ids = step.agents["id"].to_pylist()
    for one in step.episodes.to_pylist():
        assert one["sentence"].startswith(f"@{ids[one['actor']]} ")
        if one["target"] is not None:
            assert f"@{ids[one['target']]}" in one["sentence"]
        if one["text"] is not None:
            assert one["text"] in one["sentence"]


def test_readable_ids_are_first_names_with_the_index(standard):
    _, step = standard
    for one in step.agents.to_pylist():
        assert one["id"] == f"{one['name'].split()[0].lower()}{one['agent']}"


def test_true_relations_say_what_the_acts_say(standard):
    _, step = standard
    kinds = dict(zip(step.episodes["episode"].to_pylist(), step.episodes["kind"].to_pylist(), strict=True))
    stance = dict(zip(step.truth["statements"]["episode"].to_pylist(), step.truth["statements"]["stance"].to_pylist(), strict=True))
    parent = dict(zip(step.episodes["episode"].to_pylist(), step.episodes["parent"].to_pylist(), strict=True))
    for one in step.truth["relations"].to_pylist():
        kind = kinds[one["episode"]]
        if kind in {"like", "repost", "follow"}:
            assert one["label"] == 1
        elif kind in {"dislike", "unfollow", "mute"}:
            assert one["label"] == -1
        else:
            apart = abs(stance[one["episode"]] - stance[parent[one["episode"]]])
            assert one["label"] == (1 if apart < 0.45 else -1 if apart > 0.8 else 0)


@pytest.mark.parametrize("action", ["post", "reply", "repost", "quote", "like", "dislike", "follow", "unfollow", "mute"])
def test_a_platform_without_an_action_sees_none_of_it(action):
    rest = tuple(a for a in Platform().actions if a != action)
    events = (Event("news", "post", 1, text="Water bills rise."),)  # something to react to, even where nobody posts
    step = run(make_cell(agents=60, ticks=100, platform=Platform(actions=rest), events=events))
    kinds = {k for k, e in zip(step.episodes["kind"].to_pylist(), step.episodes["event"].to_pylist(), strict=True) if e is None}
    assert action not in kinds
    assert kinds


@pytest.mark.parametrize(("minutes", "ticks"), [(10, 1000), (60, 240)])
def test_in_a_strong_tail_a_tenth_writes_four_fifths(minutes, ticks):
    cell = make_cell(agents=300, ticks=ticks, dynamics=Dynamics(posting_tail="strong"), clock=Clock(ticks=ticks, minutes=minutes))
    step = run(cell)
    texts = [a for a, k in zip(step.episodes["actor"].to_pylist(), step.episodes["kind"].to_pylist(), strict=True) if k in TEXT_KINDS]
    counts = np.sort(np.bincount(texts, minlength=300))[::-1]
    assert 0.72 < counts[:30].sum() / counts.sum() < 0.88


def test_a_mild_tail_is_milder():
    step = run(make_cell(agents=300, ticks=240))
    counts = np.sort(np.bincount(step.episodes["actor"].to_numpy(), minlength=300))[::-1]
    assert 0.2 < counts[:30].sum() / counts.sum() < 0.5


def test_people_wake_and_sleep_by_the_clock():
    flat = run(make_cell(agents=150, ticks=240, clock=Clock(ticks=240, active=(1.0,) * 24)))
    hours = np.bincount(flat.episodes["tick"].to_numpy() % 24, minlength=24)
    assert hours.min() > 0.5 * hours.mean()
    usual = run(make_cell(agents=150, ticks=240))
    hours = np.bincount(usual.episodes["tick"].to_numpy() % 24, minlength=24)
    assert hours[2:5].sum() < 0.2 * hours[19:22].sum()


def test_weekdays_weigh():
    cell = make_cell(agents=150, ticks=24 * 14, clock=Clock(ticks=24 * 14, weekday=(1.3, 1.3, 1.3, 1.3, 1.3, 0.25, 0.25)))
    days = np.bincount(run(cell).episodes["tick"].to_numpy() // 24 % 7, minlength=7)
    assert days[5:].mean() < 0.4 * days[:5].mean()


def test_shorter_ticks_give_about_the_same_day_twice_as_often_as_four_times_longer_ones():
    def sessions_a_day(minutes, days=6):
        ticks = days * 1440 // minutes
        step = run(make_cell(agents=200, ticks=ticks, clock=Clock(ticks=ticks, minutes=minutes)))
        return len(set(zip(step.exposures["tick"].to_pylist(), step.exposures["reader"].to_pylist(), strict=True))) / 200 / days

    assert 1.5 < sessions_a_day(15) / sessions_a_day(60) < 2.5
