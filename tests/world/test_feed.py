import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import make_cell, run

import simflow
from simflow.errors import BadInput
from simflow.features import BUILTIN, TRIGGER_MEASURES
from simflow.plan import Feed, Platform
from simflow.world.feed import best_first, first_new, hottest
from simflow.world.posts import AUTHOR, COLUMNS, HEAT, TICK, Posts
from simflow.world.reactions import KINDS
from simflow.world.timeline import MEASURES


def test_a_chronological_feed_shows_the_newest_of_those_one_follows():
    actions = ("post", "reply")  # nobody follows or unfollows, so the graph stays that of the start
    cell = make_cell(agents=90, ticks=120, platform=Platform(feed=Feed("chronological", posts=6), actions=actions))
    step = run(cell)
    episodes = {e["episode"]: e for e in step.episodes.to_pylist()}
    rows = [(r, episodes[r["episode"]]) for r in step.exposures.to_pylist()]
    follows = step.state["follows"]
    assert rows
    last = {}
    for row, post in rows:
        assert post["actor"] in follows[row["reader"]]
        place = (row["tick"], row["reader"])
        assert post["tick"] <= last.get(place, 10**9)
        last[place] = post["tick"]


def test_follow_first_puts_followed_accounts_on_top():
    actions = ("post", "reply", "like")
    step = run(make_cell(agents=90, ticks=120, platform=Platform(feed=Feed("follow_first", posts=8), actions=actions)))
    author = {e["episode"]: e["actor"] for e in step.episodes.to_pylist()}
    strangers = {}
    for row in step.exposures.to_pylist():
        place = (row["tick"], row["reader"])
        follows = author[row["episode"]] in step.state["follows"][row["reader"]]
        assert not (follows and strangers.get(place, False))
        strangers[place] = strangers.get(place, False) or not follows
    assert any(strangers.values())
    assert not all(strangers.values())


def test_an_interest_feed_shows_more_of_what_one_agrees_with():
    def apart(feed):
        step = run(make_cell(agents=90, ticks=150, topics=("water tariff",), platform=Platform(feed=feed, actions=("post", "reply"))))
        said = {s["episode"]: s["stance"] for s in step.truth["statements"].to_pylist()}
        x = step.state["x0"][:, 0] / 2**32
        return np.mean([abs(said[r["episode"]] - x[r["reader"]]) for r in step.exposures.to_pylist()])

    near = apart(Feed("interest", posts=3, similarity=1.0, noise=0.0))
    assert near < 0.85 * apart(Feed("mix", posts=3, affinity=0.0))


def test_a_hot_feed_concentrates_attention():
    def top(feed):
        step = run(make_cell(agents=90, ticks=200, platform=Platform(feed=feed)))
        counts = np.sort(np.unique(step.exposures["episode"].to_numpy(), return_counts=True)[1])[::-1]
        return counts[: len(counts) // 20].sum() / counts.sum()

    assert top(Feed("hot", posts=3, explore=0.1, noise=0.0)) > 1.15 * top(Feed("chronological", posts=3))


def test_exploration_shows_strangers():
    def strangers(explore):
        feed = Feed("mix", posts=5, popularity=0.0, explore=explore)
        step = run(make_cell(agents=90, ticks=100, platform=Platform(feed=feed, actions=("post",))))
        author = {e["episode"]: e["actor"] for e in step.episodes.to_pylist()}
        return np.mean([author[r["episode"]] not in step.state["follows"][r["reader"]] for r in step.exposures.to_pylist()])

    assert strangers(0.0) == 0.0  # without reactions nothing is hot
    assert strangers(1.0) > 0.3


@pytest.mark.parametrize(
    "change",
    [
        {"recency": 3.0},
        {"popularity": 3.0},
        {"affinity": 3.0},
        {"follow": 3.0},
        {"similarity": 1.0},
        {"noise": 2.0},
        {"explore": 0.9},
        {"horizon": 4},
    ],
)
def test_every_setting_of_a_feed_changes_what_is_shown(change):
    base = make_cell(agents=90, ticks=100, platform=Platform(feed=Feed(posts=3)))
    other = dataclasses.replace(base, platform=Platform(feed=Feed(posts=3, **change)))
    assert not run(base).exposures.equals(run(other).exposures)


def test_a_horizon_is_kept():
    step = run(make_cell(agents=60, ticks=150, platform=Platform(feed=Feed(horizon=5))))
    when = {e["episode"]: e["tick"] for e in step.episodes.to_pylist()}
    ages = [r["tick"] - when[r["episode"]] for r in step.exposures.to_pylist()]
    assert max(ages) == 5
    assert len(step.state["posts"]) == sum(e["tick"] >= 145 and e["text"] is not None for e in step.episodes.to_pylist())


def test_a_feed_of_nothing_is_an_error():
    with pytest.raises(BadInput, match="0 posts"):
        run(make_cell(platform=Platform(feed=Feed(posts=0))))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 9)), max_size=60), st.integers(1, 9), st.integers(1, 3))
