"""Why something is believed: belief -> edge in force and superseded ones -> claims -> episodes, as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import label, wording
from simflow.memory import beliefs
from simflow.memory import claims as claiming
from simflow.memory.beliefs import Edge
from simflow.memory.claims import Claim, Slot, standing
from simflow.memory.relations import verbs_of
from simflow.plan import Cell


@dataclass(frozen=True, slots=True)
class Source:
    """One piece of evidence: what was claimed, and the episode it was read from, whole.

    weight: confidence decayed to the tick asked about. episode, parent: rows of `episodes` with readable ids; parent None if there is none.
    role: `for` the edge that it stands under, or `outvoted`.
    """

    claim: int
    value: float
    confidence: float
    weight: float
    quote: str | None
    extractor: str
    learnt: int
    role: str
    episode: Mapping[str, Any]
    parent: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """One edge as it stood: `status` is `in force`, `superseded`, `later` (than the tick asked about) or `retracted`."""

    edge: str
    version: int
    status: str
    says: str
    value: float
    weight: float
    count: int
    valid_from: int
    valid_to: int | None
    superseded_by: str | None
    last_seen: int
    learnt: int
    evidence: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an agent believes on one thing at one tick, and how the memory knows.

    kind, of, on, about: the relation in readable ids. belief: one sentence. edges: newest first. outvoted: statements that turned nothing.
    waiting: episodes of the agent that no batch had read at `known_at`. scale: what -1, 0 and +1 mean here; empty where they mean nothing.
    """

    kind: str
    of: str
    name: str
    on: str
    about: str | None
    as_of: int
    known_at: int
    belief: str
    in_force: Held | None
    edges: tuple[Held, ...]
    outvoted: tuple[Source, ...] = ()
    waiting: int = 0
    half_life: int = 0
    scale: tuple[str, str, str] = ("", "", "")

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Record:
    """What explanations are made from: a run's tables."""

    cell: Cell
    agents: pa.Table
    episodes: pa.Table
    claims: pa.Table
    edges: pa.Table
    names: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, cell: Cell, agents: pa.Table, episodes: pa.Table, claims: pa.Table, edges: pa.Table) -> Record:
        """A record with its index of agents: agent -> (id, name)."""
        columns = (agents[c].to_pylist() for c in ("agent", "id", "name"))
        return cls(cell, agents, episodes, claims, edges, {a: (i, n) for a, i, n in zip(*columns, strict=True)})


def slots_of(record: Record, agent: int) -> list[Slot]:
    """Everything that the memory ever believed of an agent, opinions first."""
    rows = beliefs.rows(beliefs.present(record.edges.filter(pc.equal(record.edges["of"], agent))))
    order = {kind.name: i for i, kind in enumerate(record.cell.extract.relations)}
    return sorted({e.slot for e in rows}, key=lambda s: (order.get(s.kind, len(order)), str(s.on_topic), s.on_agent or 0, str(s.about)))


def explain(record: Record, slot: Slot, as_of: int, known_at: int | None = None) -> Explanation:
    """Walk one belief back to its episodes.

    as_of: the tick whose truth is asked for. known_at: use only what had been learnt by then (None: everything learnt so far).
    """
    seen = int(record.edges.num_rows and pc.max(record.edges["learnt"]).as_py())
    known = max(seen, as_of) if known_at is None else known_at
    mask = _of_slot(record.claims, slot)
    held = standing(claiming.rows(record.claims.filter(mask)), known_at)
    edges = beliefs.rows(beliefs.present(record.edges.filter(_of_slot(record.edges, slot)), known_at))
    episodes = _episodes(record, [c.episode for c in held])
    by_episode = {c.episode: c for c in held}
    shown = []
    used: set[int] = set()
    for edge in sorted(edges, key=lambda e: (-e.valid_from, e.retracted, -e.version)):
        cited = [by_episode[e] for e in edge.evidence if e in by_episode]
        used |= {c.episode for c in cited}
        shown.append(_held(record, slot, edge, cited, episodes, as_of))
    rest = [c for c in held if c.episode not in used]
    now = next((h for h in shown if h.status == "in force"), None)
    of, name = record.names.get(slot.of, (str(slot.of), str(slot.of)))
    return Explanation(
        kind=slot.kind,
        of=of,
        name=name,
        on=slot.on_topic or _handle(record, slot.on_agent),
        about=slot.about,
        as_of=as_of,
        known_at=known,
        belief=_belief(name, of, slot, now, as_of, record),
        in_force=now,
        edges=tuple(shown),
        outvoted=tuple(_source(c, episodes, as_of, record.cell.extract.evidence_half_life, "outvoted") for c in sorted(rest, key=_when)),
        waiting=_waiting(record, slot.of, known),
        half_life=record.cell.extract.evidence_half_life,
        scale=("", "", says(record.cell, slot, 1))
        if slot.kind == "influence"
        else tuple(says(record.cell, slot, sign) for sign in (-1, 0, 1)),  # type: ignore[arg-type]
    )


