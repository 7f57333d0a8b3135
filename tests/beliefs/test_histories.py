"""Random histories in random arrival order, against a naive reference that starts anew for every question."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.memory import beliefs
from simflow.memory.claims import Slot, make
from simflow.memory.graph import Graph
from simflow.ports import Finding

HALF_LIFE = 50.0
SLOT = Slot("opinion", 0, None, "tariff", None)

statement = st.tuples(
    st.integers(0, 60),  # tick
    st.integers(1, 12),  # episode
    st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]),  # value
    st.sampled_from([0.0, 0.4, 0.7, 0.9, 1.0]),  # confidence; 0 takes it back
    st.integers(1, 5),  # batch in which it is learnt
)


def claims_of(history):
    # One tick an episode, whoever learns of it when.
    ticks = {episode: tick for tick, episode, *_ in history}
    found = []
    for _, episode, value, confidence, batch in sorted(history, key=lambda row: row[-1]):
        finding = Finding(episode, SLOT.kind, SLOT.of, None, SLOT.on_topic, None, value, confidence)
        found.append(make(finding, tick=ticks[episode], learnt=batch * 20, extractor="x"))
    return found


def naive(claims, as_of, known_at):
    """The label in force: the filter of docs/beliefs.md, written as plainly as it can be."""
    known = {}
    for claim in claims:
        if claim.learnt <= known_at:
            known[claim.claim] = claim
    said = sorted((c for c in known.values() if c.confidence > 0 and c.tick <= as_of), key=lambda c: (c.tick, c.claim))
    odds, last, label = {-1: 1 / 3, 0: 1 / 3, 1: 1 / 3}, None, None
    for claim in said:
        if last is not None:
            kept = 0.5 ** ((claim.tick - last) / HALF_LIFE)
            odds = {k: 1 / 3 + (p - 1 / 3) * kept for k, p in odds.items()}
        last = claim.tick
        heard = 1 if claim.value > 0.15 else -1 if claim.value < -0.15 else 0
        sure = max(claim.confidence, 1 / 3)
        odds = {k: p * (sure if k == heard else (1 - sure) / 2) for k, p in odds.items()}
        total = sum(odds.values())
        odds = {k: p / total for k, p in odds.items()} if total else {k: float(k == heard) for k in odds}
        if label is None or odds[label] < max(odds.values()):
            label = heard if odds[heard] == max(odds.values()) else max(odds, key=odds.get)
    return label


def folded(claims):
    """Edges after each batch, appended; nothing that was appended is ever touched again."""
    rows = []
    for learnt in sorted({c.learnt for c in claims}):
        present = beliefs.rows(beliefs.present(beliefs.table(rows)))
        rows += beliefs.fold(
            SLOT, [c for c in claims if c.learnt <= learnt], present, learnt=learnt, half_life=HALF_LIFE, wins=True, order={}
        )
    return rows


@settings(max_examples=250, deadline=None)
@given(st.lists(statement, min_size=1, max_size=14))
def test_edges_answer_every_as_of_and_known_at_like_the_naive_reference(history):
    claims = claims_of(history)
    edges = beliefs.table(folded(claims))
    for known_at in (10, 20, 40, 60, 80, 100):
        for as_of in range(0, 61, 6):
            held = beliefs.rows(beliefs.in_force(edges, as_of, known_at))
            assert [e.label for e in held] == [x for x in [naive(claims, as_of, known_at)] if x is not None]


@settings(max_examples=150, deadline=None)
@given(st.lists(statement, min_size=1, max_size=14))
def test_the_graph_answers_like_the_edges(history):
    claims = claims_of(history)
    edges = beliefs.table(folded(claims))
    from simflow.memory import claims as claiming

    empty = pa.table({"episode": pa.array([], pa.int64()), "ordinal": pa.array([], pa.int32())})
    graph = Graph(claiming.table(claims), edges, empty, half_life=HALF_LIFE)
    for known_at in (20, 60, 100):
        for as_of in range(0, 61, 10):
            facts = graph.facts([0], hops=1, until=as_of + 1, known_at=known_at)
            held = beliefs.rows(beliefs.in_force(edges, as_of, known_at))
            assert [f.label for f in facts] == [e.label for e in held]


@settings(max_examples=150, deadline=None)
@given(st.lists(statement, min_size=1, max_size=14), st.randoms(use_true_random=False))
def test_what_is_believed_in_the_end_does_not_depend_on_when_it_was_learnt(history, random):
    once = {episode: (tick, episode, value, max(sure, 0.4), 1) for tick, episode, value, sure, _ in history}
    together = claims_of(list(once.values()))
    scattered = claims_of([(*row[:4], random.randint(1, 5)) for row in once.values()])
    a, b = (beliefs.present(beliefs.table(folded(claims))) for claims in (together, scattered))
    shown = [sorted((e.label, e.valid_from, e.valid_to, e.evidence) for e in beliefs.rows(t) if not e.retracted) for t in (a, b)]
    assert shown[0] == shown[1]


@settings(max_examples=100, deadline=None)
@given(st.lists(statement, min_size=1, max_size=14))
def test_at_full_confidence_the_newest_statement_wins(history):
    once = {(tick, episode % 3): (tick, episode, value, 1.0, batch) for tick, episode, value, _, batch in history}
    claims = claims_of(list({row[1]: row for row in once.values()}.values()))
    edges = beliefs.table(folded(claims))
    newest = max(claims, key=lambda c: (c.tick, c.claim))
    [held] = beliefs.rows(beliefs.in_force(edges, 1000))
    assert held.label == (newest.value > 0) - (newest.value < 0)


@settings(max_examples=100, deadline=None)
@given(st.lists(statement, min_size=1, max_size=14))
def test_nothing_appended_is_changed_and_versions_rise_by_one(history):
    rows = folded(claims_of(history))
    versions = {}
    for edge in rows:
        assert edge.version == versions.get(edge.edge, -1) + 1
        versions[edge.edge] = edge.version
    ordered = [e.learnt for e in rows]
    assert ordered == sorted(ordered)


def test_what_was_taken_back_leaves_its_edge_as_retracted():
    claims = claims_of([(1, 1, 1.0, 1.0, 1), (1, 1, 1.0, 0.0, 2)])
    edges = beliefs.table(folded(claims))
    assert [e.label for e in beliefs.rows(beliefs.in_force(edges, 5, known_at=20))] == [1]
    assert beliefs.in_force(edges, 5, known_at=40).num_rows == 0
    assert beliefs.rows(beliefs.present(edges))[0].retracted


def test_a_correction_replaces_what_was_read_before():
    claims = claims_of([(1, 1, 1.0, 0.9, 1), (1, 1, -1.0, 0.9, 2)])
    edges = beliefs.table(folded(claims))
    assert [e.label for e in beliefs.rows(beliefs.in_force(edges, 5, known_at=39))] == [1]
    assert [e.label for e in beliefs.rows(beliefs.in_force(edges, 5, known_at=40))] == [-1]


def test_confidences_survive_the_table_bit_by_bit():
    claims = claims_of([(1, 1, 0.3, 0.7, 1)])
    from simflow.memory import claims as claiming

    assert claiming.rows(claiming.table(claims)) == claims
    assert claims[0].confidence == float(np.float32(0.7))
