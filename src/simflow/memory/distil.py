"""Episodes become claims, claims become edges: a batch at the end of every `extract.every` ticks, whatever the windows are."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simflow.errors import RunFailed
from simflow.memory import beliefs
from simflow.memory import claims as claiming
from simflow.memory.beliefs import Edge
from simflow.memory.claims import PARKED, RULE, Claim, Slot
from simflow.memory.linking import Names
from simflow.memory.passages import READ_KINDS, passages, texts_of
from simflow.memory.rules import RULES, follow_up, read
from simflow.memory.topics import Gazetteer
from simflow.plan import Cell
from simflow.ports import Extractor, Held

ATTEMPTS = 3
"""How many batches try an episode that the extractor failed on before it stays parked."""


@dataclass(frozen=True, slots=True)
class Distilled:
    """New rows of `claims` and `edges`; `queue` episodes that wait for the end of their batch; `notes` count what a person should know."""

    claims: pa.Table
    edges: pa.Table
    queue: int
    notes: dict[str, int] = dataclasses.field(default_factory=dict)


def distil(
    cell: Cell,
    extractor: Extractor,
    *,
    agents: pa.Table,
    episodes: pa.Table,
    claims: pa.Table,
    edges: pa.Table,
    start: int,
    stop: int,
) -> Distilled:
    """Extract each batch whose end falls into (start, stop] and fold what it says into the edges.

    episodes: all with tick < stop. claims, edges: all rows committed before `start`. Batches are the absolute ranges [k * every,
    (k + 1) * every), so the result does not depend on how a run is cut into windows. Raises RunFailed if an extractor loses an episode.
    """
    every = cell.extract.every
    ends = [end for end in range((start // every + 1) * every, stop + 1, every) if end > start]
    ticks = episodes["tick"].to_numpy()
    done = ends[-1] if ends else (start // every) * every
    waiting = int(np.count_nonzero((ticks >= done) & _among(episodes["kind"], (*READ_KINDS, *RULES))))
    if not ends:
        return Distilled(claims.slice(0, 0), edges.slice(0, 0), waiting)
    work = _Work(cell, extractor, agents, episodes, claims, edges)
    for end in ends:
        work.batch(end - every, end, ticks)
    return Distilled(
        claiming.table(work.new_claims),
        beliefs.table(work.new_edges),
        waiting + work.parked,
        {name: count for name, count in work.notes.items() if count},
    )


class _Work:
    """The batches of one window."""

    def __init__(self, cell: Cell, extractor: Extractor, agents: pa.Table, episodes: pa.Table, claims: pa.Table, edges: pa.Table) -> None:
        self.cell, self.extractor, self.episodes = cell, extractor, episodes
        self.kinds = {r.name: r for r in cell.extract.relations}
        self.declared = frozenset(self.kinds)
        self.names, self.gazetteer = Names(agents), Gazetteer(cell.topics)
        self.old_claims, self.old_edges = _Rows(claims), _Rows(edges)
        self.new_claims: list[Claim] = []
        self.new_edges: list[Edge] = []
        self.of_slot: dict[Slot, list[Claim]] = {}
        self.edges_of: dict[Slot, dict[int, Edge]] = {}
        self.order: dict[int, int] = {}
        self.notes: Counter[str] = Counter()
        self.failures: dict[int, int] = {}
        for row in claiming.rows(claims.filter(pc.equal(claims["kind"], PARKED))):
            self._count(row)

    @property
    def parked(self) -> int:
        """Episodes whose extraction failed and has not succeeded since."""
        return len(self.failures)

    def _count(self, row: Claim) -> None:
        if row.value > 0:
            self.failures.pop(row.episode, None)
        else:
            self.failures[row.episode] = self.failures.get(row.episode, 0) + 1

    def batch(self, begin: int, end: int, ticks: npt.NDArray[np.int32]) -> None:
        """One batch: rules, extraction, fold."""
        again = [e for e, tries in self.failures.items() if tries < ATTEMPTS]
        mask = (ticks >= begin) & (ticks < end)
        if again:
            mask |= _among(self.episodes["episode"], again, pa.int64())
        rows = self.episodes.filter(pa.array(mask)).to_pylist()
        related = {e for row in rows for e in (row["parent"], row["root"]) if e is not None}
        texts = texts_of(self.episodes, related)
        found = self._ruled([r for r in rows if r["kind"] in RULES], texts, end)
        found += self._read([r for r in rows if r["kind"] in READ_KINDS and (r["text"] or "").strip()], texts, begin, end)
        self.new_claims += found
        for claim in found:
            if claim.kind == PARKED:
                self._count(claim)
        self._fold([c for c in found if c.kind != PARKED], end)

    def _ruled(self, rows: list[dict[str, Any]], texts: dict[int, str], end: int) -> list[Claim]:
        found = []
        for row in rows:
            about = texts.get(row["parent"]) if row["parent"] is not None else None
            if about is None and row["kind"] == "repost":
                about = row["text"]
            named = self.gazetteer.find(about) or self.gazetteer.find(texts.get(row["root"]) if row["root"] is not None else None)
            topic = row.get("topic") or (self.cell.topics[named[0].topic].name if named else None)
            findings = read(row["kind"], row["episode"], row["actor"], row["target"], topic, self.declared)
            found += [claiming.make(f, tick=row["tick"], learnt=end, extractor=RULE) for f in findings]
        return found

    def _held(self, agents: set[int], tick: int) -> dict[int, list[Held]]:
        """What these agents believe at a tick, as known from the batches before: on topics and of each other."""
        wanted = _among(self.old_edges.table["of"], agents, pa.int32())
        known = [self.old_edges.table.filter(pa.array(wanted)), beliefs.table(e for e in self.new_edges if e.of in agents)]
        found: dict[int, list[Held]] = {}
        for edge in beliefs.rows(beliefs.in_force(pa.concat_tables(known), tick)):
            if edge.kind in self.declared and self.kinds[edge.kind].newest == "wins":
                found.setdefault(edge.of, []).append(Held(edge.kind, edge.on_agent, edge.on_topic, edge.about, edge.value))
        return found

    def _read(self, rows: list[dict[str, Any]], texts: dict[int, str], begin: int, end: int) -> list[Claim]:
        batch = passages(rows, self.names, texts, self._held({row["actor"] for row in rows}, begin))
        if not batch:
            return []
        result = self.extractor.extract(batch)
        ticks = {p.episode: p.tick for p in batch}
        lost = set(ticks) - {f.episode for f in result.findings} - set(result.nothing) - set(result.failed)
        if lost:
            raise RunFailed(
                f"extractor {self.extractor.id} lost {len(lost)} of {len(ticks)} episodes of the batch that ends at tick {end}",
                hint="each episode of a batch must come back in findings, nothing or failed",
            )
        found = []
        for finding in result.findings:
            if finding.episode in ticks and finding.kind in self.declared:
                found.append(claiming.make(finding, tick=ticks[finding.episode], learnt=end, extractor=self.extractor.id))
            else:
                self.notes["findings of undeclared kinds"] += 1
        derived = follow_up(result.findings, self.declared)
        found += [claiming.make(f, tick=ticks[f.episode], learnt=end, extractor=RULE) for f in derived if f.episode in ticks]
        actors = {p.episode: p.actor for p in batch}
        settled = [(e, None) for e in actors if e in self.failures and e not in result.failed]
        for episode, reason in [*result.failed.items(), *settled]:
            found.append(
                claiming.park(episode, actors[episode], tick=ticks[episode], learnt=end, reason=reason, extractor=self.extractor.id)
            )
        self.notes["episodes that could not be extracted"] += len(result.failed)
        return found

    def _fold(self, found: Iterable[Claim], end: int) -> None:
        touched: dict[Slot, list[Claim]] = {}
        for claim in found:
            touched.setdefault(claim.slot, []).append(claim)
        self._fetch([slot for slot in touched if slot not in self.of_slot])
        self._ordinals(touched)
        for slot, fresh in touched.items():
            self.of_slot[slot] += fresh
            changed = beliefs.fold(
                slot,
                self.of_slot[slot],
                list(self.edges_of[slot].values()),
                learnt=end,
                half_life=self.cell.extract.evidence_half_life,
                wins=self.kinds[slot.kind].newest == "wins",
                order=self.order,
            )
            self.edges_of[slot].update((e.edge, e) for e in changed)
            self.new_edges += changed

    def _fetch(self, slots: list[Slot]) -> None:
        for slot in slots:
            self.of_slot[slot], self.edges_of[slot] = [], {}
        for claim in claiming.rows(self.old_claims.of(slots)):
            if claim.slot in self.of_slot:
                self.of_slot[claim.slot].append(claim)
        for edge in beliefs.rows(self.old_edges.of(slots)):
            if edge.slot in self.edges_of:
                self.edges_of[edge.slot][edge.edge] = edge

    def _ordinals(self, touched: dict[Slot, list[Claim]]) -> None:
        wanted = {c.episode for slot, fresh in touched.items() for c in (*fresh, *self.of_slot[slot])} - self.order.keys()
        if wanted:
            rows = self.episodes.select(["episode", "ordinal"]).filter(pa.array(_among(self.episodes["episode"], wanted, pa.int64())))
            self.order.update(zip(rows["episode"].to_pylist(), rows["ordinal"].to_pylist(), strict=True))


class _Rows:
    """A table of earlier windows, from which the rows of some slots are taken."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def of(self, slots: list[Slot]) -> pa.Table:
        """Rows that may belong to one of the slots: a superset, by holder and kind."""
        if not self.table.num_rows or not slots:
            return self.table.slice(0, 0)
        mask = _among(self.table["of"], {s.of for s in slots}, pa.int32()) & _among(self.table["kind"], {s.kind for s in slots})
        return self.table.filter(pa.array(mask))


def _among(column: pa.ChunkedArray, values: Iterable[Any], kind: pa.DataType | None = None) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = pc.is_in(column, value_set=pa.array(list(values), kind)).to_numpy()
    return mask
