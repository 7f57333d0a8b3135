"""The LanceDB table of a run: one row for each embedded episode, one tag for each snapshot. An index: the windows can rebuild it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from simflow.errors import RunFailed
from simflow.runs import is_remote
from simflow.runs.place import storage_options

os.environ.setdefault("LANCE_LOG", "error")

TABLE = "episodes"


def tag(window: int) -> str:
    """The name of the snapshot at the end of a window."""
    return f"window-{window:05d}"


class Index:
    """One run's table. `embedder` is stored with it; opening it with another one is refused, since their vectors do not mix."""

    def __init__(self, path: str, embedder: str) -> None:
        import lancedb  # noqa: PLC0415 - costs seconds of CPU, and most readers never search

        options: dict[str, str] = {}
        if is_remote(path):
            options = storage_options()
        else:
            Path(path).mkdir(parents=True, exist_ok=True)
        self.embedder = embedder
        self.db = lancedb.connect(path, storage_options=options or None)
        names = self.db.list_tables().tables
        self.table: Any = self.db.open_table(TABLE) if TABLE in names else None
        if self.table is not None and (theirs := self._embedder()) != embedder:
            raise RunFailed(
                f"the index was made with the embedder '{theirs}', not with '{embedder}'",
                hint="vectors of two embedders cannot be compared; `simflow doctor --rebuild-index RUN` makes the index anew from the windows",
            )

    def _embedder(self) -> str:
        metadata = self.table.schema.metadata or {}
        return str(metadata.get(b"embedder", b"?").decode())

    def tags(self) -> dict[str, int]:
        """Snapshot tags and the table versions behind them."""
        if self.table is None:
            return {}
        return {name: int(entry["version"]) for name, entry in self.table.tags.list().items()}

    def add(self, window: int, rows: pa.Table) -> None:
        """Append the rows of a window and tag the snapshot. Doing it again changes nothing; a half-done append is taken back first."""
        tags = self.tags()
        if tag(window) in tags:
            return
        rows = rows.replace_schema_metadata({**(rows.schema.metadata or {}), b"embedder": self.embedder.encode()})
        if self.table is None:
            self.table = self.db.create_table(TABLE, schema=rows.schema)
        else:
            before = tags.get(tag(window - 1))
            if before is None and window > 0:
                raise RunFailed(
                    f"the index lacks the snapshot before window {window}", hint="`simflow doctor` rebuilds it from the windows"
                )
            if before is None:  # killed between creating the table and tagging its first window
                self.db.drop_table(TABLE)
                self.table = self.db.create_table(TABLE, schema=rows.schema)
            elif int(self.table.version) != before:
                self.table.restore(before)
        if rows.num_rows:
            self.table.add(rows)
        self.table.tags.create(tag(window), int(self.table.version))

    def at(self, window: int) -> Any:
        """Open the LanceDB table as of the end of a window, read-only. Raises RunFailed if there is no such snapshot."""
        if tag(window) not in self.tags():
            raise RunFailed(f"there is no snapshot of window {window} in the index", hint="`simflow doctor` rebuilds it from the windows")
        table = self.db.open_table(TABLE)
        table.checkout(tag(window))
        return table
