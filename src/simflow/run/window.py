"""What one window comes to: the world lives, memory follows, in the order in which an agent could have known things."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from simflow.episode import TABLES, TRUTH, vectors_schema
from simflow.memory.distil import distil
from simflow.memory.personas import personas
from simflow.memory.vectors import embed
from simflow.plan import Cell
from simflow.ports import Engine, Recall, Remote, State, Usage
from simflow.run.heartbeat import Heartbeat
from simflow.run.parts import Parts
from simflow.store import RunData


@dataclass
class Draft:
    """A window that is being made: tables by name, vectors, truth, the state at its end, and what a person should know."""

    state: State
    vectors: pa.Table
    tables: dict[str, pa.Table] = field(default_factory=lambda: {name: schema.empty_table() for name, schema in TABLES.items()})
    truth: dict[str, pa.Table] = field(default_factory=dict)
    notes: dict[str, int | float | str] = field(default_factory=dict)
    queue: int = 0

    def add(self, name: str, rows: pa.Table) -> None:
        """Append rows to a table."""
        self.tables[name] = pa.concat_tables([self.tables[name], rows.select(TABLES[name].names).cast(TABLES[name])])

    def note(self, notes: Mapping[str, int | float | str]) -> None:
        """Add up counts; words replace words."""
        for name, value in notes.items():
            before = self.notes.get(name)
            self.notes[name] = before + value if isinstance(before, int | float) and isinstance(value, int | float) else value


class Unfinished(RunData):
    """A run whose last window is still a draft, as the agents' own recall sees it."""

    def __init__(self, before: RunData, draft: Draft, end: int) -> None:
        super().__init__(before.store, before.record, before.windows)
        self.before = before
        self.draft = draft
        self._end = end

    @property
    def end(self) -> int:
        """The tick up to which the memory has followed."""
        return self._end

    def fresh(self) -> tuple[pa.Table, pa.Table] | None:
        """What the draft holds so far."""
        return self.draft.tables["episodes"], self.draft.vectors

    def table(self, name: str, *, columns: list[str] | None = None, until: int | None = None) -> pa.Table:
        """Rows of the committed windows and of the draft."""
        committed = self.before.table(name, columns=columns, until=until)
        if until is not None and until < self._end:
            return committed
        rows = self.draft.vectors if name == "vectors" else self.draft.tables[name]
        rows = rows.select(columns) if columns else rows
        return pa.concat_tables([committed, rows]) if committed.num_columns and committed.num_rows else rows


def compute(cell: Cell, parts: Parts, before: RunData, number: int, heart: Heartbeat, seconds: dict[str, float]) -> Draft:
    """Compute window `number` of a cell from what is committed before it. Wall seconds by stage are added to `seconds`.

    An engine without recall lives the window in one go. One whose agents recall lives from one batch of extraction to the next, so that
    what an agent remembers is what a memory that learns in batches could know.
    """
    start, stop = cell.windows[number]
    engine = parts.engine()
    with timed(seconds, "world", heart):
        state = before.window(number - 1).state() if number else engine.begin()
    draft = Draft(state, vectors_schema(parts.embedder().dimension).empty_table())
    for low, high in _stretches(engine, start, stop, cell.extract.every):
        recall = _recall(before, draft, low) if engine.needs_recall else None
        _live(engine, draft, (low, high), recall, heart, seconds)
        _remember(cell, parts, before, draft, (low, high), heart, seconds)
    for part in parts.made():
        if isinstance(part, Remote):
            draft.note(part.notes())
    return draft


