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


def story(home: Path, windows: Sequence[WindowRecord], agent: int, *, stop: Callable[[], bool] = lambda: False) -> Story:
    """Read one agent's part of all committed windows."""
    import pyarrow.compute as pc  # noqa: PLC0415 - costs 0.3 CPU seconds: only where data are shown

    from simflow.store import Store  # noqa: PLC0415

    found, store = Story(agent, windows=len(windows)), Store(home)
    edges: dict[int, dict[str, Any]] = {}
    for window in windows:
        if stop():
            break
        try:
            held = store.windows.get(window.key)
            if held is None:
                found.trouble = f"window {window.number} is gone from the store"
                continue
            table = held.table("edges")
            for row in table.filter(pc.equal(table["of"], agent)).to_pylist():
                known = edges.get(row["edge"])
                if known is None or known["version"] < row["version"]:
                    edges[row["edge"]] = row
            episodes = held.table("episodes", ["tick", "actor", "kind", "sentence"])
            own = episodes.filter(pc.equal(episodes["actor"], agent))
            found.said = [*found.said, *((r["tick"], r["kind"], r["sentence"]) for r in own.to_pylist())][-SAID:]
            states = held.table("personas", ["agent", "tick", "text"])
            for row in states.filter(pc.equal(states["agent"], agent)).to_pylist():
                if row["tick"] >= found.state_tick:
                    found.state, found.state_tick = row["text"], row["tick"]
            readers = held.table("exposures", ["reader"])
            found.shown += pc.sum(pc.equal(readers["reader"], agent)).as_py() or 0
        except (SimflowError, OSError, KeyError, ValueError) as error:
            found.trouble = str(error)
    _beliefs(found, edges)
    found.said.reverse()
    return found


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
