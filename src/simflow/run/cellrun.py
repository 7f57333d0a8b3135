"""One cell, window by window: state, world, vectors, claims, personas, commit. Everything between is thrown away on failure."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from simflow import __version__
from simflow.errors import RunFailed, SimflowError, Stopped
from simflow.measures.record import measured
from simflow.plan import Cell, canonical, window_key
from simflow.run.figures import figures
from simflow.run.heartbeat import Heartbeat, Listener
from simflow.run.indexing import add_to_index
from simflow.run.outputs import write_outputs
from simflow.run.parts import Parts
from simflow.run.window import compute, spending, spent, timed
from simflow.runs import Ledger, Progress, RunRecord, State, WindowRecord, list_runs, workplace
from simflow.runs.lock import Busy, Hold, held
from simflow.store import RunData, Store, Window

STAMP = "%Y%m%d-%H%M%S"
STAGES = ("world", "vectors", "edges", "personas", "snapshot")


@dataclass(frozen=True, slots=True)
class WindowResult:
    """One window of a run, committed. `metadata`: figures with stable names, see `simflow.run.figures`."""

    record: WindowRecord
    metadata: Mapping[str, float | int | str]

    @property
    def key(self) -> str:
        """The content address."""
        return self.record.key

    @property
    def reused(self) -> bool:
        """Whether nothing had to be computed."""
        return self.record.reused


def ids(cell: Cell) -> dict[str, str]:
    """Versions of the parts that compute a cell's windows, by part."""
    return Parts(cell).ids()


