"""Messages and groups, reports, searches and trends: who may see what, and what it does."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import difference, make_cell, run
from test_invariants import check_acts_follow_exposures, check_exposures, check_graph, check_identity, check_stances, check_threads

from simflow.episode import TEXT_KINDS
from simflow.errors import BadInput
from simflow.memory.witness import Witness
from simflow.plan import Audience, Clock, Event, Extract, Feed, Group, Network, Platform, Voice
from simflow.world.builtin import BuiltinEngine
from simflow.world.ensemble import Ensemble
from simflow.world.settings import Settings

ALL = (*Platform().actions, "report", "message", "group", "search", "trend")
OFTEN = {"report": 0.6, "message": 0.3, "group": 0.3, "search": 0.3, "trend": 0.3, "dislike": 0.9, "mute": 0.1}
NAMED = (Group("pensioners", personas=("pensioner",), share=0.8), Group("mixed", share=0.3), Group("nobody", share=0.0))
EVENTS = (
    Event("news", "post", 3, text="Water bills rise."),
    Event("siren", "broadcast", 11, by="city council", text="Boil your water.", to=Audience(personas=("pensioner",))),
    Event("scare", "nudge", 17, topic="water tariff", amount=-0.3),
    Event("hush", "mute", 20, until=31, target="city council"),
    Event("more", "join", 25, persona="renter", amount=4),
    Event("exodus", "leave", 33, persona="engineer", amount=3),
)


def talkative(**changes):
    """A small world in which everything happens often."""
    platform = {"actions": ALL, "rates": OFTEN, "hide_after": 2, "trend_span": 10} | changes.pop("platform", {})
    given = {"agents": 45, "ticks": 60, "voices": (Voice("city council", 0.8),), "events": EVENTS, "platform": Platform(**platform)}
    return make_cell(**(given | changes))


@pytest.fixture(scope="module")
def lively():
    """A cell and all that happened in it, by episode."""
    cell = talkative(agents=90, ticks=120)
    step = run(cell)
    return cell, step, {e["episode"]: e for e in step.episodes.to_pylist()}


def worlds():
    return st.builds(
        lambda feed, shape, groups, seed, shown, hide, results, horizon: talkative(
            agents=36,
            seed=seed,
            network=Network(shape, links=4),
            platform={"feed": Feed(feed, posts=shown, horizon=horizon), "groups": groups, "hide_after": hide, "results": results},
        ),
        st.sampled_from(["mix", "chronological", "hot", "interest", "follow_first"]),
        st.sampled_from(["small_world", "preferential"]),
        st.sampled_from([(), NAMED]),
        st.integers(0, 2**40),
        st.integers(1, 12),
        st.integers(1, 3),
        st.integers(1, 8),
        st.integers(3, 144),
    )


@settings(max_examples=8, deadline=None)
@given(worlds(), st.sets(st.integers(1, 59), max_size=5), st.integers(1, 9))
def test_the_rules_of_the_world_hold_and_any_cut_chunk_and_stack_gives_the_same_bytes(cell, cuts, chunk):
    step = run(cell)
    check_identity(step)
    check_exposures(step)  # nobody is shown a post twice, by whatever way
    check_stances(step)  # contributions, self terms and clips add up to the last bit
    check_graph(cell, step)
    check_acts_follow_exposures_of_public_acts(step)
    assert difference(run(cell, cuts), step) is None
    assert difference(run(cell, settings=dataclasses.replace(Settings.of(cell), chunk=chunk)), step) is None
    other = dataclasses.replace(cell, seed=cell.seed + 1)
    assert difference(Ensemble([other, cell]).run(60)[1], step) is None


def check_acts_follow_exposures_of_public_acts(step):
    hidden = step.episodes["kind"].to_pylist()
    rows = step.episodes.filter(np.array([kind != "hidden" for kind in hidden]))
    check_acts_follow_exposures(dataclasses.replace(step, episodes=rows))


def test_threads_of_every_kind_hang_together(lively):
    _, step, _ = lively
    rows = step.episodes.filter(np.array([kind not in {"hidden", "message"} for kind in step.episodes["kind"].to_pylist()]))
    check_threads(dataclasses.replace(step, episodes=rows))


def test_everything_happens(lively):
    kinds = {e["kind"] for e in lively[2].values()}
    assert {"report", "message", "group", "search", "trend", "hidden"} <= kinds


# ----------------------------------------------------------------------------------------------------------------- in private


def test_a_message_is_shown_to_its_recipient_alone(lively):
    _, step, episodes = lively
    shown = [(r["reader"], episodes[r["episode"]]) for r in step.exposures.to_pylist()]
    read = [(reader, e) for reader, e in shown if e["kind"] == "message"]
    assert len(read) > 50
    assert all(reader == e["target"] for reader, e in read)


def test_a_message_can_be_answered_to_whom_it_came_from_and_never_shared(lively):
    episodes = lively[2]
    answers = 0
    for one in episodes.values():
        about = episodes.get(one["parent"])
        if about is None or about["kind"] != "message":
            assert one["kind"] != "message" or one["root"] == one["episode"]
            continue
        assert (one["kind"], one["actor"], one["target"]) == ("message", about["target"], about["actor"])
        answers += 1
    assert answers > 10


def test_messages_go_to_people_one_follows():
    rates = {**OFTEN, "follow": 0.0, "unfollow": 0.0, "mute": 0.0}
    cell = talkative(agents=90, ticks=60, platform={"rates": rates})
    step = run(cell)
    sent = [(e["actor"], e["target"]) for e in step.episodes.to_pylist() if e["kind"] == "message" and e["parent"] is None]
    assert len(sent) > 50
    voices = set(np.flatnonzero(step.state["persona"] < 0).tolist())
    assert all(to in step.state["follows"][who] and to not in voices for who, to in sent)


def test_nobody_but_the_two_remembers_a_message(lively):
    """Everything that a third person ever witnessed, through exposures and by being addressed, holds no message of others."""
    _, step, episodes = lively
    witness = Witness(step.episodes, step.exposures)
    messages = {k for k, e in episodes.items() if e["kind"] == "message"}
    for agent in range(step.agents.num_rows):
        for episode in messages.intersection(witness.seen(agent).episodes.tolist()):
            assert agent in {episodes[episode]["actor"], episodes[episode]["target"]}


@pytest.mark.parametrize("groups", [(), NAMED], ids=["along the graph", "named"])
def test_a_group_is_read_by_its_members_and_answered_there(groups):
    cell = talkative(agents=90, ticks=80, platform={"groups": groups})
    step = run(cell)
    episodes = {e["episode"]: e for e in step.episodes.to_pylist()}
    of = {k: set() for k in range(step.agents.num_rows)}
    for agent, own in enumerate(step.state["member"].tolist()):
        of[agent] = {g for g in own if g >= 0}
    read = [(r["reader"], episodes[r["episode"]]) for r in step.exposures.to_pylist() if episodes[r["episode"]]["kind"] == "group"]
    assert len(read) > 50
    assert all(of[reader] & of[e["actor"]] for reader, e in read)
    for one in episodes.values():
        if one["parent"] in episodes and episodes[one["parent"]]["kind"] == "group" and one["kind"] in TEXT_KINDS:
            assert one["kind"] == "group"
    assert any(e["kind"] == "group" and e["parent"] is not None for e in episodes.values())


def test_named_groups_have_the_members_that_were_asked_for():
    cell = make_cell(agents=300, ticks=1, platform=Platform(actions=("post", "group"), groups=NAMED))
    state = BuiltinEngine(cell).begin()
    inside = state["member"] >= 0
    assert not inside[state["persona"] != 0, 0].any()
    assert 0.7 < inside[state["persona"] == 0, 0].mean() < 0.9
    assert 0.2 < inside[:, 1].mean() < 0.4
    assert not inside[:, 2].any()


def test_a_group_may_name_its_members():
    start = BuiltinEngine(make_cell(agents=30, ticks=1)).advance(BuiltinEngine(make_cell(agents=30, ticks=1)).begin(), 0, 1)
    ids = start.agents["id"].to_pylist()
    some = (ids[3], ids[17])
    cell = make_cell(agents=30, ticks=1, platform=Platform(actions=("post", "group"), groups=(Group("two", agents=some),)))
    assert np.flatnonzero(BuiltinEngine(cell).begin()["member"][:, 0] >= 0).tolist() == [3, 17]
    wrong = dataclasses.replace(cell, platform=Platform(actions=("group",), groups=(Group("two", agents=("nobody99",)),)))
    with pytest.raises(BadInput, match="group 'two' has 'nobody99', who does not exist"):
        BuiltinEngine(wrong).begin()


@pytest.mark.parametrize("size", [4, 12, 40])
def test_groups_that_form_by_themselves_are_connected_and_about_as_large_as_asked(size):
    cell = make_cell(agents=600, ticks=1, network=Network(links=8), platform=Platform(actions=("group",), group_size=size))
    state = BuiltinEngine(cell).begin()
    member = state["member"][:, 0]
    sizes = np.bincount(member[member >= 0])
    assert 0.6 * size < sizes.mean() < 1.5 * size
    for agent in np.flatnonzero(member >= 0).tolist():
        friends = [f for f in state["follows"][agent].tolist() if f >= 0]
        founder = sizes[member[agent]] == 1 or member[agent] in member[friends]
        assert founder or agent in founders(cell)


def founders(cell):
    from simflow.world.draws import Draws

    agents = np.arange(sum(p.count for p in cell.personas))
    return set(np.flatnonzero(Draws([cell.seed]).unit("founds a group", -1, agents) < 1 / cell.platform.group_size).tolist())


def test_what_is_private_never_reaches_a_feed_or_a_page(lively):
    """Without anybody to write to and without groups of more than one, nothing private is read."""
    cell = talkative(agents=60, ticks=60, platform={"groups": (Group("nobody", share=0.0),), "rates": {**OFTEN, "message": 0.0}})
    step = run(cell)
    kinds = set(step.episodes["kind"].to_pylist())
    assert not {"message", "group"} & kinds
    assert {"search", "trend"} <= kinds


# ----------------------------------------------------------------------------------------------------------------- moderation


def test_who_is_reported_often_enough_is_hidden_from_then_on(lively):
    cell, step, episodes = lively
    words = {}  # the episode that has the words first, through reposts
    for one in sorted(episodes.values(), key=lambda e: (e["tick"], e["ordinal"])):
        words[one["episode"]] = words[one["parent"]] if one["kind"] == "repost" else one["episode"]
    reports, hidden = {}, {}
    for one in episodes.values():
        if one["kind"] == "report":
            reports.setdefault(words[one["parent"]], []).append(one["tick"])
        elif one["kind"] == "hidden":
            assert one["actor"] == episodes[one["parent"]]["actor"]
            hidden[words[one["parent"]]] = one["tick"]
    expected = {w: sorted(ticks)[cell.platform.hide_after - 1] for w, ticks in reports.items() if len(ticks) >= cell.platform.hide_after}
    assert hidden == expected
    assert len(hidden) > 3
    for row in step.exposures.to_pylist():
        assert row["tick"] <= hidden.get(words[row["episode"]], 10**9)


def test_without_reports_nothing_is_hidden():
    step = run(talkative(platform={"actions": tuple(a for a in ALL if a != "report")}))
    assert not {"report", "hidden"} & set(step.episodes["kind"].to_pylist())


def test_a_higher_limit_hides_less():
    def hidden(limit):
        return run(talkative(agents=90, platform={"hide_after": limit})).episodes["kind"].to_pylist().count("hidden")

    assert hidden(1) > hidden(2) > hidden(50) == 0


# --------------------------------------------------------------------------------------------------------------------- looking


def looked(step, episodes, kind):
    """(search or trend episode, what the reader was shown in that session)."""
    shown = {}
    for row in step.exposures.to_pylist():
        shown.setdefault((row["tick"], row["reader"]), []).append(episodes[row["episode"]])
    return [(e, shown.get((e["tick"], e["actor"]), [])) for e in episodes.values() if e["kind"] == kind]


def only(action, **changes):
    """A world in which feeds show nothing but what one follows, and one way to look further."""
    platform = {"actions": ("post", "like", action), "rates": {action: 0.5}, "feed": Feed("chronological", posts=1), "trend_span": 10}
    return talkative(agents=90, ticks=80, events=(), voices=(), platform=platform, **changes)


def test_a_search_finds_the_best_liked_posts_on_its_topic_that_are_new_to_the_reader():
    """Against a plain search over everything that was posted, liked and shown before."""
    cell = only("search")
    step = run(cell)
    episodes = {e["episode"]: e for e in step.episodes.to_pylist()}
    topic = dict(zip(step.truth["statements"]["episode"].to_pylist(), step.truth["statements"]["topic"].to_pylist(), strict=True))
    sought = {e["episode"]: e for e in episodes.values() if e["kind"] == "search"}
    names = {f'searched for "{t.name}".': k for k, t in enumerate(cell.topics)}
    seen, found = {}, 0
    rows = sorted(step.exposures.to_pylist(), key=lambda r: (r["tick"], r["reader"], r["rank"]))
    sessions = {}
    for row in rows:
        sessions.setdefault((row["tick"], row["reader"]), []).append(row["episode"])
    order = {e["episode"]: k for k, e in enumerate(sorted((e for e in episodes.values() if e["kind"] == "post"), key=by_row))}
    for (tick, reader), shown in sorted(sessions.items()):
        search = next((s for s in sought.values() if (s["tick"], s["actor"]) == (tick, reader)), None)
        before = seen.setdefault(reader, set())
        if search:
            about = names[search["sentence"].split(" ", 1)[1]]
            likes = {}
            for e in episodes.values():
                if e["kind"] == "like" and e["tick"] < tick:
                    likes[e["parent"]] = likes.get(e["parent"], 0) + 1
            page = sorted(
                (k for k in order if episodes[k]["tick"] < tick and topic[k] == about), key=lambda k: (-likes.get(k, 0), -order[k])
            )[:32]

            def new(feed, page=page, before=before, shown=shown, reader=reader):
                fresh = [k for k in page if k not in before and k not in shown[:feed] and episodes[k]["actor"] != reader]
                return fresh[: cell.platform.results]

            feed = next((n for n in (0, 1) if shown[n:] == new(n)), None)  # a feed shows one post, or has none
            assert feed is not None
            found += len(shown) - feed
        before |= set(shown)
    assert found > 100


def by_row(episode):
    return (episode["tick"], episode["ordinal"])


def test_a_look_at_the_trends_shows_what_was_acted_on_lately():
    step = run(only("trend"))
    episodes = {e["episode"]: e for e in step.episodes.to_pylist()}
    acts = {}
    for e in episodes.values():
        if e["kind"] == "like":
            acts.setdefault(e["parent"], []).append(e["tick"])
    found = 0
    for look, shown in looked(step, episodes, "trend"):
        for post in shown[1:]:  # the first may be the feed's
            assert any(look["tick"] - 10 <= tick < look["tick"] for tick in acts.get(post["episode"], []))
            found += 1
    assert found > 100


@pytest.mark.parametrize("action", ["report", "message", "group", "search", "trend"])
def test_a_platform_without_an_action_sees_none_of_it(action):
    step = run(talkative(platform={"actions": tuple(a for a in ALL if a != action)}))
    assert action not in step.episodes["kind"].to_pylist()


def test_searching_moves_those_who_search_and_nobody_before_there_is_a_path():
    """The first to be moved otherwise than in a world without searches is somebody who searched."""
    with_, without = only("search"), only("search")
    without = dataclasses.replace(without, platform=dataclasses.replace(without.platform, rates={"search": 0.0}))
    one, other = run(with_), run(without)
    searched = {}
    for e in one.episodes.to_pylist():
        if e["kind"] == "search":
            searched.setdefault(e["actor"], e["tick"])
    first = first_difference(one, other)
    assert first
    tick = min(t for t, _ in first)
    assert all(searched.get(agent, 10**9) <= tick for t, agent in first if t == tick)


def first_difference(one, other):
    rows = [{(r["tick"], r["agent"], r["topic"], r["stance"]) for r in step.truth["stances"].to_pylist()} for step in (one, other)]
    return [(tick, agent) for tick, agent, *_ in rows[0] ^ rows[1]]


# ---------------------------------------------------------------------------------------------------------------------- memory


def test_memory_tells_a_message_to_the_two_and_to_nobody_else(tmp_path):
    """A whole run with its memory: what was written in private is recalled by who wrote and who read it, word for word, and by no other."""
    from simflow import memory
    from simflow.run import open_cell

    rates = {"message": 0.4, "group": 0.4}
    platform = Platform(actions=("message", "group", "like"), rates=rates, groups=(Group("pensioners", personas=("pensioner",)),))
    cell = make_cell(agents=15, ticks=24, platform=platform, extract=Extract(every=12), clock=Clock(ticks=24, window=12))
    run = open_cell("scenario.yaml", cell, tmp_path)
    for number in range(len(run.windows)):
        run.window(number)
    data = run.data()
    view = memory.open(data)
    episodes = data.table("episodes", columns=["episode", "kind", "actor", "target", "tick", "text"]).to_pylist()
    shown = data.table("exposures", columns=["reader", "episode"]).to_pylist()
    private = [e for e in episodes if e["kind"] in {"message", "group"} and e["tick"] < 20]
    assert {e["kind"] for e in private} == {"message", "group"}
    told = refused = 0
    for one in private[:: max(1, len(private) // 8)]:
        knows = {one["actor"], one["target"]} | {r["reader"] for r in shown if r["episode"] == one["episode"]}
        for agent in range(15):
            block = view.recall(agent, None, one["text"])
            found = one["text"] in block.text or any(one["episode"] in (line.episode, *line.refs) for line in block.lines)
            assert not found or agent in knows
            told += found
            refused += agent not in knows
    assert told > 8
    assert refused > 60
