"""A run's committed data, read-only: what everybody who asks about a run reads."""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from simflow.episode import TABLES, TRUTH
from simflow.errors import NotFound, RunFailed
from simflow.plan import Cell, revive
from simflow.runs import RunRecord, WindowRecord
from simflow.store.files import Files
from simflow.store.lance import Index
from simflow.store.measured import Measured
from simflow.store.windows import Window, Windows

KEPT = frozenset({"agents", "episodes", "claims", "edges", "personas"})
"""Tables of which every window needs all rows so far. Exposures, turns and vectors are many, and asked for by window or by column."""


class Store:
    """The state of one project: `root` is its `.simflow` folder, or a prefix of an object store. `work`: what can be made again.

    keep: for whoever computes window after window: what has been read of a window is kept in memory, so that the next one reads nothing twice.
    """

    def __init__(self, root: Path, *, keep: bool = False) -> None:
        self.root = root
        self.kept: dict[tuple[str, str], pa.Table] | None = {} if keep else None
        self.files = Files(root)
        self.work = self.files.work
        self.windows = Windows(self.files)
        self.measured = Measured(self.files)

    def open(self, record: RunRecord) -> RunData:
        """Read one run as it is now; windows that are committed later are not seen, so the answers do not move."""
        return RunData(self, record)

    def lance_path(self, run: str) -> str:
        """The folder of a run's LanceDB."""
        return self.files.url(f"lance/{run}")

    def drop_index(self, run: str) -> None:
        """Remove a run's index."""
        if self.files.local:
            shutil.rmtree(self.lance_path(run), ignore_errors=True)
        else:
            self.files.remove(f"lance/{run}")


class RunData:
    """One run at one moment. `windows`: the ledger's records of the committed windows when this was opened."""

    def __init__(self, store: Store, record: RunRecord, windows: tuple[WindowRecord, ...] | None = None) -> None:
        self.store = store
        self.record = record
        self.windows = record.windows() if windows is None else windows
        self._tables: dict[tuple[str, tuple[str, ...] | None, int], pa.Table] = {}

    @cached_property
    def cell(self) -> Cell:
        """The resolved cell that the run computes."""
        about = self.record.about()
        if "cell" not in about:
            raise NotFound(
                f"{self.record.path / 'run.yaml'} does not say what was run", hint="the run is from another version or was cut short"
            )
        return revive(about["cell"])

    @property
    def end(self) -> int:
        """The tick up to which the run is committed (excluded); 0 if nothing is."""
        return self.windows[-1].stop if self.windows else 0

    def window(self, number: int) -> Window:
        """One committed window. Raises RunFailed if its folder is gone."""
        record = self.windows[number]
        window = self.store.windows.get(record.key)
        if window is None:
            raise RunFailed(
                f"window {number} of {self.record.id} is gone from {self.store.files.full('windows')}",
                hint="run the scenario again: only missing windows are computed",
            )
        return window

    def until(self, tick: int | None) -> tuple[WindowRecord, ...]:
        """Windows that end at or before `tick`, all for None."""
        return tuple(w for w in self.windows if tick is None or w.stop <= tick)

    def paths(self, name: str) -> list[str]:
        """Parquet files of a table, one for each window, in order."""
        return [self.window(w.number).location(name) for w in self.windows]

    def table(self, name: str, *, columns: list[str] | None = None, until: int | None = None) -> pa.Table:
        """Rows of all committed windows in order, or of those that end at or before tick `until`. Read once, then kept."""
        windows = self.until(until)
        key = (name, tuple(columns) if columns else None, len(windows))
        if key not in self._tables:
            parts = [self._part(w, name, columns) for w in windows]
            self._tables[key] = pa.concat_tables(parts) if parts else _empty(name, columns)
        return self._tables[key]

    def _part(self, window: WindowRecord, name: str, columns: list[str] | None) -> pa.Table:
        kept = self.store.kept
        if kept is None or name not in KEPT:
            return self.window(window.number).table(name, columns)
        if (window.key, name) not in kept:
            kept[window.key, name] = self.window(window.number).table(name)
        whole = kept[window.key, name]
        return whole.select(columns) if columns else whole

    def fresh(self) -> tuple[pa.Table, pa.Table] | None:
        """Episodes and vectors of a window that is still being made; None for what is committed alone, as here."""
        return None

    def agents(self) -> pa.Table:
        """All agents known by the end of the run, by index."""
        table = self.table("agents")
        return table.sort_by("agent") if table.num_rows else table

    def truth(self, name: str) -> pa.Table:
        """What the engine knows and the pipeline may not. Only evaluation and measures may call this; a test looks."""
        if name not in TRUTH:
            raise NotFound(f"there is no truth table '{name}'", hint=f"there are {', '.join(TRUTH)}")
        parts = [w.table(f"truth/{name}") for w in map(self.window, range(len(self.windows))) if f"truth/{name}" in w.rows]
        return pa.concat_tables(parts) if parts else TRUTH[name].empty_table()

    def lance(self, window: int | None = None) -> Any:
        """Open the LanceDB table as of the end of a window (the last for None), read-only."""
        if not self.windows:
            raise NotFound(f"{self.record.id} has no committed window yet")
        index = Index(self.store.lance_path(self.record.id), str(self.record.about().get("ids", {}).get("embedder", "?")))
        return index.at(len(self.windows) - 1 if window is None else window)


def _empty(name: str, columns: list[str] | None) -> pa.Table:
    if name not in TABLES:
        return pa.table({c: pa.array([], pa.null()) for c in columns or ()})
    table = TABLES[name].empty_table()
    return table.select(columns) if columns else table
