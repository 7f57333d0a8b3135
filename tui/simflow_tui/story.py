"""One agent's part of a run: persona state, opinions over time, relations, what it said. Read window by window, in worker threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.errors import SimflowError
from simflow_tui.committed import Committed

SAID = 200
"""Own episodes that are kept."""

EDGES = 2000
"""Edges that are kept, at most twice as many between two clearings."""

RELATIONS = 400
"""Relations in force that are listed."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A belief about an agent as it stands: towards a topic or another agent. Ticks; `value` in -1..1."""

    edge: int
    kind: str
    on_agent: int | None
    on_topic: str | None
    about: str | None
    value: float
    count: int
    since: int
    last_seen: int


@dataclass
class Story:
    """What is known of one agent. `opinions`: topic -> (tick, value) of each belief as it began; newest last."""

    agent: int
    state: str = ""
    state_tick: int = 0
    opinions: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    said: list[tuple[int, str, str]] = field(default_factory=list)
    shown: int = 0
    trouble: str = ""
    windows: int = 0


class Storyteller:
    """Reads one agent's part of a run, window by window; what was read is not read again. `story` is what is known so far."""

    def __init__(self, home: Path, agent: int, run: str = "") -> None:
        self.home = home
        self.run = run
        self.story = Story(agent)
        self.done = 0
        self._origin: int | None = None
        self._edges: dict[int, tuple[Any, ...]] = {}

    def behind(self, windows: Committed) -> bool:
        """Whether windows are committed that have not been taken in."""
        return (self._origin, self.done) != (windows.origin, windows.total)

    def advance(self, windows: Committed, *, most: int | None = None, stop: Callable[[], bool] = lambda: False) -> Story:
        """Take in windows that are new, at most `most` of them, and tell the whole anew."""
        from simflow.store import Store  # noqa: PLC0415 - costs 0.3 CPU seconds: only where data are shown

        if self._origin != windows.origin or self.done > windows.total:
            self.story, self.done, self._edges, self._origin = Story(self.story.agent), 0, {}, windows.origin
        known, held = self.story, Store(self.home).windows
        found = Story(known.agent, known.state, known.state_tick, said=list(reversed(known.said)), shown=known.shown)
        until = windows.total if most is None else min(windows.total, self.done + most)
        for place in (windows.places[i] for i in range(self.done, until)):
            if stop():
                break
            try:
                window = held.get(place.key)
                if window is None:
                    found.trouble = f"window {place.number} is gone from the store"
                else:
                    self._take(found, window)
            except (SimflowError, OSError, KeyError, ValueError) as error:
                found.trouble = str(error)
            self.done += 1
        found.windows = self.done
        found.said = list(reversed(found.said[-SAID:]))
        self._forget()
        _beliefs(found, self._edges.values())
        self.story = found
        return found

    def _take(self, found: Story, held: Any) -> None:
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        def own(name: str, whose: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
            table = held.table(name, [whose, *columns])
            rows = table.filter(pc.equal(table[whose], found.agent)) if table.num_rows else table
            return list(zip(*(rows[c].to_pylist() for c in columns), strict=True))

        for row in own("edges", "of", EDGE):
            known = self._edges.get(row[0])
            if known is None or known[1] < row[1]:
                self._edges[row[0]] = row
        found.said += own("episodes", "actor", ["tick", "kind", "sentence"])
        for tick, text in own("personas", "agent", ["tick", "text"]):
            if tick >= found.state_tick:
                found.state, found.state_tick = text, tick
        readers = held.table("exposures", ["reader"])["reader"]
        found.shown += pc.sum(pc.equal(readers, found.agent)).as_py() or 0

    def _forget(self) -> None:
        # Those that are in force no longer go first, then those that were seen longest ago: a curve shows no more, and a week has many.
        if len(self._edges) > 2 * EDGES:
            kept = sorted(self._edges.values(), key=lambda row: (row[VALID_TO] is None, row[LAST_SEEN]))[-EDGES:]
            self._edges = {row[0]: row for row in kept}


EDGE = ["edge", "version", "kind", "on_agent", "on_topic", "about", "value", "count", "valid_from", "last_seen", "valid_to"]
LAST_SEEN, VALID_TO = EDGE.index("last_seen"), EDGE.index("valid_to")


def _beliefs(found: Story, edges: Iterable[tuple[Any, ...]]) -> None:
    for row in sorted(edges, key=lambda row: (row[8], row[1])):
        edge, _, kind, on_agent, on_topic, about, value, count, valid_from, last_seen, valid_to = row
        if on_topic is not None and on_agent is None:
            found.opinions.setdefault(on_topic, []).append((valid_from, value))
            if valid_to is None and last_seen > valid_from:
                found.opinions[on_topic].append((last_seen, value))
        if valid_to is None:
            found.relations.append(Relation(edge, kind, on_agent, on_topic, about, value, count, valid_from, last_seen))
    found.relations.sort(key=lambda r: (r.on_topic is None, r.on_topic or "", -abs(r.value)))
    del found.relations[RELATIONS:]