def test_the_hottest_are_the_hottest(rows, limit, replicates):
    """Against a plain sort: hotter first, then newer; each replicate by itself."""
    posts = Posts()
    posts.mark(0)
    table = np.zeros((len(rows), len(COLUMNS)), np.int64)
    for at, (author, heat) in enumerate(rows):
        table[at, [AUTHOR, HEAT, TICK]] = author, heat, 0
    posts.append(table)
    whose = np.arange(6) % replicates
    found = hottest(posts, whose, replicates, 0, limit)
    for number in range(replicates):
        mine = [(heat, at) for at, (author, heat) in enumerate(rows) if heat > 0 and whose[author] == number]
        expected = [at for _, at in sorted(mine, reverse=True)][:limit]
        assert found[number].tolist() == expected + [-1] * (limit - len(expected))


def test_the_features_that_are_promised_are_those_that_are_built():
    """Names in `features.BUILTIN` against what the sources dispatch on, so that neither side can grow alone."""
    source = {p.name: p.read_text("utf-8") for p in (Path(simflow.__file__).parent / "world").glob("*.py")}
    promised = {}
    for name in BUILTIN:
        kind, _, what = name.partition(":")
        promised.setdefault(kind, set()).add(what)
    assert promised["action"] == set(KINDS) - {"join", "leave", "announcement", "hidden"}
    assert promised["event"] == set(
        re.findall(r'"(\w+)"', "".join(re.findall(r'case ("\w+"(?: \| "\w+")*):', source["happenings.py"])))
    ) | {
        "mute",
        "ban",
        "feed",
        "agenda",
    }
    assert promised["feed"] == {"mix"} | set(re.findall(r'case "(\w+)":', source["feed.py"]))
    assert promised["network"] == {"small_world", "file"} | set(re.findall(r'case "(\w+)":', source["network.py"]))
    models = set(re.findall(r'model == "(\w+)"', source["opinion.py"])) | {"degroot"}
    assert promised["dynamics"] == models
    assert TRIGGER_MEASURES == MEASURES
    assert {"people", "trigger"} <= set(promised)
    assert set(promised) == {"action", "event", "feed", "network", "dynamics", "language", "people", "trigger"}


@pytest.mark.parametrize("name", sorted(f for f in BUILTIN if f.startswith(("dynamics", "feed", "network"))))
def test_what_is_promised_makes_a_difference(name):
    kind, _, what = name.partition(":")
    base = make_cell(agents=45, ticks=60)

    def with_(value):
        if kind == "dynamics":
            return dataclasses.replace(
                base, dynamics=dataclasses.replace(base.dynamics, model=value, repulsion=0.5, rejection=0.3, confidence=0.3)
            )
        if kind == "feed":
            return dataclasses.replace(base, platform=Platform(feed=Feed(value)))
        return dataclasses.replace(base, network=dataclasses.replace(base.network, shape=value))

    others = {f.partition(":")[2] for f in BUILTIN if f.startswith(kind)} - {what}
    state = run(with_(what)).state["x"]
    assert all((run(with_(other)).state["x"] != state).any() for other in sorted(others)[:2])


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 1, 2, 1 << 20, (1 << 40) - 1])), max_size=60), st.sampled_from([60, 1 << 30])
)
def test_the_best_come_first_and_those_alike_stay_as_they_stood(pairs, most):
    """By one number that says all, or, where that has no room for it, by places: the order is the same."""
    pairs.sort(key=lambda pair: pair[0])
    who, distance = (np.array([pair[k] for pair in pairs], np.int64) for k in (0, 1))
    order, place = best_first(who, distance, 6, most)
    assert order.tolist() == sorted(range(len(pairs)), key=lambda k: pairs[k])
    assert place.tolist() == [k - next(n for n, pair in enumerate(pairs) if pair[0] == who[k]) for k in range(len(pairs))]


@given(
    st.lists(st.lists(st.integers(-1, 9), min_size=4, max_size=4), min_size=2, max_size=2),
    st.lists(st.integers(0, 9), max_size=6),
    st.integers(0, 9),
)
def test_of_a_hot_list_the_first_that_are_new_are_taken(hot, first, wanted):
    readers = [(k % 2, row) for k, row in enumerate(first)]
    who, row = first_new(
        np.array(hot), np.array([one for one, _ in readers], np.int32), np.array(first, np.int64), np.full(len(first), wanted)
    )
    taken = [(k, post) for k, (one, begin) in enumerate(readers) for post in [p for p in hot[one] if p >= begin][:wanted]]
    assert list(zip(who.tolist(), row.tolist(), strict=True)) == taken
