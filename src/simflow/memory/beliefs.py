"""Claims become edges: append-only versions of what is believed, from when, until when, and on what evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import EDGES
from simflow.memory.claims import Claim, Slot, content_key, standing
from simflow.memory.evidence import Segment, Statement, label_of, segments, strength, weight


@dataclass(frozen=True, slots=True)
class Edge:
    """A row of EDGES, in its order."""

    edge: int
    version: int
    kind: str
    of: int
    on_agent: int | None
    on_topic: str | None
    about: str | None
    value: float
    weight: float
    evidence: tuple[int, ...]
    count: int
    valid_from: int
    valid_to: int | None
    superseded_by: int | None
    last_seen: int
    learnt: int

    @property
    def slot(self) -> Slot:
        """What it is about."""
        return Slot(self.kind, self.of, self.on_agent, self.on_topic, self.about)

    @property
    def retracted(self) -> bool:
        """Nothing supports it any more: what it rested on has been corrected, or belongs to another edge."""
        return self.count == 0

    @property
    def label(self) -> int:
        """-1, 0 or +1."""
        return label_of(self.value)

    def holds(self, as_of: int) -> bool:
        """Whether it is in force at a tick."""
        return not self.retracted and self.valid_from <= as_of and (self.valid_to is None or as_of < self.valid_to)


def statements(claims: Iterable[Claim], order: dict[int, int]) -> list[Statement]:
    """Claims as evidence. order: episode -> its place within its tick."""
    return [Statement(c.tick, order.get(c.episode, 0), c.claim, c.value, c.confidence, c.episode) for c in claims]


def fold(
    slot: Slot,
    claims: Sequence[Claim],
    present: Sequence[Edge],
    *,
    learnt: int,
    half_life: float,
    wins: bool,
    order: dict[int, int],
) -> list[Edge]:
    """New versions of a slot's edges, given all claims on it that are known at `learnt`.

    present: the newest version of each edge of the slot. Only what changed gets a new version; an edge whose evidence is gone, or was
    absorbed by another one, gets a last version without evidence. wins: the newest supersedes; else every statement adds to one edge.
    """
    said = statements(standing(claims, learnt), order)
    if wins:
        cut = segments(said, half_life)
    else:
        ordered = tuple(sorted(said))
        cut = [Segment(0, ordered[0].tick, None, ordered)] if ordered else []
    held = {e.edge: e for e in present}
    ids = _identities(slot, cut, [e for e in present if not e.retracted], learnt, wins)
    fresh: list[Edge] = []
    for position, (segment, edge) in enumerate(zip(cut, ids, strict=True)):
        before = held.get(edge)
        row = Edge(
            edge,
            0 if before is None else before.version + 1,
            *slot,
            value=float(np.float32(strength(segment.evidence, half_life))),
            weight=float(np.float32(weight(segment.evidence, learnt, half_life))),
            evidence=tuple(s.episode for s in segment.evidence),
            count=len(segment.evidence),
            valid_from=segment.start,
            valid_to=segment.stop,
            superseded_by=ids[position + 1] if segment.stop is not None else None,
            last_seen=segment.last_seen,
            learnt=learnt,
        )
        if before is None or _changed(before, row):
            fresh.append(row)
    kept = set(ids)
    for gone in present:
        if gone.edge not in kept and not gone.retracted:
            heir = next((i for s, i in zip(cut, ids, strict=True) if s.label == gone.label), None)
            fresh.append(
                replace(
                    gone,
                    version=gone.version + 1,
                    weight=0.0,
                    evidence=(),
                    count=0,
                    valid_to=gone.valid_from,
                    superseded_by=heir,
                    learnt=learnt,
                )
            )
    return fresh


def _changed(before: Edge, after: Edge) -> bool:
    # The weight fades by itself; a version is worth a row only when something was learnt.
    return replace(before, version=after.version, weight=after.weight, learnt=after.learnt) != after


def _identities(slot: Slot, cut: Sequence[Segment], present: Sequence[Edge], learnt: int, wins: bool) -> list[int]:
    # An edge goes on as the segment of its label that still holds some of its evidence; the rest get keys of their own.
    free = sorted(present, key=lambda e: (e.valid_from, e.version, e.edge))
    ids = []
    for segment in cut:
        episodes = {s.episode for s in segment.evidence}
        heir = next((e for e in free if (not wins or e.label == segment.label) and not episodes.isdisjoint(e.evidence)), None)
        if heir is not None:
            free.remove(heir)
        ids.append(heir.edge if heir is not None else content_key("edge", *slot, segment.label, segment.evidence[0].claim, learnt))
    return ids


def table(edges: Iterable[Edge]) -> pa.Table:
    """Edges as a table of schema EDGES, in the order given."""
    rows = [astuple(edge) for edge in edges]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(EDGES)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, EDGES, strict=True)], schema=EDGES)


def rows(edges: pa.Table) -> list[Edge]:
    """A table of schema EDGES as edges."""
    if not edges.num_rows:
        return []
    columns = {name: edges[name].to_pylist() for name in EDGES.names}
    columns["evidence"] = [tuple(e) for e in columns["evidence"]]
    return [Edge(*row) for row in zip(*(columns[name] for name in EDGES.names), strict=True)]


def present(edges: pa.Table, known_at: int | None = None) -> pa.Table:
    """The newest version of each edge among those learnt by tick `known_at` (None: by now), in order of first appearance."""
    if known_at is not None:
        edges = edges.filter(pc.less_equal(edges["learnt"], known_at))
    if not edges.num_rows:
        return edges
    keys = edges["edge"].to_numpy()
    # Versions are appended in order, so the last row of a key is its newest version.
    _, last = np.unique(keys[::-1], return_index=True)
    return edges.take(np.sort(len(keys) - 1 - last))


def in_force(edges: pa.Table, as_of: int, known_at: int | None = None) -> pa.Table:
    """Edges in force at tick `as_of`, as the memory knew them at tick `known_at` (None: by now)."""
    now = present(edges, known_at)
    if not now.num_rows:
        return now
    stop = pc.fill_null(now["valid_to"], np.iinfo(np.int32).max)
    return now.filter(
        pc.and_(pc.greater(now["count"], 0), pc.and_(pc.less_equal(now["valid_from"], as_of), pc.greater(stop, as_of))),
    )
