"""The relations of a run as a graph: who holds what towards whom, some hops out, as of any tick, from what a viewer witnessed.

A fact is weighed anew from the claims that the viewer may know: an opinion that changed behind its back is still the old one to it. That is
exact, and cheap, because one viewer witnesses little of a large history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import rustworkx as rx

from simflow.memory.claims import PARKED, Slot
from simflow.memory.evidence import Segment, Statement, label_of, segments, strength, weight
from simflow.memory.history import member
from simflow.memory.knowledge import Knowledge

WIDEST = 256
"""Relations that are followed at most from one hop to the next, the newest ones."""
READ = 0.2
"""What one more reader counts for influence beside one more claim of it; chosen on two generated worlds (docs/beliefs.md)."""
_ALL = np.iinfo(np.int32).max


class Fact(NamedTuple):
    """What a viewer may believe on one slot: the label in force and how it came about.

    value: in -1..1. weight: decayed evidence at the tick asked about. distance: hops from the agents that were asked about. edge: the stored
    edge that it is part of, None if what the viewer witnessed adds up to something else than what the memory as a whole believes.
    history: (label, from, to) of what was in force before, oldest first.
    """

    slot: Slot
    label: int
    value: float
    weight: float
    count: int  # type: ignore[assignment]  # tuples have a method of this name, which nobody asks of a fact
    since: int
    last_seen: int
    evidence: tuple[int, ...]
    distance: int
    edge: int | None
    history: tuple[tuple[int, int, int], ...]


class Graph:
    """Built once from a run's claims and edges; every question takes its own tick and its own witness."""

    def __init__(self, claims: pa.Table, edges: pa.Table, order: pa.Table, *, half_life: float, adds: Iterable[str] = ()) -> None:
        """order: columns episode and ordinal of the episodes. half_life: ticks. adds: relation kinds that accumulate."""
        claims = claims.filter(pa.compute.not_equal(claims["kind"], PARKED)) if claims.num_rows else claims
        self.half_life, self._adds = half_life, frozenset(adds)
        both = pa.concat_tables([claims.select(_SLOT), edges.select(_SLOT)]) if claims.num_rows or edges.num_rows else claims.select(_SLOT)
        slot_of, self.slots = _slots(both)
        self._slot = slot_of[: claims.num_rows]
        self._columns(claims, order)
        self._edges(edges, slot_of[claims.num_rows :])
        self._of = np.fromiter((s.of for s in self.slots), np.int64, len(self.slots))
        self._on = np.fromiter((-1 if s.on_agent is None else s.on_agent for s in self.slots), np.int64, len(self.slots))
        self._kept: dict[tuple[str, str], npt.NDArray[np.bool_]] = {}
        self._connect()

    def _columns(self, claims: pa.Table, order: pa.Table) -> None:
        self._tick = claims["tick"].to_numpy().astype(np.int64)
        self._learnt = claims["learnt"].to_numpy().astype(np.int64)
        self._episode = claims["episode"].to_numpy().astype(np.int64)
        self._key = claims["claim"].to_numpy().astype(np.int64)
        self._value = claims["value"].to_numpy().astype(np.float64)
        self._sure = claims["confidence"].to_numpy().astype(np.float64)
        self._ordinal = _ordinals(self._episode, order)
        self._by_slot = np.lexsort((self._tick, self._slot))
        self._slot_tick = self._slot[self._by_slot] * _ALL + self._tick[self._by_slot]
        self._slot_start = np.searchsorted(self._slot[self._by_slot], np.arange(len(self.slots) + 1))
        self._by_episode = np.argsort(self._episode, kind="stable")
        self._episodes = self._episode[self._by_episode]
        # For each place, where the claims of the next episode begin.
        last = np.flatnonzero(np.append(self._episodes[1:] != self._episodes[:-1], True))[: len(self._episodes)]
        self._next = np.repeat(last + 1, np.diff(np.concatenate([[-1], last]))) if len(self._episodes) else np.empty(0, np.int64)

    def _edges(self, edges: pa.Table, slot_of: npt.NDArray[np.int64]) -> None:
        self._edge_slot = slot_of
        self._edge_order = np.argsort(slot_of, kind="stable")
        self._edge_start = np.searchsorted(slot_of[self._edge_order], np.arange(len(self.slots) + 1))
        self._edge_key: list[int] = edges["edge"].to_pylist()
        evidence = edges["evidence"].combine_chunks()
        self._cited = evidence.flatten().to_numpy()
        self._cited_start = np.concatenate([[0], np.cumsum(evidence.value_lengths().fill_null(0).to_numpy())]).astype(np.int64)

    def _connect(self) -> None:
        # One node an agent, one edge a slot, so that an edge's index is its slot; an opinion hangs on its holder as a loop.
        self.net = rx.PyGraph(multigraph=True)
        size = int(max(self._of.max(initial=-1), self._on.max(initial=-1))) + 1
        self.net.add_nodes_from(range(size))
        ends = np.where(self._on < 0, self._of, self._on)
        self.net.add_edges_from_no_data(list(zip(self._of.tolist(), ends.tolist(), strict=True)))

    def facts(
        self,
        about: Sequence[int],
        *,
        hops: int,
        until: int,
        known_at: int | None = None,
        since: int | None = None,
        witnessed: npt.NDArray[np.int64] | Knowledge | None = None,
        widest: int = WIDEST,
    ) -> list[Fact]:
        """Facts within `hops` of the agents `about`, nearest first, then newest first.

        until: only what happened before this tick. known_at: only what had been learnt by this tick. since: only facts with evidence from this
        tick on. witnessed: what the viewer knows, or the sorted episodes that it witnessed; None for all.
        """
        known = self._known(witnessed, until, known_at)
        usable = known.newest if known is not None else lambda slots: self._newest_before(slots, until)
        found, distance = self._reach([a for a in dict.fromkeys(about) if 0 <= a < self.net.num_nodes()], hops, usable, widest)
        facts = self._facts(found, distance, until, known_at, known)
        return [f for f in facts if since is None or f.last_seen >= since]

    def _facts(
        self, slots: npt.NDArray[np.int64], distance: list[int], until: int, known_at: int | None, known: Knowledge | None
    ) -> list[Fact]:
        # Most slots of a large graph hold one claim: those are read together.
        first, size = self._slot_start[slots], self._slot_start[slots + 1] - self._slot_start[slots]
        lone = size == 1
        rows = self._by_slot[np.where(lone, first, 0)] if len(self._by_slot) else first
        usable = lone & (self._tick[rows] < until) & (self._sure[rows] > 0) if len(rows) else lone
        if known_at is not None and len(rows):
            usable &= self._learnt[rows] <= known_at
        columns = (slots, distance, lone, usable, self._tick[rows], self._sure[rows], self._value[rows], self._episode[rows])
        found = []
        for slot, hop, alone, may, tick, sure, value, episode in zip(*(np.asarray(c).tolist() for c in columns), strict=True):
            if alone:
                fact = self._lone(slot, hop, until, tick, sure, value, episode) if may else None
            else:
                mine = known.rows(slot) if known is not None else self._by_slot[self._slot_start[slot] : self._slot_start[slot + 1]]
                fact = self._fact(slot, hop, until, known_at, mine)
            if fact is not None:
                found.append(fact)
        return found

    def _fact(self, slot: int, distance: int, until: int, known_at: int | None, mine: npt.NDArray[np.int64]) -> Fact | None:
        what = self.slots[slot]
        adds = what.kind in self._adds
        said = self._statements(mine, until, known_at)
        if not said:
            return None
        cut = [Segment(0, said[0].tick, None, tuple(said))] if adds else segments(said, self.half_life)
        now = cut[-1]
        return Fact(
            slot=what,
            label=1 if adds else now.label,
            value=strength(now.evidence, self.half_life),
            weight=weight(now.evidence, until, self.half_life),
            count=len(now.evidence),
            since=now.start,
            last_seen=now.last_seen,
            evidence=tuple(s.episode for s in now.evidence),
            distance=distance,
            edge=self._edge(slot, now.evidence[-1].episode),
            history=tuple((s.label, s.start, s.stop) for s in cut[:-1] if s.stop is not None and s.stop > s.start),
        )

    def _lone(self, slot: int, distance: int, until: int, tick: int, sure: float, value: float, episode: int) -> Fact:
        # The same as above for a slot with one claim.
        what = self.slots[slot]
        return Fact(
            what,
            1 if what.kind in self._adds else label_of(value),
            sure * value / sure,
            sure * 0.5 ** (max(until - tick, 0) / self.half_life),
            1,
            tick,
            tick,
            (episode,),
            distance,
            self._edge(slot, episode),
            (),
        )

    def influence(
        self,
        topic: str,
        *,
        until: int,
        since: int = 0,
        known_at: int | None = None,
        witnessed: npt.NDArray[np.int64] | Knowledge | None = None,
        kind: str = "influence",
        readers: Mapping[int, int] | None = None,
    ) -> list[tuple[int, float, int, tuple[int, ...]]]:
        """Who moved others about a topic in ticks [since, until): (agent, amount, people moved, evidence), most first.

        readers: how often each agent was read on the topic in that time, where that may be known; it adds READ of a claim each time.
        """
        wanted = self._about(kind, topic)
        known = self._known(witnessed, until, known_at)
        rows = np.arange(len(self._slot)) if known is None else np.sort(known.row)
        learnt = _ALL if known_at is None else known_at
        keep = wanted[self._slot[rows]] & (self._tick[rows] >= since) & (self._tick[rows] < until) & (self._learnt[rows] <= learnt)
        rows = rows[keep]
        amounts: dict[int, float] = {}
        moved: dict[int, set[int]] = {}
        evidence: dict[int, list[int]] = {}
        for row in rows.tolist():
            slot = self.slots[self._slot[row]]
            amounts[slot.of] = amounts.get(slot.of, 0.0) + abs(float(self._value[row] * self._sure[row]))
            moved.setdefault(slot.of, set()).add(slot.on_agent or 0)
            evidence.setdefault(slot.of, []).append(int(self._episode[row]))
        for agent, times in (readers or {}).items():
            amounts[agent] = amounts.get(agent, 0.0) + READ * times
        ranked = sorted(amounts, key=lambda a: (-amounts[a], a))
        return [(a, amounts[a], len(moved.get(a, ())), tuple(evidence.get(a, ()))) for a in ranked]

    def _about(self, kind: str, topic: str) -> npt.NDArray[np.bool_]:
        if (kind, topic) not in self._kept:
            self._kept[kind, topic] = np.fromiter((s.kind == kind and s.about == topic for s in self.slots), np.bool_, len(self.slots))
        return self._kept[kind, topic]

    def knowledge(self, episodes: npt.NDArray[np.int64], seen: npt.NDArray[Any] | None = None) -> Knowledge:
        """What follows from `episodes` (sorted), each witnessed at its tick of `seen` (None: before everything).

        Worth keeping: it takes the time that looking up every episode takes, and answers any tick.
        """
        when = np.full(len(episodes), -1, np.int64) if seen is None else seen.astype(np.int64)
        if not len(self._episodes):
            return Knowledge(*(np.empty(0, np.int64) for _ in Knowledge._fields))
        low = np.minimum(np.searchsorted(self._episodes, episodes), len(self._episodes) - 1)
        there = self._episodes[low] == episodes
        low, when = low[there], when[there]
        rows = self._by_episode[_ranges(low, self._next[low])]
        return Knowledge.of(self._slot[rows], rows, self._tick[rows], self._learnt[rows], np.repeat(when, self._next[low] - low))

    def _known(self, witnessed: npt.NDArray[np.int64] | Knowledge | None, until: int, known_at: int | None) -> Knowledge | None:
        if witnessed is None:
            return None
        known = witnessed if isinstance(witnessed, Knowledge) else self.knowledge(witnessed)
        return known.within(until, known_at)

    def _statements(self, rows: npt.NDArray[np.int64], until: int, known_at: int | None) -> list[Statement]:
        newest: dict[int, tuple[int, Statement]] = {}
        for row in rows.tolist():
            learnt = int(self._learnt[row])
            if self._tick[row] >= until or (known_at is not None and learnt > known_at):
                continue
            key = int(self._key[row])
            if key not in newest or learnt >= newest[key][0]:
                newest[key] = (
                    learnt,
                    Statement(
                        int(self._tick[row]),
                        int(self._ordinal[row]),
                        key,
                        float(self._value[row]),
                        float(self._sure[row]),
                        int(self._episode[row]),
                    ),
                )
        return sorted(s for _, s in newest.values() if s.confidence > 0)

    def _reach(
        self, about: list[int], hops: int, usable: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]], widest: int
    ) -> tuple[npt.NDArray[np.int64], list[int]]:
        # Slots in the order in which they are met, and how far each is. usable: the tick of the newest claim on slots that may be used,
        # -1 where there is none. Nothing here grows with the number of slots.
        found = np.empty(0, np.int64)
        distance: list[int] = []
        frontier, met = about, set(about)
        for hop in range(hops):
            near = _distinct(np.concatenate([np.asarray(self.net.incident_edges(n), np.int64) for n in frontier] or [found[:0]]))
            near = near[~member(np.sort(found), near)]
            seen = usable(near)
            least = max(int(np.partition(seen, -widest)[-widest]), 0) if len(seen) > widest else 0
            near, seen = near[seen >= least], seen[seen >= least]
            kept = near[np.argsort(-seen, kind="stable")][:widest]
            found = np.concatenate([found, kept])
            distance += [hop] * len(kept)
            ends = np.concatenate([self._of[kept], self._on[kept]])
            frontier = [a for a in dict.fromkeys(ends.tolist()) if a >= 0 and a not in met]
            met.update(frontier)
        return found, distance

    def _newest_before(self, slots: npt.NDArray[np.int64], until: int) -> npt.NDArray[np.int64]:
        # As the last of a slot's claims in order of time: what comes later has no part in it.
        if not len(self._slot_tick):
            return np.full(len(slots), -1, np.int64)
        last = np.searchsorted(self._slot_tick, slots * _ALL + until) - 1
        return np.where((last >= 0) & (self._slot_tick[last] // _ALL == slots), self._slot_tick[last] % _ALL, -1)

    def _edge(self, slot: int, episode: int) -> int | None:
        if not self._edge_key:
            return None
        rows = self._edge_order[self._edge_start[slot] : self._edge_start[slot + 1]]
        for row in rows[::-1].tolist():
            if (self._cited[self._cited_start[row] : self._cited_start[row + 1]] == episode).any():
                edge: int = self._edge_key[row]
                return edge
        return None


_SLOT = ["kind", "of", "on_agent", "on_topic", "about"]


def _slots(table: pa.Table) -> tuple[npt.NDArray[np.int64], list[Slot]]:
    # Slots as row numbers: two sorted integer keys instead of tuples, so that a million rows take a second.
    if not table.num_rows:
        return np.empty(0, np.int64), []
    people = (table["of"].to_numpy().astype(np.int64) << 32) | (table["on_agent"].fill_null(-1).to_numpy().astype(np.int64) + 1)
    codes = np.zeros(table.num_rows, np.int64)
    for name in ("kind", "on_topic", "about"):
        column = table[name].combine_chunks().dictionary_encode()
        codes = codes * (len(column.dictionary) + 1) + column.indices.fill_null(-1).to_numpy().astype(np.int64) + 1
    order = np.lexsort((codes, people))
    new = np.ones(len(order), np.bool_)
    new[1:] = (people[order][1:] != people[order][:-1]) | (codes[order][1:] != codes[order][:-1])
    slot_of = np.empty(len(order), np.int64)
    slot_of[order] = np.cumsum(new) - 1
    first = table.take(pa.array(order[new]))
    return slot_of, [Slot(*row) for row in zip(*(first[name].to_pylist() for name in _SLOT), strict=True)]


def _ordinals(episodes: npt.NDArray[np.int64], order: pa.Table) -> npt.NDArray[np.int64]:
    keys = order["episode"].to_numpy()
    if not len(keys):
        return np.zeros(len(episodes), np.int64)
    ordinals = order["ordinal"].to_numpy().astype(np.int64)
    sort = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[sort], episodes), len(keys) - 1)
    return np.where(keys[sort][at] == episodes, ordinals[sort][at], 0)


def _ranges(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    sizes = high - low
    starts = np.repeat(low - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) if len(sizes) else np.empty(0, np.int64)
    return starts + np.arange(int(sizes.sum()))


def _distinct(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    ordered = np.sort(values)
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]
