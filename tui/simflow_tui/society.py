"""What a run has written, for the screens: its newest episodes, who is who, how stances moved. Bounded, however long the run.

Everything here runs in worker threads; pyarrow and the store are imported when first needed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.errors import SimflowError
from simflow.runs import RunRecord
from simflow_tui.committed import Committed, Place

KEEP = 3000
"""Episodes that are kept; older ones are in the Parquet files."""

POINTS = 2048
"""Points of a stance's curve; a terminal has fewer columns."""

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
    """Mean stance by (topic, persona) at the end of windows, as the memory sees it: opinions in force, not the world's truth.

    Of a run of more than `POINTS` windows every second is kept, of twice as many every fourth, and so on, and always the newest.
    """

    ticks: list[int] = field(default_factory=list)
    means: dict[tuple[str, str], list[float | None]] = field(default_factory=dict)
    held: dict[tuple[int, str], float] = field(default_factory=dict)
    every: int = 1
    _passed: int = 0

    def append(self, tick: int, means: Mapping[tuple[str, str], float]) -> None:
        """The means at the end of the next window."""
        if self.ticks and self._passed % self.every:  # the newest stood in for the next that is kept
            self.ticks.pop()
            for line in self.means.values():
                line.pop()
        self._passed += 1
        for key in means:
            self.means.setdefault(key, [None] * len(self.ticks))
        self.ticks.append(tick)
        for key, line in self.means.items():
            line.append(means.get(key))
        if len(self.ticks) > POINTS:
            self.every *= 2
            del self.ticks[:-1:2]
            for line in self.means.values():
                del line[:-1:2]

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
        self.done = 0
        self.version = 0
        self._origin: int | None = None
        self._lock = threading.Lock()
        self._counted: deque[str] = deque(maxlen=64)

    def behind(self, windows: Committed) -> bool:
        """Whether windows are committed that have not been taken in."""
        return (self._origin, self.done) != (windows.origin, windows.total)

    def advance(self, windows: Committed, *, most: int | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Take in windows that were committed since the last call; True if there were any. A vanished window is told in `trouble`.

        most: windows at a time; of a long run that is opened late the rest is taken in by later calls.
        """
        with self._lock:
            if self._origin != windows.origin or self.done > windows.total:
                self._forget(windows.origin)
            if self.done == windows.total:
                return False
            from simflow.store import Store  # noqa: PLC0415 - costs 0.3 CPU seconds: only where data are shown

            held = Store(self.home).windows
            back, room = windows.total, self.episodes.maxlen or KEEP
            while back > self.done and room > 0:  # of a long run that is opened late, only the newest windows' episodes are read
                back -= 1
                room -= windows.places[back].episodes
            until = windows.total if most is None else min(windows.total, self.done + most)
            for place in (windows.places[i] for i in range(self.done, until)):
                if stop():
                    break
                try:
                    self._take(held.get(place.key), place, episodes=self.done >= back)
                    self.trouble = ""
                except (SimflowError, OSError, KeyError, ValueError) as error:
                    self.trouble = str(error)
                self.done += 1
                self.version += 1
            return True

    def _forget(self, origin: int) -> None:
        self.agents.clear()
        self.episodes.clear()
        self.seen.clear()
        self.stances = Stances()
        self.done, self._origin = 0, origin
        self.version += 1
        self._counted.clear()

    def _take(self, window: Any, place: Place, *, episodes: bool) -> None:
        if window is None:
            message = f"window {place.number} is gone from the store"
            raise FileNotFoundError(message)
        if window.rows.get("agents", 1):
            for row in window.table("agents", ["agent", "id", "name", "persona", "is_voice", "about", "traits"]).to_pylist():
                words = {k: row[k] or "" for k in ("id", "name", "persona", "about", "traits")}
                self.agents[row["agent"]] = Agent(row["agent"], is_voice=row["is_voice"], **words)
        if episodes:
            table = window.table("episodes", EPISODE_COLUMNS)
            table = table.slice(max(0, table.num_rows - (self.episodes.maxlen or KEEP)))
            self.episodes.extend(map(Episode, *(table.column(name).to_pylist() for name in EPISODE_COLUMNS)))
        self._stance(window.table("edges", EDGE_COLUMNS), place.stop)

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
        self.stances.append(tick, {key: sum(values) / len(values) for key, values in sums.items()})

    def count_exposures(self, windows: Committed, last: int = 4) -> None:
        """How often each kept episode was shown in the last `last` windows that have not been counted yet, into `seen`."""
        import numpy as np  # noqa: PLC0415 - as above

        from simflow.store import Store  # noqa: PLC0415

        with self._lock:
            store = Store(self.home)
            for record in windows.recent[-last:]:
                if record.key in self._counted:
                    continue
                self._counted.append(record.key)
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
                self.version += 1
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


def newest(home: Path, windows: Committed, count: int = 12) -> list[tuple[int, str, str]]:
    """(tick, kind, sentence) of the newest committed episodes with words, newest first; empty while nothing can be read."""
    from simflow.store import Store  # noqa: PLC0415 - as above

    store = Store(home)
    found: list[tuple[int, str, str]] = []
    for window in reversed(windows.recent[-3:]):
        try:
            held = store.windows.get(window.key)
            table = held.table("episodes", ["tick", "kind", "sentence", "text"]) if held else None
        except (SimflowError, OSError, ValueError):
            table = None
        if table is None:
            continue
        said = table.filter(table["text"].is_valid())
        tail = said.slice(max(0, said.num_rows - count)).to_pylist()
        found += [(row["tick"], row["kind"], row["sentence"]) for row in reversed(tail) if row["text"]]
        if len(found) >= count:
            break
    return found[:count]
