"""Distilling does not depend on how a run is cut, loses nothing, and says what it left."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simflow.episode import CLAIMS, EDGES
from simflow.errors import RunFailed
from simflow.memory.distil import ATTEMPTS, distil
from simflow.ports import Extraction


def history():
    rows = []
    for tick in range(0, 47, 2):
        rows.append({"tick": tick, "actor": tick % 4, "kind": "post", "text": f"{'+-0'[tick % 3]} tariff 0.{6 + tick % 4}"})
        rows.append({"tick": tick, "actor": (tick + 1) % 4, "kind": "like", "parent": len(rows), "target": tick % 4})
        rows.append({"tick": tick + 1, "actor": (tick + 3) % 4, "kind": "reply", "text": "- council 0.9", "parent": 1, "target": tick % 4})
    return rows


@pytest.mark.parametrize("window", [1, 3, 7, 10, 20, 45])
def test_claims_and_edges_are_the_same_whatever_the_windows(run, episodes, window):
    table = episodes(history())
    claims, edges, _ = run(table, 50)
    cut_claims, cut_edges, _ = run(table, 50, window)
    assert cut_claims.equals(claims)
    assert cut_edges.equals(edges)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(cuts=st.sets(st.integers(1, 49), max_size=6))
def test_random_cuts_change_nothing(cuts, cell, scripted, agents, episodes):
    table = episodes(history())

    def cut(edges_at):
        claims, edges = CLAIMS.empty_table(), EDGES.empty_table()
        for start, stop in itertools.pairwise(edges_at):
            seen = table.filter(pa.compute.less(table["tick"], stop))
            made = distil(cell, scripted, agents=agents, episodes=seen, claims=claims, edges=edges, start=start, stop=stop)
            claims, edges = pa.concat_tables([claims, made.claims]), pa.concat_tables([edges, made.edges])
        return claims, edges

    whole, parts = cut([0, 50]), cut([0, *sorted(cuts), 50])
    assert parts[0].equals(whole[0])
    assert parts[1].equals(whole[1])


def test_what_waits_for_its_batch_is_counted(run, episodes):
    _, edges, last = run(episodes([{"tick": t, "actor": 0, "kind": "post", "text": "+ tariff"} for t in (1, 12, 15)]), 18)
    assert last.queue == 2
    assert edges.num_rows == 1


def test_an_extractor_that_loses_an_episode_stops_the_run(cell, agents, episodes):
    class Losing:
        id = "losing"

        def extract(self, batch):
            return Extraction((), tuple(p.episode for p in batch[1:]))

    table = episodes([{"tick": 1, "actor": 0, "kind": "post", "text": "a"}, {"tick": 2, "actor": 0, "kind": "post", "text": "b"}])
    with pytest.raises(RunFailed, match="lost 1 of 2 episodes"):
        distil(cell, Losing(), agents=agents, episodes=table, claims=CLAIMS.empty_table(), edges=EDGES.empty_table(), start=0, stop=10)


def test_what_cannot_be_extracted_is_tried_again_then_parked_with_its_reason(run, episodes, scripted):
    scripted.fail = {"+ tariff"}
    claims, _, last = run(episodes([{"tick": 1, "actor": 0, "kind": "post", "text": "+ tariff"}]), 60, 10)
    parked = claims.filter(pa.compute.equal(claims["kind"], "parked")).to_pylist()
    assert [p["learnt"] for p in parked] == [10, 20, 30]
    assert len(parked) == ATTEMPTS
    assert {p["quote"] for p in parked} == {"cannot read this"}
    assert last.queue == 1


def test_a_repost_is_no_statement_of_the_one_who_reposts(run, episodes):
    rows = [
        {"tick": 1, "actor": 1, "kind": "post", "text": "- tariff"},
        {"tick": 2, "actor": 0, "kind": "repost", "text": "- tariff", "parent": 1, "target": 1},
    ]
    claims, _, _ = run(episodes(rows), 10)
    opinions = claims.filter(pa.compute.equal(claims["kind"], "opinion"))
    assert opinions["of"].to_pylist() == [1]
