"""The engine `replay`: recorded acts become episodes, ordered in time, with what their actors must have seen as exposures."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from simflow.episode import AGENTS, EPISODES, EXPOSURES, TURNS, empty, sentence
from simflow.errors import BadInput
from simflow.plan import Cell
from simflow.ports import Progress, Recall, State, Step
from simflow.world.replay.trace import Row, Trace, read

REACTIONS = frozenset({"like", "dislike", "report", "repost"})


@dataclass(frozen=True, slots=True)
class _Act:
    """A row at its place in time, with who and what it refers to resolved."""

    row: Row
    tick: int
    ordinal: int
    key: int
    parent: int | None
    root: int
    target: str | None


class ReplayEngine:
    """Replays `cell.replay`. Out-of-order rows are sorted, repeated ids dropped, missing parents kept; all of it is counted.

    Exposures are what must have been seen: an actor saw what it answered, shared or reacted to; the one addressed saw what was
    addressed to it; the speakers of a conversation saw each other's messages. Nothing else is assumed.
    """

    id = "replay/2"
    needs_recall = False
    features: frozenset[str] = frozenset({"topic_by"})

    def __init__(self, cell: Cell) -> None:
        if cell.replay is None:
            raise BadInput("the engine `replay` needs a recorded trace", hint="add `replay: {file: trace.jsonl}` to the scenario")
        self.cell = cell
        self.replay = cell.replay
        self._loaded: _Timeline | None = None

    def begin(self) -> State:
        """Nothing has happened; the trace is read when it is first needed."""
        return {"tick": np.zeros(1, np.int64)}

    def advance(self, state: State, start: int, stop: int, *, recall: Recall | None = None, progress: Progress | None = None) -> Step:
        """Acts of ticks [start, stop). Raises BadInput where the trace cannot be read or was changed since the plan was made."""
        del recall, state
        timeline = self._timeline()
        acts = [a for a in timeline.acts if start <= a.tick < stop]
        if progress:
            progress("world", stop - start, stop - start)
        return Step(
            agents=timeline.agents(start, stop),
            episodes=timeline.episodes(acts),
            exposures=timeline.exposures(acts),
            turns=empty(TURNS),
            state={"tick": np.array([stop], np.int64)},
            notes=timeline.counts if start == 0 else {},
        )

    def _timeline(self) -> _Timeline:
        if self._loaded is None:
            path = Path(self.replay.path)
            trace = read(path, self.replay.format, self.replay.topic_by)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if self.replay.sha256 and digest != self.replay.sha256:
                raise BadInput(f"{path} was changed since the plan was made", hint="plan or run the scenario again")
            self._loaded = _Timeline(trace, self.replay.time, self.replay.minutes or self.cell.clock.minutes, path, self.cell)
        return self._loaded


class _Timeline:
    """The whole trace in order: who is who, what answers what."""

    def __init__(self, trace: Trace, by: str, minutes: int, path: Path, cell: Cell) -> None:
        self.notes: Counter[str] = Counter({k: v for k, v in trace.notes.items() if isinstance(v, int)})
        words = {k: v for k, v in trace.notes.items() if isinstance(v, str)}
        rows = _distinct(trace.rows, self.notes)
        ticks = _ticks(rows, by, minutes, path, self.notes)
        order = sorted(range(len(rows)), key=lambda i: (ticks[i], rows[i].ts or "", rows[i].seq, rows[i].line))
        self.notes["rows out of order, sorted"] += sum(a > b for a, b in itertools.pairwise(order))
        self.rows = [rows[i] for i in order]
        self.by_id = {row.id: row for row in self.rows}
        self.keys = {row.id: key(row.id) for row in self.rows}
        self.names: dict[str, int] = {}
        self.joined: list[int] = []
        self.acts: list[_Act] = []
        self._language = cell.language.code
        self._topics = {name.casefold(): t.name for t in reversed(cell.topics) for name in (*t.words, t.name)}
        self._roots: dict[str, int] = {}
        ordinals: Counter[int] = Counter()
        for i, row in zip(order, self.rows, strict=True):
            tick = ticks[i]
            self.acts.append(self._act(row, tick, ordinals[tick]))
            ordinals[tick] += 1
        self.counts: dict[str, int | str] = {**{k: v for k, v in self.notes.items() if v}, **words}

    def _act(self, row: Row, tick: int, ordinal: int) -> _Act:
        parent_row = self.by_id.get(row.parent) if row.parent else None
        if row.parent and parent_row is None:
            self.notes["parents that are not in the trace, kept as references"] += 1
        target = row.target or (parent_row.actor if parent_row else None)
        if target is None and len(row.speakers) == 2:
            target = next((s for s in row.speakers if s != row.actor), None)
        for name in (row.actor, *((target,) if target else ()), *row.speakers):
            if name not in self.names:
                self.names[name] = len(self.names)
                self.joined.append(tick)
        if row.topic and row.topic.casefold() not in self._topics:
            self.notes["rows whose topic is none of the scenario's"] += 1
        parent = key(row.parent) if row.parent else None
        root = self._roots.get(row.parent or "", parent if parent is not None else self.keys[row.id])
        self._roots[row.id] = root
        return _Act(row, tick, ordinal, self.keys[row.id], parent, root, target)

    def agents(self, start: int, stop: int) -> pa.Table:
        """Agents that first appear in [start, stop); the numbers are places in the trace, the same for every window size."""
        rows = [
            {
                "agent": i,
                "id": name,
                "name": name,
                "persona": None,
                "is_voice": False,
                "joined": self.joined[i],
                "about": None,
                "traits": None,
            }
            for name, i in self.names.items()
            if start <= self.joined[i] < stop
        ]
        return pa.Table.from_pylist(rows, schema=AGENTS)

    def episodes(self, acts: list[_Act]) -> pa.Table:
        """Acts as rows of EPISODES."""
        return pa.Table.from_pylist([self._episode(a) for a in acts], schema=EPISODES)

    def _episode(self, act: _Act) -> dict[str, Any]:
        row = act.row
        parent = self.by_id.get(row.parent) if row.parent else None
        text = row.text or (parent.text if parent and row.kind == "repost" else None)
        said = sentence(
            row.kind,
            row.actor,
            target=act.target,
            text=text,
            parent_text=parent.text if parent and row.kind in REACTIONS else None,
            language=self._language,
        )
        return {
            "episode": act.key,
            "tick": act.tick,
            "ordinal": act.ordinal,
            "actor": self.names[row.actor],
            "kind": row.kind,
            "parent": act.parent,
            "root": act.root,
            "target": self.names[act.target] if act.target else None,
            "text": text,
            "sentence": said,
            "event": None,
            "source": row.id,
            "ts": row.ts,
            "lang": row.lang,
            "topic": self._topics.get(row.topic.casefold()) if row.topic else None,
        }

    def exposures(self, acts: list[_Act]) -> pa.Table:
        """What must have been seen, once for each reader and episode of these acts."""
        seen: dict[tuple[int, int], int] = {}
        for act in acts:
            actor = self.names[act.row.actor]
            if act.parent is not None and act.row.parent in self.by_id and self.by_id[act.row.parent].actor != act.row.actor:
                seen.setdefault((actor, act.parent), act.tick)
            readers = {self.names[s] for s in act.row.speakers} | ({self.names[act.target]} if act.target else set())
            for reader in sorted(readers - {actor}):
                seen.setdefault((reader, act.key), act.tick)
        rows = [{"tick": tick, "reader": reader, "episode": episode, "rank": 0} for (reader, episode), tick in seen.items()]
        rows.sort(key=lambda r: (r["tick"], r["reader"], r["episode"]))
        return pa.Table.from_pylist(rows, schema=EXPOSURES)


def key(identity: str) -> int:
    """The content key of an original id: 63 bits of its SHA-256."""
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big") >> 1


def _distinct(rows: list[Row], notes: Counter[str]) -> list[Row]:
    kept: dict[str, Row] = {}
    for row in rows:
        if row.id in kept:
            notes["rows with an id that was there before, dropped"] += 1
        else:
            kept[row.id] = row
    return list(kept.values())


def _ticks(rows: list[Row], by: str, minutes: int, path: Path, notes: Counter[str]) -> list[int]:
    if by == "order":
        return list(range(len(rows)))
    if by == "tick":
        missing = next((r for r in rows if r.tick is None), None)
        if missing:
            raise BadInput(f"{path}:{missing.line}: has no `tick`", hint="use `replay.time: ts` or `order`")
        given = [r.tick or 0 for r in rows]
        low = min(given, default=0)
        return [t - low for t in given]
    times = [_seconds(r, path) for r in rows]
    known = [t for t in times if t is not None]
    if rows and not known:
        raise BadInput(f"{path}: no row has a time in `ts`", hint="use `replay.time: tick` or `order`")
    first, last = min(known, default=0.0), 0
    ticks = []
    for time in times:  # a row without a time happened after the row before it
        if time is None:
            notes["rows without a time, placed after the row before them"] += 1
        else:
            last = int((time - first) // (60 * minutes))
        ticks.append(last)
    return ticks


def _seconds(row: Row, path: Path) -> float | None:
    if row.ts is None:
        return None
    try:
        time = datetime.fromisoformat(row.ts)
    except ValueError:
        raise BadInput(
            f"{path}:{row.line}: `ts` is {row.ts!r}, not a time in ISO 8601", hint="write it like 2015-03-24T10:43:44Z"
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
