"""What a run has written, for the screens: its newest episodes, who is who, how stances moved. Bounded, however long the run.

Everything here runs in worker threads; pyarrow and the store are imported when first needed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.errors import SimflowError
from simflow.runs import RunRecord, WindowRecord

KEEP = 3000
"""Episodes that are kept; older ones are in the Parquet files."""

EPISODE_COLUMNS = ["episode", "tick", "ordinal", "actor", "kind", "parent", "root", "target", "text", "event"]
EDGE_COLUMNS = ["of", "on_agent", "on_topic", "value", "valid_from", "valid_to", "version"]


@dataclass(frozen=True, slots=True)
class Agent:
    """A resident or voice. `agent` is its index, `persona` empty for voices and for actors of a replayed trace."""

    agent: int
    id: str
    name: str
    persona: str = ""
    is_voice: bool = False
    about: str = ""
    traits: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """One thing that happened; ids as in the episodes table."""

    episode: int
    tick: int
    ordinal: int
    actor: int
    kind: str
    parent: int | None = None
    root: int | None = None
    target: int | None = None
    text: str | None = None
    event: str | None = None


@dataclass
class Stances:
    """Mean stance by (topic, persona) at the end of each window, as the memory sees it: opinions in force, not the world's truth."""

    ticks: list[int] = field(default_factory=list)
    means: dict[tuple[str, str], list[float | None]] = field(default_factory=dict)
    held: dict[tuple[int, str], float] = field(default_factory=dict)

    def topics(self) -> list[str]:
        """Topics on which anybody has an opinion."""
        return list(dict.fromkeys(topic for topic, _ in self.means))


