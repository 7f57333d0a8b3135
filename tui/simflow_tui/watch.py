"""What the ledger says, made safe to show: half-written, deleted, silent and older runs included. Read-only, no Textual in here."""

from __future__ import annotations

import dataclasses
import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.errors import SimflowError
from simflow.runs import CheckRecord, Progress, RunRecord, is_remote, list_runs
from simflow.runs.ledger import STALE_AFTER
from simflow_tui.committed import Committed, WindowsFile

Clock = Callable[[], float]

FOLLOWED = 3
"""Runs whose windows are followed at a time: the selected one and what it is compared with."""

QUEUE = 120
"""Windows whose extraction queue is shown."""

STATES: dict[str, tuple[str, str]] = {
    "running": ("●", "good"),
    "stopping": ("◐", "warn"),
    "silent": ("◌", "warn"),
    "starting": ("○", "dim"),
    "done": ("✓", "name"),
    "failed": ("✗", "bad"),
    "stopped": ("■", "accent"),
    "unknown": ("?", "warn"),
    "gone": ("×", "gone"),
}
"""State -> (sign, tone), in the order in which an operator should look at them."""

NEAR = 0.8
"""Share of a limit from which a run is said to be near it."""


@dataclass(frozen=True, slots=True)
class RunView:
    """One run at one moment, complete whatever its files look like. Ages and times in seconds; `project` is its state folder."""

    record: RunRecord
    project: Path
    progress: Progress
    about: Mapping[str, Any] = field(default_factory=dict)
    state: str = "unknown"
    age: float = 0.0
    elapsed: float = 0.0

    @property
    def id(self) -> str:
        """`<scenario>/<time>-<cell>`."""
        return self.record.id

    @property
    def key(self) -> str:
        """Unique over projects."""
        return str(self.record.path)

    @property
    def cell(self) -> str:
        """The cell's name: what follows the time in the folder's name."""
        parts = self.record.path.name.split("-", 2)
        return parts[2] if len(parts) == 3 and parts[0].isdigit() and parts[1].isdigit() else self.record.path.name

    @property
    def remote(self) -> bool:
        """Whether its state is on an object store: it is shown, and nothing is asked of it from here."""
        return is_remote(self.record.path)

    @property
    def fraction(self) -> float:
        """Share of the ticks that are done, 0..1."""
        p = self.progress
        return max(0.0, min(1.0, p.tick / p.ticks)) if p.ticks > 0 else 0.0

    @property
    def live(self) -> bool:
        """Whether a process seems to be at work on it."""
        return self.state in {"running", "stopping"}

    @property
    def limits(self) -> Mapping[str, float]:
        """The limits that the scenario sets: tokens, cost, hours; those that are given."""
        cell = self.about.get("cell")
        given = cell.get("limits") if isinstance(cell, Mapping) else None
        found = given if isinstance(given, Mapping) else {}
        return {str(k): float(v) for k, v in found.items() if isinstance(v, int | float) and v > 0}

    def used(self) -> dict[str, tuple[float, float]]:
        """What is used of each limit, as (used, limit)."""
        now = {"tokens": float(self.progress.tokens), "cost": self.progress.cost, "hours": self.elapsed / 3600}
        return {k: (now[k], top) for k, top in self.limits.items() if k in now}

    @property
    def health(self) -> tuple[str, str]:
        """One or two words on how it is, and their tone."""
        over = [(k, u / top) for k, (u, top) in self.used().items()]
        match self.state:
            case "failed":
                return "failed", "bad"
            case "silent":
                return f"silent {_age(self.age)}", "warn"
            case "unknown":
                return "unreadable", "warn"
            case "gone":
                return "deleted", "gone"
            case _ if any(share >= 1 for _, share in over):
                return f"over {max(over, key=_second)[0]}", "bad"
            case _ if any(share >= NEAR for _, share in over):
                return f"near {max(over, key=_second)[0]}", "warn"
            case "running" | "stopping":
                return "healthy", "good"
            case _:
                return "", "dim"


def _second(pair: tuple[str, float]) -> float:
    return pair[1]


def _age(seconds: float) -> str:
    return f"{int(seconds)}s" if seconds < 120 else f"{int(seconds // 60)}m" if seconds < 7200 else f"{int(seconds // 3600)}h"