def _stretches(engine: Engine, start: int, stop: int, every: int) -> Iterator[tuple[int, int]]:
    if not engine.needs_recall:
        yield start, stop
        return
    low = start
    while low < stop:
        high = min(stop, (low // every + 1) * every)
        yield low, high
        low = high


def _live(
    engine: Engine,
    draft: Draft,
    stretch: tuple[int, int],
    recall: Recall | None,
    heart: Heartbeat,
    seconds: dict[str, float],
) -> None:
    low, high = stretch

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "world":
            heart.tell(tick=low + round((high - low) * done / max(total, 1)))

    with timed(seconds, "world", heart):
        step = engine.advance(draft.state, low, high, recall=recall, progress=progress)
        draft.state = step.state
        for name in ("agents", "episodes", "exposures", "turns"):
            draft.add(name, getattr(step, name))
        for name, rows in step.truth.items():
            fitted = rows.select(TRUTH[name].names).cast(TRUTH[name])
            draft.truth[name] = pa.concat_tables([draft.truth[name], fitted]) if name in draft.truth else fitted
        draft.note(step.notes)
        heart.tell(episodes=heart.now.episodes + step.episodes.num_rows, tick=high)


def _remember(
    cell: Cell, parts: Parts, before: RunData, draft: Draft, stretch: tuple[int, int], heart: Heartbeat, seconds: dict[str, float]
) -> None:
    low, high = stretch
    with timed(seconds, "vectors", heart):
        episodes = draft.tables["episodes"]
        fresh = episodes.slice(_after(episodes, low))
        vectors = embed(fresh, parts.embedder(), cache=before.store.work / "cache" / "embeddings")
        draft.vectors = pa.concat_tables([draft.vectors, vectors])
    agents = joined(before.table("agents"), draft.tables["agents"])
    episodes = joined(before.table("episodes"), draft.tables["episodes"])
    edges = joined(before.table("edges"), draft.tables["edges"])
    with timed(seconds, "edges", heart):
        claims = joined(before.table("claims"), draft.tables["claims"])
        distilled = distil(cell, parts.extractor(), agents=agents, episodes=episodes, claims=claims, edges=edges, start=low, stop=high)
        draft.add("claims", distilled.claims)
        draft.add("edges", distilled.edges)
        draft.note(distilled.notes)
        draft.queue = distilled.queue
    with timed(seconds, "personas", heart):
        previous = joined(before.table("personas"), draft.tables["personas"])
        edges = joined(edges, distilled.edges)
        draft.add("personas", personas(cell, agents=agents, episodes=episodes, edges=edges, start=low, stop=high, previous=previous))


def _after(episodes: pa.Table, low: int) -> int:
    # Episodes are in order of ticks, so those of the newest stretch are the last ones.
    ticks = episodes.column("tick").to_numpy()
    return int(ticks.searchsorted(low))


def _recall(before: RunData, draft: Draft, end: int) -> Recall:
    if end == 0:
        return lambda _agent, _tick, _situation: ""  # before the first batch nobody remembers anything
    from simflow import memory  # noqa: PLC0415 - only engines with recall pay for it

    view = memory.open(Unfinished(before, draft, end))

    def recall(agent: int, tick: int, situation: str) -> str:
        return view.recall(agent, min(tick, end), situation).text  # the memory ends with its last batch, whatever the time is

    return recall


def joined(before: pa.Table, new: pa.Table) -> pa.Table:
    """Rows of both, in the columns of the committed ones."""
    return pa.concat_tables([before, new.select(before.schema.names).cast(before.schema)]) if before.num_rows else new


@contextmanager
def timed(seconds: dict[str, float], stage: str, heart: Heartbeat) -> Iterator[None]:
    """Tell the stage, and add the wall seconds that the block takes."""
    heart.tell(stage=stage)
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - began


def spending(parts: Parts) -> list[Usage]:
    """What the parts of a run have spent in this process; parts that share an account report it once."""
    found: dict[tuple[str, str], Usage] = {}
    for part in parts.made():
        if isinstance(part, Remote):
            found.update({(u.phase, u.model): u for u in part.usage()})
    return list(found.values())


def spent(before: Sequence[Usage], after: Sequence[Usage]) -> dict[str, Any]:
    """The difference of two reports: tokens, cost, and both by phase and model."""
    base = {(u.phase, u.model): u for u in before}
    rows = []
    for u in after:
        b = base.get((u.phase, u.model), Usage(u.phase, u.model))
        row = {
            k: getattr(u, k) - getattr(b, k) for k in ("calls", "replayed", "failed", "tokens_in", "tokens_cached", "tokens_out", "cost")
        }
        if any(row.values()):
            rows.append({"phase": u.phase, "model": u.model, **row})
    return {
        "tokens": sum(r["tokens_in"] + r["tokens_out"] for r in rows),
        "cost": round(sum(r["cost"] for r in rows), 8),
        "usage": rows,
    }
