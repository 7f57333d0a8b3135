"""What is believed, from when, and why: supersession as claims."""

from __future__ import annotations

import pyarrow as pa

from simflow.memory import beliefs
from simflow.memory.distil import distil


def said(tick, text, actor=0, **more):
    return {"tick": tick, "actor": actor, "kind": "post", "text": text, **more}


def labels(edges, as_of, known_at=None, kind="opinion"):
    return [e.label for e in beliefs.rows(beliefs.in_force(edges, as_of, known_at)) if e.kind == kind]


def test_newer_opinion_supersedes_older_one(run, episodes):
    _, edges, _ = run(episodes([said(1, "- tariff"), said(5, "+ tariff")]), 10)
    assert labels(edges, 1) == [-1]
    assert labels(edges, 4) == [-1]
    assert labels(edges, 5) == [1]
    old, new = beliefs.rows(edges)
    assert (old.valid_to, old.superseded_by) == (5, new.edge)
    assert new.valid_to is None


def test_repeated_statement_strengthens_instead_of_adding_a_twin(run, episodes):
    _, edges, _ = run(episodes([said(1, "- tariff"), said(12, "- tariff"), said(23, "- tariff")]), 30)
    rows = beliefs.rows(edges)
    assert {r.edge for r in rows} == {rows[0].edge}
    assert [(r.version, r.count, r.last_seen) for r in rows] == [(0, 1, 1), (1, 2, 12), (2, 3, 23)]
    assert rows[2].evidence == (1, 2, 3)
    assert rows[2].weight > rows[0].weight


def test_one_doubtful_statement_does_not_overturn_a_supported_belief(run, episodes):
    _, edges, _ = run(episodes([said(1, "+ tariff 0.9"), said(2, "+ tariff 0.9"), said(3, "- tariff 0.6")]), 10)
    assert labels(edges, 9) == [1]


def test_repeated_doubtful_statements_do_overturn_it(run, episodes):
    rows = [said(1, "+ tariff 0.9"), said(2, "+ tariff 0.9"), *(said(t, "- tariff 0.7") for t in (3, 4, 5, 6, 7))]
    _, edges, _ = run(episodes(rows), 10)
    assert labels(edges, 9) == [-1]
    now = beliefs.rows(beliefs.in_force(edges, 9))[0]
    assert now.evidence == (3, 4, 5, 6, 7)


def test_old_support_fades(run, episodes):
    _, edges, _ = run(episodes([said(1, "+ tariff 0.9"), said(2, "+ tariff 0.9"), said(501, "- tariff 0.6")]), 510)
    assert labels(edges, 505) == [-1]


def test_contradiction_within_one_tick_is_settled_by_order(run, episodes):
    _, edges, _ = run(episodes([said(3, "+ tariff"), said(3, "- tariff")]), 10)
    assert labels(edges, 3) == [-1]
    assert labels(edges, 2) == []


def test_an_edge_superseded_twice_keeps_its_whole_chain(run, episodes):
    _, edges, _ = run(episodes([said(1, "- tariff"), said(11, "+ tariff"), said(21, "- tariff")]), 30)
    now = beliefs.rows(beliefs.present(edges))
    assert [(e.label, e.valid_from, e.valid_to) for e in now] == [(-1, 1, 11), (1, 11, 21), (-1, 21, None)]
    assert now[0].superseded_by == now[1].edge
    assert now[1].superseded_by == now[2].edge
    assert now[0].edge != now[2].edge
    assert [labels(edges, t) for t in (10, 11, 20, 21)] == [[-1], [1], [1], [-1]]


def test_known_at_answers_as_the_memory_was(run, episodes):
    _, edges, _ = run(episodes([said(1, "- tariff"), said(15, "+ tariff")]), 20)
    assert labels(edges, 19, known_at=10) == [-1]
    assert labels(edges, 19, known_at=9) == []
    assert labels(edges, 19, known_at=20) == [1]


def test_what_is_parked_and_read_later_does_not_overturn_what_is_newer(run, episodes, scripted, cell, agents):
    scripted.fail = {"- tariff"}
    table = episodes([said(1, "- tariff"), said(5, "+ tariff"), said(12, "hello")])
    claims, edges, last = run(table, 10)
    assert last.queue == 1
    assert labels(edges, 9) == [1]
    scripted.fail = set()
    later = distil(cell, scripted, agents=agents, episodes=table, claims=claims, edges=edges, start=10, stop=20)
    both = pa.concat_tables([edges, later.edges])
    assert later.queue == 0
    assert labels(both, 19) == [1]
    assert labels(both, 3) == [-1]
    assert labels(both, 3, known_at=10) == []


def test_influence_accumulates_on_one_edge(run, episodes):
    rows = [said(1, "+ tariff", actor=1), *({"tick": t, "actor": 0, "kind": "like", "parent": 1, "target": 1} for t in (2, 12, 22))]
    _, edges, _ = run(episodes(rows), 30)
    influence = [e for e in beliefs.rows(edges) if e.kind == "influence"]
    assert [e.count for e in influence] == [1, 2, 3]
    assert {(e.edge, e.of, e.on_agent, e.about) for e in influence} == {(influence[0].edge, 1, 0, "tariff")}