def says(cell: Cell, slot: Slot, sign: int) -> str:
    """The verb of a label on a slot, in the words of the scenario."""
    return wording(cell.language.code).say("belief.moved") if slot.kind == "influence" else verbs_of(cell, slot.on_topic)[sign + 1]


def _belief(name: str, of: str, slot: Slot, now: Held | None, as_of: int, record: Record) -> str:
    words = wording(record.cell.language.code)
    on = words.say("topic", topic=slot.on_topic) if slot.on_topic else _handle(record, slot.on_agent)
    about = words.say("fact.about", topic=words.say("topic", topic=slot.about)) if slot.about else ""
    who = {"name": name, "of": of, "on": on, "about": about, "tick": as_of}
    if now is None:
        return words.say("belief.nothing", kind=words.kind(slot.kind), **who)
    once = now.count == 1
    times = words.say("belief.once", last=now.last_seen) if once else words.count("belief.times", now.count, last=now.last_seen)
    return words.say("belief.says", verb=now.says, since=now.valid_from, times=times, **who)


def counted(count: int, what: str) -> str:
    """`1 statement`, `2 statements`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _held(record: Record, slot: Slot, edge: Edge, cited: Sequence[Claim], episodes: Mapping[int, dict[str, Any]], as_of: int) -> Held:
    status = "superseded"
    if edge.retracted:
        status = "retracted"
    elif edge.holds(as_of):
        status = "in force"
    elif edge.valid_from > as_of:
        status = "later"
    half_life = record.cell.extract.evidence_half_life
    return Held(
        edge=label(edge.edge),
        version=edge.version,
        status=status,
        says=says(record.cell, slot, edge.label),
        value=round(edge.value, 4),
        weight=round(edge.weight, 4),
        count=edge.count,
        valid_from=edge.valid_from,
        valid_to=edge.valid_to,
        superseded_by=None if edge.superseded_by is None else label(edge.superseded_by),
        last_seen=edge.last_seen,
        learnt=edge.learnt,
        evidence=tuple(_source(c, episodes, as_of, half_life, "for") for c in sorted(cited, key=_when)),
    )


def _source(claim: Claim, episodes: Mapping[int, dict[str, Any]], as_of: int, half_life: float, role: str) -> Source:
    row = episodes.get(claim.episode, {"episode": label(claim.episode), "missing": True})
    parent = row.get("parent_key")
    return Source(
        claim=claim.claim,
        value=round(claim.value, 4),
        confidence=round(claim.confidence, 4),
        weight=0.0 if claim.tick > as_of else round(claim.confidence * float(0.5 ** ((as_of - claim.tick) / half_life)), 4),
        quote=claim.quote,
        extractor=claim.extractor,
        learnt=claim.learnt,
        role=role,
        episode={k: v for k, v in row.items() if not k.endswith("_key")},
        parent=None if parent is None else {k: v for k, v in episodes.get(parent, {}).items() if not k.endswith("_key")} or None,
    )


def _when(claim: Claim) -> tuple[int, int]:
    return (claim.tick, claim.claim)


def _handle(record: Record, agent: int | None) -> str:
    return "" if agent is None else f"@{record.names.get(agent, (str(agent), ''))[0]}"


def _of_slot(table: pa.Table, slot: Slot) -> pa.ChunkedArray:
    mask = pc.and_(pc.equal(table["of"], slot.of), pc.equal(table["kind"], slot.kind))
    for name, value in (("on_agent", slot.on_agent), ("on_topic", slot.on_topic), ("about", slot.about)):
        mask = pc.and_(mask, pc.is_null(table[name]) if value is None else pc.fill_null(pc.equal(table[name], value), fill_value=False))
    return mask


def _episodes(record: Record, wanted: Sequence[int]) -> dict[int, dict[str, Any]]:
    # Evidence and what it answered: two passes over the table, whatever the number of sources.
    found: dict[int, dict[str, Any]] = {}
    todo = set(wanted)
    for _ in range(2):
        rows = record.episodes.filter(pc.is_in(record.episodes["episode"], value_set=pa.array(sorted(todo), pa.int64()))).to_pylist()
        for row in rows:
            readable = {
                **row,
                "episode": label(row["episode"]),
                "actor": _handle(record, row["actor"]),
                "target": _handle(record, row["target"]) or None,
                "parent": None if row["parent"] is None else label(row["parent"]),
                "root": None if row["root"] is None else label(row["root"]),
                "parent_key": row["parent"],
            }
            found[row["episode"]] = readable
        todo = {r["parent"] for r in rows if r["parent"] is not None} - found.keys()
    return found


def _waiting(record: Record, agent: int, known_at: int) -> int:
    done = (known_at // record.cell.extract.every) * record.cell.extract.every
    mask = (record.episodes["actor"].to_numpy() == agent) & (record.episodes["tick"].to_numpy() >= done)
    return int(np.count_nonzero(mask & (record.episodes["tick"].to_numpy() < known_at)))