class Society:
    """One run's society, read window by window as they are committed."""

    def __init__(self, home: Path, record: RunRecord, keep: int = KEEP) -> None:
        self.home = home
        self.record = record
        self.agents: dict[int, Agent] = {}
        self.episodes: deque[Episode] = deque(maxlen=keep)
        self.seen: dict[int, int] = {}
        self.stances = Stances()
        self.trouble = ""
        self.done: list[str] = []
        self._lock = threading.Lock()
        self._counted: set[str] = set()

    def advance(self, windows: Sequence[WindowRecord], *, stop: Callable[[], bool] = lambda: False) -> bool:
        """Take in windows that were committed since the last call; True if there were any. A vanished window is told in `trouble`."""
        keys = [w.key for w in windows]
        with self._lock:
            if keys[: len(self.done)] != self.done:
                self._forget()
            new = windows[len(self.done) :]
            if not new:
                return False
            from simflow.store import Store  # noqa: PLC0415 - costs 0.3 CPU seconds: only where data are shown

            data = Store(self.home).open(self.record)
            back, room = len(new), self.episodes.maxlen or KEEP
            while back > 0 and room > 0:  # of a long run that is opened late, only the newest windows' episodes are read
                back -= 1
                room -= int(new[back].rows.get("episodes", 0))
            for place, record in enumerate(new):
                if stop():
                    break
                try:
                    self._take(data.store.windows.get(record.key), record, episodes=place >= back)
                    self.trouble = ""
                except (SimflowError, OSError, KeyError, ValueError) as error:
                    self.trouble = str(error)
                self.done.append(record.key)
            return True

    def _forget(self) -> None:
        self.agents.clear()
        self.episodes.clear()
        self.seen.clear()
        self.stances = Stances()
        self.done.clear()
        self._counted.clear()

    def _take(self, window: Any, record: WindowRecord, *, episodes: bool) -> None:
        if window is None:
            message = f"window {record.number} is gone from the store"
            raise FileNotFoundError(message)
        for row in window.table("agents", ["agent", "id", "name", "persona", "is_voice", "about", "traits"]).to_pylist():
            words = {k: row[k] or "" for k in ("id", "name", "persona", "about", "traits")}
            self.agents[row["agent"]] = Agent(row["agent"], is_voice=row["is_voice"], **words)
        if episodes:
            table = window.table("episodes", EPISODE_COLUMNS)
            self.episodes.extend(Episode(**row) for row in table.slice(max(0, table.num_rows - (self.episodes.maxlen or KEEP))).to_pylist())
        self._stance(window.table("edges", EDGE_COLUMNS), record.stop)

    def _stance(self, edges: Any, tick: int) -> None:
        columns = [edges.column(name).to_pylist() for name in EDGE_COLUMNS]
        held = self.stances.held
        for of, agent, topic, value, _, valid_to, _ in sorted(zip(*columns, strict=True), key=_order):
            if agent is None and topic is not None and valid_to is None:
                held[of, topic] = value
        sums: dict[tuple[str, str], list[float]] = {}
        for (of, topic), value in held.items():
            who = self.agents.get(of)
            sums.setdefault((topic, who.persona if who and who.persona else "others"), []).append(value)
        for key in sums:
            self.stances.means.setdefault(key, [None] * len(self.stances.ticks))
        self.stances.ticks.append(tick)
        for key, line in self.stances.means.items():
            values = sums.get(key)
            line.append(sum(values) / len(values) if values else None)

    def count_exposures(self, windows: Sequence[WindowRecord], last: int = 4) -> None:
        """How often each kept episode was shown in the last `last` windows that have not been counted yet, into `seen`."""
        import numpy as np  # noqa: PLC0415 - as above

        from simflow.store import Store  # noqa: PLC0415

        with self._lock:
            store = Store(self.home)
            for record in windows[-last:]:
                if record.key in self._counted:
                    continue
                self._counted.add(record.key)
                window = store.windows.get(record.key)
                if window is None:
                    continue
                kept = np.sort(np.fromiter((e.episode for e in self.episodes), np.int64, len(self.episodes)))
                shown = window.table("exposures", ["episode"]).column("episode").to_numpy()
                if not len(kept) or not len(shown):
                    continue
                place = np.minimum(np.searchsorted(kept, shown), len(kept) - 1)
                counts = np.bincount(place[kept[place] == shown], minlength=len(kept))
                for episode, count in zip(kept.tolist(), counts.tolist(), strict=True):
                    if count:
                        self.seen[episode] = self.seen.get(episode, 0) + count
            if len(self.seen) > 2 * (self.episodes.maxlen or KEEP):
                held = {e.episode for e in self.episodes}
                self.seen = {k: v for k, v in self.seen.items() if k in held}

    def who(self, agent: int | None) -> str:
        """The readable id of an agent, with `@`."""
        if agent is None:
            return ""
        known = self.agents.get(agent)
        return f"@{known.id}" if known else f"@{agent}"

    def find(self, name: str) -> Agent | None:
        """The agent that a readable id, an index or a unique beginning means."""
        name = name.strip().removeprefix("@")
        for agent in self.agents.values():
            if agent.id == name:
                return agent
        if name.isdigit() and int(name) in self.agents:
            return self.agents[int(name)]
        return only(a for a in self.agents.values() if name and a.id.startswith(name))


def only(items: Iterable[Agent]) -> Agent | None:
    """The one item, None if there are none or several."""
    found = list(items)
    return found[0] if len(found) == 1 else None


def _order(row: tuple[Any, ...]) -> tuple[int, int]:
    return row[4], row[6]


def newest(home: Path, windows: Sequence[WindowRecord], count: int = 12) -> list[tuple[int, str, str]]:
    """(tick, kind, sentence) of the newest committed episodes with words, newest first; empty while nothing can be read."""
    from simflow.store import Store  # noqa: PLC0415 - as above

    store = Store(home)
    found: list[tuple[int, str, str]] = []
    for window in reversed(windows[-3:]):
        try:
            held = store.windows.get(window.key)
            table = held.table("episodes", ["tick", "kind", "sentence", "text"]) if held else None
        except (SimflowError, OSError, ValueError):
            table = None
        if table is None:
            continue
        tail = table.slice(max(0, table.num_rows - 60 * count)).to_pylist()
        found += [(row["tick"], row["kind"], row["sentence"]) for row in reversed(tail) if row["text"]]
        if len(found) >= count:
            break
    return found[:count]
