"""The graph as a viewer may know it: hops, as of, witness scope, history."""

from __future__ import annotations

import numpy as np
import pytest

from simflow.memory.graph import Graph


def post(tick, actor, text, **more):
    return {"tick": tick, "actor": actor, "kind": "post", "text": text, **more}


def reply(tick, actor, target, text):
    return {"tick": tick, "actor": actor, "kind": "reply", "text": text, "target": target, "parent": 1}


@pytest.fixture
def made(run, episodes):
    def go(rows, stop=30):
        table = episodes(rows)
        claims, edges, _ = run(table, stop)
        return Graph(claims, edges, table.select(["episode", "ordinal"]), half_life=100, adds=["influence"])

    return go


def told(facts):
    return [(f.slot.kind, f.slot.of, f.slot.on_agent, f.label, f.distance) for f in facts]


def test_facts_reach_as_far_as_the_hops(made):
    graph = made([post(1, 0, "+ tariff"), reply(2, 1, 0, "- tariff"), reply(3, 2, 1, "- tariff"), reply(4, 3, 2, "- tariff")])
    near = graph.facts([0], hops=1, until=30)
    far = graph.facts([0], hops=2, until=30)
    assert {f.slot.of for f in near} == {0, 1}
    assert {f.slot.of for f in far} == {0, 1, 2}
    assert max(f.distance for f in far) == 1


def test_a_viewer_believes_only_what_it_witnessed(made):
    graph = made([post(1, 0, "- tariff"), post(12, 0, "+ tariff")])
    seen_both = graph.facts([0], hops=1, until=30, witnessed=np.array([1, 2]))
    seen_old = graph.facts([0], hops=1, until=30, witnessed=np.array([1]))
    seen_none = graph.facts([0], hops=1, until=30, witnessed=np.array([], np.int64))
    assert [f.label for f in seen_both] == [1]
    assert seen_both[0].history == ((-1, 1, 12),)
    assert [f.label for f in seen_old] == [-1]
    assert seen_old[0].history == ()
    assert seen_none == []


def test_as_of_and_known_at_look_back(made):
    graph = made([post(1, 0, "- tariff"), post(12, 0, "+ tariff")])
    assert [f.label for f in graph.facts([0], hops=1, until=12)] == [-1]
    assert [f.label for f in graph.facts([0], hops=1, until=13)] == [1]
    assert [f.label for f in graph.facts([0], hops=1, until=30, known_at=19)] == [-1]
    assert graph.facts([0], hops=1, until=30, known_at=9) == []


def test_influence_counts_people_within_the_time_asked_about(made):
    likes = [{"tick": t, "actor": who, "kind": "like", "parent": 1, "target": 0} for t, who in ((2, 1), (3, 2), (15, 3))]
    graph = made([post(1, 0, "+ tariff"), *likes])
    [(agent, _, people, evidence)] = graph.influence("tariff", until=10)
    assert (agent, people, evidence) == (0, 2, (2, 3))
    assert graph.influence("tariff", since=10, until=20)[0][3] == (4,)
    assert graph.influence("council", until=20) == []
