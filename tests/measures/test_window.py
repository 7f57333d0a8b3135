"""The long table of a window."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from simflow.episode import AGENTS, EPISODES, EXPOSURES, TRUTH
from simflow.measures.window import MEASURES, window_measures

ONE = 1 << 32


def rows(schema: pa.Schema, *given: dict) -> pa.Table:
    return pa.Table.from_pylist([dict.fromkeys(schema.names) | row for row in given], schema=schema)


@pytest.fixture
def world():
    """Four residents and a voice. @0 posts before the window and in it; @1 replies to the first post; @3 flips."""
    agents = rows(
        AGENTS,
        *(
            {"agent": k, "id": f"a{k}", "name": f"A{k}", "persona": "old" if k < 2 else "young", "is_voice": False, "joined": 0}
            for k in range(4)
        ),
        {"agent": 4, "id": "council", "name": "Council", "is_voice": True, "joined": 0},
    )
    said = {"ordinal": 0, "sentence": "s"}
    episodes = rows(
        EPISODES,
        {"episode": 10, "tick": 2, "actor": 0, "kind": "post", "root": 10, "text": "one", **said},
        {"episode": 11, "tick": 12, "actor": 0, "kind": "post", "root": 11, "text": "two", **said},
        {"episode": 12, "tick": 13, "actor": 1, "kind": "reply", "parent": 11, "root": 11, "target": 0, "text": "two", **said},
        {"episode": 13, "tick": 14, "actor": 2, "kind": "reply", "parent": 12, "root": 11, "target": 1, "text": "three", **said},
        {"episode": 14, "tick": 15, "actor": 3, "kind": "like", "parent": 11, "root": 11, "target": 0, **said},
        {"episode": 15, "tick": 16, "actor": 4, "kind": "post", "root": 15, "text": "news", **said},
    )
    exposures = rows(
        EXPOSURES,
        {"tick": 4, "reader": 1, "episode": 10, "rank": 0},
        {"tick": 13, "reader": 1, "episode": 11, "rank": 0},
        {"tick": 15, "reader": 3, "episode": 11, "rank": 0},
        {"tick": 15, "reader": 3, "episode": 12, "rank": 1},
    )
    zero = {"contributions": 0, "self_term": 0, "clip": 0, "topic": 0}
    stances = [(-1, 0, 0.5), (-1, 1, -0.5), (-1, 2, -0.5), (-1, 3, 0.5), (13, 1, -0.25), (15, 3, -0.5)]
    truth = {
        "stances": rows(TRUTH["stances"], *({"tick": t, "agent": a, "stance": round(x * ONE), **zero} for t, a, x in stances)),
        "statements": rows(
            TRUTH["statements"],
            *(
                {"episode": e, "topic": 0, "stance": s, "argument": 2, "side": int(np.sign(s))}
                for e, s in ((10, 0.5), (11, 0.5), (12, -0.5), (13, -0.5))
            ),
        ),
        "impacts": rows(
            TRUTH["impacts"],
            {"tick": 13, "reader": 1, "episode": 11, "author": 0, "topic": 0, "contribution": ONE // 4},
            {"tick": 15, "reader": 3, "episode": 12, "author": 1, "topic": 0, "contribution": -ONE},
        ),
    }
    return {"agents": agents, "episodes": episodes, "exposures": exposures, "truth": truth}


def measured(world, **more) -> dict:
    table = window_measures(1, 10, 20, topics=["water tariff"], **world, **more)
    assert table.schema.equals(MEASURES)
    assert set(table["window"].to_pylist()) == {1}
    assert set(table["tick"].to_pylist()) == {20}
    return {(r["topic"], r["group"], r["measure"]): r["value"] for r in table.to_pylist()}


def test_acts_of_the_window_are_counted_and_those_before_are_not(world):
    got = measured(world, feed=2)
    assert got[None, None, "events"] == 5
    assert got[None, None, "events_post"] == 2
    assert got[None, None, "events_like"] == 1
    assert got[None, None, "exposures"] == 3
    assert got[None, None, "participation"] == 1.0
    assert got[None, None, "silent_share"] == 0.25
    assert got[None, None, "distinct_texts"] == 3 / 4
    assert got[None, None, "feed_fill"] == 3 / 4


def test_cascades_that_began_in_the_window_are_measured(world):
    got = measured(world)
    assert got[None, None, "cascades"] == 2
    assert got[None, None, "cascade_size_max"] == 3
    assert got[None, None, "cascade_depth_max"] == 2
    assert got[None, None, "virality_mean"] == pytest.approx(4 / 3)


def test_stances_are_read_as_of_the_end(world):
    got = measured(world)
    topic = "water tariff"
    assert got[topic, None, "mean"] == pytest.approx((0.5 - 0.25 - 0.5 - 0.5) / 4)
    assert got[topic, None, "drift"] == pytest.approx((0.25 - 1.0) / 4)
    assert got[topic, "old", "mean"] == pytest.approx(0.125)
    assert got[topic, "young", "people"] == 2
    assert got[topic, None, "flips"] == 1
    assert got[topic, None, "flips_per_1000"] == pytest.approx(1000 / 40)
    assert got[topic, None, "share_for"] == 0.25
    assert got[topic, None, "share_against"] == 0.75


def test_what_was_seen_and_what_it_did(world):
    got = measured(world)
    topic = "water tariff"
    assert got[topic, "pro:trust", "narrative_reach"] == 0.5
    assert got[topic, "con:trust", "narrative_reach"] == 0.25
    assert got[topic, None, "cross_cutting"] == pytest.approx(2 / 3)
    assert got[topic, None, "influence"] == pytest.approx(1.25)
    assert got[topic, None, "influence_top10"] == pytest.approx(0.8)


def test_without_truth_only_the_outside_is_measured(world):
    del world["truth"]
    assert {topic for topic, _, _ in measured(world)} == {None}


def test_no_value_is_nan_even_if_nothing_happened(world):
    empty = {name: world[name].slice(0, 0) for name in ("episodes", "exposures")}
    table = window_measures(
        0, 0, 10, topics=["t"], agents=world["agents"], truth={k: t.slice(0, 0) for k, t in world["truth"].items()}, **empty
    )
    assert np.isfinite(table["value"].to_numpy()).all()


def test_a_run_of_the_built_in_world_can_be_measured_and_influence_adds_up_to_what_was_moved():
    from simflow.plan import Cell, Clock, Persona, Topic
    from simflow.world.builtin import BuiltinEngine

    cell = Cell(
        scenario="s", variant="base", sweep={}, seed=3, topics=(Topic("water tariff"),), personas=(Persona("old", 20), Persona("young", 20)), clock=Clock(ticks=72, window=72)
    )  # fmt: skip
    engine = BuiltinEngine(cell)
    step = engine.advance(engine.begin(), 0, 72)
    table = window_measures(
        0, 0, 72, topics=["water tariff"], agents=step.agents, episodes=step.episodes, exposures=step.exposures, truth=step.truth, feed=5
    )
    got = {(r["group"], r["measure"]): r["value"] for r in table.to_pylist()}
    assert got[None, "people"] == 40
    assert got[None, "influence"] == pytest.approx(np.abs(step.truth["impacts"]["contribution"].to_numpy()).sum() / ONE)
    assert got["old", "people"] == got["young", "people"] == 20
    assert 0 < got[None, "feed_fill"] <= 1
    last = {}
    for row in step.truth["stances"].sort_by([("tick", "ascending")]).to_pylist():
        last[row["agent"]] = row["stance"] / ONE
    assert got[None, "mean"] == pytest.approx(np.mean([last[a] for a in range(40)]))