def window_keys(cell: Cell, versions: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Content addresses of a cell's windows, in order, without computing any."""
    versions = ids(cell) if versions is None else versions
    keys: list[str] = []
    for number in range(len(cell.windows)):
        keys.append(window_key(cell, number, keys[-1] if keys else None, versions))
    return tuple(keys)


def keys_of(cells: Iterable[Cell]) -> dict[str, tuple[str, ...]]:
    """Content addresses of the windows of each cell, by its name. Parts that several cells have in common are made once: that costs most."""
    versions: dict[str, dict[str, str]] = {}
    keys: dict[str, tuple[str, ...]] = {}
    for cell in cells:
        shapes = (cell.models, cell.language.code, cell.extract, cell.topics, *((p.engine, p.model) for p in cell.personas))
        if (parts := repr(shapes)) not in versions:
            versions[parts] = ids(cell)
        keys[cell.name] = window_keys(cell, versions[parts])
    return keys


class CellRun:
    """A run of one cell in one project. Windows are computed in order; what is committed stays committed.

    path: the scenario file, for the record. listener: told of progress.
    """

    def __init__(self, path: str | Path, cell: Cell, home: Path, *, listener: Listener | None = None) -> None:
        self.cell = cell
        self.store = Store(home, keep=True)
        self.parts = Parts(cell, workplace(home))
        self.ids = self.parts.ids()
        self.keys = window_keys(cell, self.ids)
        self.listener = listener
        self.path = str(path)
        self._hold: Hold | None = None
        self.record = self._find(home)
        self.ledger = Ledger(self.record)

    @property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """(start, stop) of each window, in ticks."""
        return self.cell.windows

    @property
    def committed(self) -> tuple[WindowRecord, ...]:
        """The windows that this run has, in order."""
        return self.record.windows()

    def data(self) -> RunData:
        """What is committed, for reading."""
        return self.store.open(self.record)

    def window(self, number: int) -> WindowResult:
        """Compute one window, or take it from the store, and commit it. The windows before it must be committed.

        Raises Stopped if the run was asked to stop, RunFailed if a part failed.
        """
        if self.store.windows.get(self.keys[number]) is None:
            self.parts.ready()  # before the lock makes a folder: what cannot begin leaves no run behind
        with self._locked():
            self._describe()
            result = self._window(number)
            if number == len(self.keys) - 1 and self.cell.outputs is not None:
                folder = write_outputs(self.data(), self.cell, self.path)
                self.ledger.log("info", "outputs", f"wrote {folder}")
            return result

    # ------------------------------------------------------------------------------------------------------------- the work

    def _window(self, number: int) -> WindowResult:
        done = self.committed
        later: tuple[WindowRecord, ...] = ()
        if number < len(done):
            if self.store.windows.get(done[number].key) is not None:
                return WindowResult(done[number], self._figures(number, done))
            # It was removed from the store, as damaged or to save room: compute it again in its place.
            done, later = done[:number], done[number + 1 :]
        if number > len(done):
            raise RunFailed(f"window {number} needs window {number - 1}, which is not committed", hint="run the windows in order")
        if not (self.record.path / "run.yaml").exists() or not done:
            self.ledger.begin(self._about())
        if self.record.stop_requested:
            (self.record.path / "stop").unlink(missing_ok=True)
            self._end("stopped", done, "asked to stop")
            raise Stopped(f"{self.record.id} was asked to stop before window {number}", hint="run the scenario again to go on from there")
        self._within_hours(number, done)
        start, stop = self.windows[number]
        self.ledger.log("info", "window", f"window {number} begins", window=number, start=start, stop=stop)
        with Heartbeat(self.ledger, self._progress("running", done, number), self.listener) as heart:
            try:
                result = self._commit(number, done, later, heart)
            except BaseException as error:
                interrupted = isinstance(error, KeyboardInterrupt | Stopped)
                reason = f"{type(error).__name__}: {error}"
                if interrupted:
                    reason = str(error) or "interrupted"  # a limit that is reached says which
                heart.tell(state="stopped" if interrupted else "failed", reason=reason)
                self.ledger.log("warning" if interrupted else "error", heart.now.stage, reason, window=number)
                if isinstance(error, SimflowError | KeyboardInterrupt) or not isinstance(error, Exception):
                    raise
                raise RunFailed(f"{self.record.id}, window {number}, stage {heart.now.stage}: {reason}") from error
            last = len(self.committed) == len(self.keys)
            heart.tell(**self._after(result, last=last))
        return result

    def _commit(self, number: int, done: tuple[WindowRecord, ...], later: tuple[WindowRecord, ...], heart: Heartbeat) -> WindowResult:
        seconds: dict[str, float] = {}
        window = self.store.windows.get(self.keys[number])
        reused = window is not None
        if window is None:
            window = self._compute(number, done, heart, seconds)
        if self._hold:
            self._hold.sure()
        with timed(seconds, "snapshot", heart):
            add_to_index(RunData(self.store, self.record, done), number, window, self.ids["embedder"])
        kinds = Counter(window.table("episodes", ["kind"]).column("kind").to_pylist())
        record = WindowRecord(
            number=number,
            key=window.key,
            start=int(window.manifest["start"]),
            stop=int(window.manifest["stop"]),
            rows=window.rows,
            seconds={k: round(v, 3) for k, v in seconds.items()},
            kinds=dict(sorted(kinds.items())),
            reused=reused,
            committed=time.time(),
        )
        began = time.perf_counter()
        measured(RunData(self.store, self.record, (*done, record)), number, self.cell)
        record = replace(record, seconds={**record.seconds, "measures": round(time.perf_counter() - began, 3)})
        windows = (*done, record)
        self.ledger.windows((*windows, *later))
        for name, count in dict(window.manifest.get("notes", {})).items():
            self.ledger.log("warning", "world", f"{name}: {count}", window=number)
        self.ledger.log(
            "info",
            "window",
            f"window {number} {'reused' if reused else 'committed'}",
            window=number,
            key=window.key[:12],
            seconds=record.seconds,
        )
        return WindowResult(record, self._figures(number, windows))

    def _compute(self, number: int, done: tuple[WindowRecord, ...], heart: Heartbeat, seconds: dict[str, float]) -> Window:
        start, stop = self.windows[number]
        before = spending(self.parts)
        draft = compute(self.cell, self.parts, RunData(self.store, self.record, done), number, heart, seconds)
        bill = spent(before, spending(self.parts))
        heart.tell(tokens=heart.now.tokens + bill["tokens"], cost=heart.now.cost + bill["cost"])
        with timed(seconds, "snapshot", heart):
            return self.store.windows.commit(
                self.keys[number],
                about={
                    "start": start,
                    "stop": stop,
                    "number": number,
                    "previous": self.keys[number - 1] if number else None,
                    "ids": self.ids,
                    "queue": draft.queue,
                    "notes": draft.notes,
                    **bill,
                },
                tables=draft.tables,
                vectors=draft.vectors,
                truth=draft.truth,
                state=draft.state,
            )

    # ----------------------------------------------------------------------------------------------------------- the record

    def _find(self, home: Path) -> RunRecord:
        # The newest run of this cell whose committed windows are the first of ours goes on; anything else is another run.
        scenario = Path(self.cell.scenario).name
        for record in list_runs(home, scenario):
            if not record.id.endswith(f"-{self.cell.name}") or record.about().get("cell", {}).get("variant") != self.cell.variant:
                continue
            have = tuple(w.key for w in record.windows())
            if have == self.keys[: len(have)] and record.about().get("ids") == self.ids:
                return record
        begun = datetime.now(UTC)
        with suppress(ValueError):  # somebody else's folder
            newest = datetime.strptime(next((r.path.name[:15] for r in list_runs(home, scenario)), ""), STAMP).replace(tzinfo=UTC)
            if begun < newest:  # the clock went back, and names say what came after what
                begun = newest + timedelta(seconds=1)
        while True:
            name = f"{scenario}/{begun:{STAMP}}-{self.cell.name}"
            if not (home / "runs" / name).exists():
                return RunRecord(name, home / "runs" / name)
            begun += timedelta(seconds=1)  # another run of this name began in the same second

    def _describe(self) -> None:
        # What does not shape windows (checks, limits, questions, words about the run) may have changed since the first were computed.
        about = self._about()
        if self.committed and self.record.about().get("cell") != about["cell"]:
            self.ledger.describe(about)

    def _about(self) -> dict[str, Any]:
        return {
            "scenario": self.cell.scenario,
            "file": self.path,
            "variant": self.cell.variant,
            "seed": self.cell.seed,
            "about": self.cell.about,
            "simflow": __version__,
            "ids": self.ids,
            "windows": len(self.keys),
            "ticks": self.cell.clock.ticks,
            "cell": canonical(self.cell),
        }

    def _progress(self, state: State, done: tuple[WindowRecord, ...], number: int) -> Progress:
        before = self.record.progress()
        return Progress(
            state=state,
            window=number,
            windows=len(self.keys),
            tick=done[-1].stop if done else 0,
            tokens=before.tokens if before and done else 0,
            cost=before.cost if before and done else 0.0,
            ticks=self.cell.clock.ticks,
            stage="world",
            episodes=sum(w.rows.get("episodes", 0) for w in done),
            edges=before.edges if before and done else 0,
            queue=before.queue if before and done else 0,
            reused=sum(w.reused for w in done),
            started=before.started if before and done else time.time(),
            rate=before.rate if before and done else 0.0,
            eta=before.eta if before and done else None,
        )

    def _after(self, result: WindowResult, *, last: bool) -> dict[str, Any]:
        windows = self.committed
        worked = [(w.stop - w.start, sum(w.seconds.values())) for w in windows if not w.reused]
        ticks, spent = sum(t for t, _ in worked), sum(s for _, s in worked)
        rate = ticks / spent if spent else 0.0
        left = self.cell.clock.ticks - result.record.stop
        return {
            "state": "done" if last else "running",
            "stage": "done" if last else "world",
            "window": result.record.number + 1,
            "tick": result.record.stop,
            "edges": int(result.metadata["edges_in_force"]),
            "queue": int(result.metadata["queue"]),
            "episodes": sum(w.rows.get("episodes", 0) for w in windows),
            "reused": sum(w.reused for w in windows),
            "rate": rate,
            "eta": 0.0 if last else (left / rate if rate else None),
        }

    def _within_hours(self, number: int, done: tuple[WindowRecord, ...]) -> None:
        hours, spent_hours = self.cell.limits.hours, sum(sum(w.seconds.values()) for w in done) / 3600
        if hours is not None and spent_hours > hours:
            self._end("stopped", done, f"the limit of {hours:g} hours is reached")
            raise Stopped(f"the limit of {hours:g} hours was reached before window {number}", hint="raise `limits.hours` and run again")

    def _end(self, state: State, done: tuple[WindowRecord, ...], reason: str) -> None:
        last = self._progress(state, done, len(done))
        self.ledger.progress(Progress(**{**_plain(last), "stage": "", "reason": reason, "heartbeat": time.time(), "pid": os.getpid()}))
        self.ledger.log("warning", "run", reason)

    def _figures(self, number: int, windows: tuple[WindowRecord, ...]) -> dict[str, float | int | str]:
        return figures(RunData(self.store, self.record, windows[: number + 1]))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with held(self.record.path / "lock", wait=False) as self._hold:
                yield
        except Busy:
            other = self.record.progress()
            who = f"process {other.pid}" if other else "another process"
            raise RunFailed(f"{self.record.id} is being computed by {who}", hint="watch it with `simflow tui`, or stop it first") from None


def _plain(progress: Progress) -> dict[str, Any]:
    return {name: getattr(progress, name) for name in Progress.__dataclass_fields__}


def open_cell(path: str | Path, cell: Cell, home: Path, *, listener: Listener | None = None) -> CellRun:
    """Open the run of a cell, to go on with it or to begin it. Nothing is written before its first window."""
    return CellRun(path, cell, home, listener=listener)