class Watch:
    """Reads runs again and again; files that have not changed since are not read twice."""

    def __init__(self, homes: Sequence[Path], clock: Clock = time.time) -> None:
        self.homes = tuple(homes)
        self.clock = clock
        self._kept: dict[tuple[str, str], tuple[tuple[int, int], Any]] = {}
        self._files: dict[str, WindowsFile] = {}
        self._queue: dict[str, float] = {}
        self._lock = threading.Lock()

    def runs(self) -> list[RunView]:
        """All runs of all projects: those at work first, then the newest. A folder that vanishes meanwhile is left out.

        Raises RunFailed where an object store does not answer.
        """
        views = [self.view(record, home) for home in self.homes for record in list_runs(home)]
        if len(self._kept) > 3 * len(views) + 16:  # what was known of runs that are gone
            there = {view.key for view in views}
            self._kept = {key: value for key, value in self._kept.items() if key[0] in there}
        return sorted(sorted(views, key=lambda v: (v.record.path.name, v.id), reverse=True), key=lambda v: not v.live)

    def view(self, record: RunRecord, project: Path) -> RunView:
        """One run as it is now."""
        progress = self._read(record.path, "progress.json", lambda: clean(record.progress()))
        about = self._read(record.path, "run.yaml", record.about) or {}
        now = self.clock()
        if progress is None:
            known = "starting" if not (record.path / "progress.json").exists() else "unknown"
            state = known if record.path.is_dir() else "gone"
            return RunView(record, project, Progress("running", 0, 0, 0, 0), about, state)
        age = max(0.0, now - progress.heartbeat) if progress.heartbeat else 0.0
        state = progress.state if progress.state in STATES else "unknown"
        if state == "running":
            state = "silent" if age > STALE_AFTER else "stopping" if record.stop_requested else "running"
        end = now if state in {"running", "stopping"} else progress.heartbeat
        elapsed = max(0.0, end - progress.started) if progress.started else 0.0
        return RunView(record, project, progress, about, state, age, elapsed)

    def windows(self, record: RunRecord) -> Committed:
        """The committed windows; of a run that is asked for again only those that are new are read."""
        with self._lock:
            file = self._files.pop(str(record.path), None) or WindowsFile(record.path / "windows.json")
            self._files[str(record.path)] = file
            while len(self._files) > FOLLOWED:
                del self._files[next(iter(self._files))]
            return file.poll()

    def checks(self, record: RunRecord) -> tuple[CheckRecord, ...]:
        """What checks have found, with every field of its own type."""
        found = self._read(record.path, "checks.json", record.checks) or ()
        return tuple(
            dataclasses.replace(c, check=str(c.check), words=str(c.words), windows=int(_finite(c.windows) or 0), failed=_wholes(c.failed))
            for c in found
        )

    def queue(self, project: Path, windows: Committed) -> tuple[float, ...]:
        """Episodes that waited for extraction at the end of each of the last windows; those without a manifest are left out."""
        newest = windows.recent[-QUEUE:]
        known = {w.key: self._queue.get(w.key) for w in newest}
        for key in (key for key, value in known.items() if value is None):
            folder = project / "windows" / key[:2] / key
            try:
                manifest = _manifest(folder)
            except (OSError, ValueError, SimflowError):
                continue
            waiting = manifest.get("queue") if isinstance(manifest, dict) else None
            known[key] = float(waiting) if isinstance(waiting, int | float) else math.nan
        self._queue = {key: value for key, value in known.items() if value is not None}
        return tuple(value for value in self._queue.values() if value == value)  # noqa: PLR0124 - NaN: it does not say

    def _read(self, folder: Path, name: str, read: Callable[[], Any]) -> Any:
        path = folder / name
        try:
            seen = path.stat()
        except (OSError, SimflowError):
            self._kept.pop((str(folder), name), None)
            return None
        stamp = (seen.st_mtime_ns, seen.st_size)
        kept = self._kept.get((str(folder), name))
        if kept and kept[0] == stamp:
            return kept[1]
        try:
            value = read()
        except (OSError, ValueError, SimflowError):
            value = None
        self._kept[str(folder), name] = (stamp, value)
        return value


def clean(progress: Progress | None) -> Progress | None:
    """The same progress with every field of its own type, whatever wrote it; None if it says nothing."""
    if progress is None:
        return None
    changes: dict[str, Any] = {}
    for spec in dataclasses.fields(Progress):
        value = getattr(progress, spec.name)
        if spec.name in {"state", "stage", "reason"}:
            changes[spec.name] = "" if value is None else str(value)
        elif spec.name == "eta":
            changes[spec.name] = _finite(value)
        else:
            whole = _finite(value) or 0.0
            changes[spec.name] = whole if spec.name in {"cost", "rate", "started", "heartbeat"} else int(whole)
    return dataclasses.replace(progress, **changes)


def _manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text("utf-8"))


def _wholes(values: object) -> tuple[int, ...]:
    return tuple(v for v in values if isinstance(v, int)) if isinstance(values, list | tuple) else ()


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


class LogTail:
    """The end of a log.jsonl, followed by offset: a week of log costs no more than its newest lines."""

    REACH = 256 * 1024

    def __init__(self, path: Path, keep: int = 500) -> None:
        self.path = path
        self.lines: deque[dict[str, Any]] = deque(maxlen=keep)
        self.read = 0
        self._offset = -1
        self._rest = b""
        self._torn = False

    def poll(self) -> bool:
        """Take in what was appended; True if there was something new. A file that shrank is read anew."""
        try:
            size = self.path.stat().st_size
            if self._offset < 0 or size < self._offset:
                self.lines.clear()
                self._offset, self._rest = max(0, size - self.REACH), b""
                self._torn = self._offset > 0
            if size == self._offset:
                return False
            if size - self._offset > self.REACH:  # a flood: only its end is read
                self.lines.clear()
                self._offset, self._rest, self._torn = size - self.REACH, b"", True
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = self._rest + file.read(size - self._offset)
        except (OSError, SimflowError):
            return False
        self._offset = size
        *whole, self._rest = data.split(b"\n")
        if len(self._rest) > self.REACH:  # no line is that long
            self._rest, self._torn = b"", True
        if self._torn and whole:  # we began in the middle of a line
            whole, self._torn = whole[1:], False
        added = [parsed for parsed in map(_line, whole) if parsed is not None]
        self.lines.extend(added)
        self.read += len(added)
        return bool(added)


def _line(raw: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(raw)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
