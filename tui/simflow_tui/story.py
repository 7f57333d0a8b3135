"""One agent's part of a run: persona state, opinions over time, relations, what it said. Read window by window, in worker threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.errors import SimflowError
from simflow.runs import WindowRecord

SAID = 200
"""Own episodes that are kept."""


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

    def __init__(self, home: Path, agent: int) -> None:
        self.home = home
        self.story = Story(agent)
        self.done: list[str] = []
        self._edges: dict[int, dict[str, Any]] = {}

    def advance(self, windows: Sequence[WindowRecord], *, stop: Callable[[], bool] = lambda: False) -> Story:
        """Take in the windows that are new, and tell the whole anew."""
        from simflow.store import Store  # noqa: PLC0415 - costs 0.3 CPU seconds: only where data are shown

        keys = [w.key for w in windows]
        if keys[: len(self.done)] != self.done:
            self.story, self.done, self._edges = Story(self.story.agent), [], {}
        known, store = self.story, Store(self.home)
        found = Story(known.agent, known.state, known.state_tick, said=list(reversed(known.said)), shown=known.shown)
        for window in windows[len(self.done) :]:
            if stop():
                break
            try:
                held = store.windows.get(window.key)
                if held is None:
                    found.trouble = f"window {window.number} is gone from the store"
                else:
                    self._take(found, held)
            except (SimflowError, OSError, KeyError, ValueError) as error:
                found.trouble = str(error)
            self.done.append(window.key)
        found.windows = len(self.done)
        found.said = list(reversed(found.said[-SAID:]))
        _beliefs(found, self._edges)
        self.story = found
        return found

    def _take(self, found: Story, held: Any) -> None:
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        agent = found.agent
        table = held.table("edges")
        for row in table.filter(pc.equal(table["of"], agent)).to_pylist():
            known = self._edges.get(row["edge"])
            if known is None or known["version"] < row["version"]:
                self._edges[row["edge"]] = row
        episodes = held.table("episodes", ["tick", "actor", "kind", "sentence"])
        own = episodes.filter(pc.equal(episodes["actor"], agent))
        found.said += [(r["tick"], r["kind"], r["sentence"]) for r in own.to_pylist()]
        states = held.table("personas", ["agent", "tick", "text"])
        for row in states.filter(pc.equal(states["agent"], agent)).to_pylist():
            if row["tick"] >= found.state_tick:
                found.state, found.state_tick = row["text"], row["tick"]
        readers = held.table("exposures", ["reader"])
        found.shown += pc.sum(pc.equal(readers["reader"], agent)).as_py() or 0


def _beliefs(found: Story, edges: dict[int, dict[str, Any]]) -> None:
    for row in sorted(edges.values(), key=lambda r: (r["valid_from"], r["version"])):
        if row["on_topic"] is not None and row["on_agent"] is None:
            found.opinions.setdefault(row["on_topic"], []).append((row["valid_from"], row["value"]))
            if row["valid_to"] is None and row["last_seen"] > row["valid_from"]:
                found.opinions[row["on_topic"]].append((row["last_seen"], row["value"]))
        if row["valid_to"] is None:
            found.relations.append(
                Relation(
                    row["edge"],
                    row["kind"],
                    row["on_agent"],
                    row["on_topic"],
                    row["about"],
                    row["value"],
                    row["count"],
                    row["valid_from"],
                    row["last_seen"],
                )
            )
    found.relations.sort(key=lambda r: (r.on_topic is None, r.on_topic or "", -abs(r.value)))
