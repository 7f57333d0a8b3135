"""A run's folder under `.simflow/runs/`: what it is, how far it is, what happened. Written by `simflow.run`, read by everybody.

runs/<scenario>/<time>-<cell>/
run.yaml        what is being run: resolved scenario, seed, ids, versions       written once
progress.json   state, window, tick, rate, heartbeat                            replaced about twice a second
log.jsonl       one JSON object a line: time, level, stage, message, fields     appended
windows.json    the committed windows with their counts                         replaced at each commit
checks.json     each check: windows judged, where it failed, in which words     replaced where windows are judged
"""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from simflow.errors import NotFound
from simflow.plan import slug
from simflow.runs.place import is_remote, place

T = TypeVar("T")
State = Literal["running", "done", "failed", "stopped"]
STALE_AFTER = 15.0
"""Seconds without a heartbeat after which a running run counts as dead."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. Times are seconds since the epoch; `rate` is ticks a second over the run; `eta` seconds, None if unknown."""

    state: State
    window: int
    windows: int
    tick: int
    ticks: int
    stage: str = ""
    episodes: int = 0
    edges: int = 0
    tokens: int = 0
    cost: float = 0.0
    queue: int = 0
    reused: int = 0
    rate: float = 0.0
    eta: float | None = None
    started: float = 0.0
    heartbeat: float = 0.0
    pid: int = 0
    reason: str = ""

    @property
    def stale(self) -> bool:
        """Whether the process that wrote this has fallen silent while running."""
        return self.state == "running" and time.time() - self.heartbeat > STALE_AFTER


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """One committed window: `number`, content `key`, ticks [start, stop), row counts by table, seconds by stage, reused or computed."""

    number: int
    key: str
    start: int
    stop: int
    rows: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    reused: bool = False
    committed: float = 0.0


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """What a check has found so far: `windows` up to the newest judged one, the last ones that `failed`, its newest `words`."""

    check: str
    windows: int = 0
    failed: Sequence[int] = ()
    words: str = ""
    blocking: bool = False

    @property
    def own(self) -> bool:
        """Whether it is the scenario's (`checks:`, `patterns:`), which speaks of the end of a run; the others speak of each window's data."""
        return self.check.startswith(("check_", "pattern_"))

    @property
    def found(self) -> str:
        """What a person is told: the words, and of a check of each window those where it failed."""
        if self.own or not self.failed:
            return self.words
        return f"window{'' if len(self.failed) == 1 else 's'} {', '.join(map(str, self.failed))}: {self.words}"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as the ledger knows it. `id` is `<scenario>/<time>-<cell>`; `path` its folder; `about` the content of run.yaml."""

    id: str
    path: Path

    @property
    def scenario(self) -> str:
        """The scenario's name, as the folder has it."""
        return self.id.split("/", 1)[0]

    @property
    def cell(self) -> str:
        """The name of its cell: the folder's without the time."""
        return self.path.name.split("-", 2)[-1]

    def about(self) -> dict[str, Any]:
        """Content of run.yaml; empty if it is missing or half-written."""
        try:
            loaded = yaml.load((self.path / "run.yaml").read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
        except (OSError, yaml.YAMLError, UnicodeDecodeError):
            return {}
        return loaded if isinstance(loaded, dict) else {}

    def progress(self) -> Progress | None:
        """The newest progress; None if there is none yet or it cannot be read."""
        return _record(Progress, _json(self.path / "progress.json"))

    def windows(self) -> tuple[WindowRecord, ...]:
        """The committed windows, in order."""
        rows = _json(self.path / "windows.json")
        records = [_record(WindowRecord, row) for row in rows] if isinstance(rows, list) else []
        return tuple(r for r in records if r is not None)

    def checks(self) -> tuple[CheckRecord, ...]:
        """The checks that have judged windows, in order; none where nobody has judged."""
        rows = _json(self.path / "checks.json")
        records = [_record(CheckRecord, row) for row in rows] if isinstance(rows, list) else []
        return tuple(r for r in records if r is not None)

    def told(self) -> tuple[CheckRecord, ...]:
        """The checks that a report names: the scenario's own, and others where they failed."""
        return tuple(c for c in self.checks() if c.own or c.failed)

    def log(self, *, last: int | None = None) -> list[dict[str, Any]]:
        """Lines of log.jsonl, the last `last` of them; a half-written last line is left out."""
        try:
            lines = (self.path / "log.jsonl").read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return []
        return list(_lines(lines[-last:] if last else lines))

    @property
    def stop_requested(self) -> bool:
        """Whether somebody asked this run to stop at its next window."""
        return (self.path / "stop").exists()

    def request_stop(self) -> None:
        """Ask the run to stop at its next window boundary."""
        (self.path / "stop").touch()


class Ledger:
    """Writes one run's folder. Every file but the log is replaced whole, so that a reader never sees half of one."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record

    def begin(self, about: Mapping[str, Any]) -> None:
        """Write run.yaml and take back an earlier request to stop."""
        self.record.path.mkdir(parents=True, exist_ok=True)
        (self.record.path / "stop").unlink(missing_ok=True)
        self.describe(about)

    def describe(self, about: Mapping[str, Any]) -> None:
        """Write run.yaml."""
        replace(self.record.path / "run.yaml", yaml.safe_dump(dict(about), sort_keys=False, allow_unicode=True))

    def progress(self, progress: Progress) -> None:
        """Replace progress.json."""
        replace(self.record.path / "progress.json", json.dumps(dataclasses.asdict(progress)))

    def interrupted(self, reason: str, *, failed: bool = False) -> None:
        """Say that this process's work on the run ended between two windows, where nobody else would have said so."""
        progress = self.record.progress()
        if progress and progress.state == "running" and progress.pid == os.getpid():
            self.progress(dataclasses.replace(progress, state="failed" if failed else "stopped", reason=reason, heartbeat=time.time()))
            self.log("error" if failed else "warning", "run", reason)

    def windows(self, windows: tuple[WindowRecord, ...]) -> None:
        """Replace windows.json."""
        replace(self.record.path / "windows.json", json.dumps([dataclasses.asdict(w) for w in windows], indent=1))

    def judged(self, number: int, verdicts: Iterable[tuple[str, bool, str, bool]]) -> None:
        """Take in what checks say of a window, as (check, whether it holds, words, whether it blocks), and replace checks.json."""
        verdicts = list(verdicts)
        judged = {check for check, *_ in verdicts}
        ends = any(CheckRecord(check).own for check in judged)
        # A scenario's own checks are all judged together, at the end: others of that kind have left the scenario.
        known = {r.check: r for r in self.record.checks() if r.check in judged or not (r.own and ends)}
        for check, holds, words, blocking in verdicts:
            before = known.get(check) or CheckRecord(check)
            others = [] if before.own else [n for n in before.failed if n != number]  # the end of a run may have moved
            failed = others if holds else [*others, number]
            said = words if not holds or not failed else before.words
            known[check] = CheckRecord(check, max(before.windows, number + 1), tuple(failed[-20:]), said, blocking)
        replace(self.record.path / "checks.json", json.dumps([dataclasses.asdict(record) for record in known.values()], indent=1))

    def log(self, level: Literal["debug", "info", "warning", "error"], stage: str, message: str, **fields: object) -> None:
        """Append one line to log.jsonl."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, "stage": stage, "message": message, **fields}
        written = json.dumps(line, ensure_ascii=False, default=str)
        path = self.record.path / "log.jsonl"
        if is_remote(path):  # objects cannot be appended to; a window writes a handful of lines
            before = path.read_text("utf-8") if path.exists() else ""
            path.write_text(f"{before}{written}\n", "utf-8")
            return
        append(path, written)


def home(start: Path | None = None) -> Path:
    """Where the project's state is: SIMFLOW_HOME (a folder, or `s3://bucket/prefix`), else its `.simflow` folder.

    That is the nearest one upwards, else the one that belongs at the project's root. The root is the nearest folder upwards with `scenarios/` in it, or `start` where there is none.
    """
    if given := os.environ.get("SIMFLOW_HOME"):
        return place(given)
    here = (start or Path.cwd()).absolute()
    upwards = (here, *here.parents)
    for mark in (".simflow", "scenarios"):
        for folder in upwards:
            if (folder / mark).is_dir():
                return folder / ".simflow"
    return here / ".simflow"


def list_runs(root: Path, scenario: str | None = None) -> list[RunRecord]:
    """Runs under `root` (a `.simflow` folder), newest first; folders that are no runs are passed over."""
    found = [
        RunRecord(f"{folder.parent.name}/{folder.name}", folder)
        for folder in _folders(root / "runs")
        if scenario is None or folder.parent.name == scenario
    ]
    return sorted(found, key=lambda r: (r.path.name, r.id), reverse=True)


def _folders(runs: Path) -> list[Path]:
    # A folder that holds nothing but the lock is that of a run that never began.
    if not is_remote(runs):
        return [folder for folder in runs.glob("*/*") if folder.is_dir() and [f.name for f in folder.iterdir()] != ["lock"]]
    # One listing, whatever the number of runs: asking for each folder would be a request each.
    found: set[Path] = {file.parent for file in runs.find() if file.name != "lock"}  # type: ignore[attr-defined]
    return sorted(folder for folder in found if folder.parent.parent == runs)


def find_run(root: Path, name: str) -> RunRecord:
    """The run that `name` means: a full id, a folder, a scenario or a cell (its newest run), `latest`, or a part of an id of one cell only.

    Raises NotFound with the known runs in its hint.
    """
    runs = list_runs(root)
    if name in {"latest", "last"} and runs:
        return runs[0]
    for run in runs:
        if name in {run.id, str(run.path)}:
            return run
    if of_scenario := [r for r in runs if r.scenario == name]:
        return of_scenario[0]
    if of_cell := [r for r in runs if name in {r.cell, f"{r.scenario}/{r.cell}"}]:
        return of_cell[0]
    matching = [r for r in runs if name in r.id or name in f"{r.scenario}/{r.cell}"]
    if len({(r.scenario, r.cell) for r in matching}) == 1:
        return matching[0]
    known = ", ".join(r.id for r in runs[:5]) or "none yet; `simflow run SCENARIO` makes one"
    what = "is more than one run" if matching else "is no run"
    raise NotFound(f"'{name}' {what} under {root / 'runs'}", hint=f"known runs: {known}")


def find_arm(root: Path, name: str) -> list[RunRecord]:
    """The runs that `name` means in a comparison: for `SCENARIO/VARIANT` the newest run of each of its cells, else one run.

    Raises NotFound with the known runs in its hint.
    """
    scenario, _, variant = name.partition("/")
    newest: dict[str, RunRecord] = {}
    for run in list_runs(root, scenario) if variant else []:
        if run.cell not in newest:
            theirs = str(run.about().get("variant"))
            if variant in {theirs, slug(theirs)}:
                newest[run.cell] = run
    return list(newest.values()) or [find_run(root, name)]


def replace(path: Path, content: str | bytes) -> None:
    """Write `content` beside `path` and rename it over: readers see the old or the new file, never half of one, whoever else writes it."""
    raw = content.encode() if isinstance(content, str) else content
    if is_remote(path):  # an object appears whole or not at all
        path.write_bytes(raw)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        beside.write_bytes(raw)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)  # half of it, on a disk that is full
        raise


def append(path: Path, line: str) -> None:
    """Add a line to a file, whose folder must be there. What a crash cut before it stays a line of its own."""
    with path.open("ab+") as out:
        if out.tell():
            out.seek(-1, os.SEEK_END)
            whole = out.read(1) == b"\n"
        else:
            whole = True
        out.write(f"{'' if whole else chr(10)}{line}\n".encode())


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _lines(lines: list[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            parsed = json.loads(line)
        except ValueError:
            continue
        if isinstance(parsed, dict):
            yield parsed


def _record(kind: type[T], row: Any) -> T | None:
    # Keys of a newer or older version are passed over, so that any ledger can be read.
    if not isinstance(row, dict):
        return None
    known = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{k: v for k, v in row.items() if k in known})
    except TypeError:
        return None
