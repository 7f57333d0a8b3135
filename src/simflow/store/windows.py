"""Windows: immutable, content-addressed folders of Parquet, shared by all cells that compute the same thing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from simflow.episode import TABLES, TRUTH
from simflow.errors import RunFailed
from simflow.store.files import Files

FORMAT = "window/1"
"""Version of the layout; part of every content address."""

MANIFEST = "manifest.json"

_HERE = LocalFileSystem()


@dataclass(frozen=True, slots=True)
class Window:
    """A committed window. `manifest`: format, key, start, stop, ids, rows, notes, and size and sha256 of each file."""

    files: Files
    path: str
    manifest: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The content address."""
        return str(self.manifest["key"])

    @property
    def rows(self) -> dict[str, int]:
        """Row counts by table."""
        return dict(self.manifest["rows"])

    def location(self, table: str) -> str:
        """Where the Parquet file of a table is, for readers outside this room."""
        return self.files.url(f"{self.path}/{table}.parquet")

    def table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """One table, or some of its columns; what an older version did not write yet is null. Raises RunFailed if it is missing or broken."""
        try:
            near = self.files.near(f"{self.path}/{name}.parquet")
            with pq.ParquetFile(near, filesystem=_HERE) as file:
                there = file.schema_arrow.names
                table = file.read(columns=None if columns is None else [c for c in columns if c in there], use_threads=False)
        except (OSError, pa.ArrowException) as error:
            raise RunFailed(
                f"window {self.key[:12]}: {name}.parquet cannot be read ({error})",
                hint="`simflow doctor` verifies windows and says which to compute again",
            ) from error
        agreed = TABLES.get(name, table.schema)
        wanted = agreed.names if columns is None else columns
        for column in wanted:
            if column not in there:
                field = agreed.field(column)
                if not field.nullable:
                    raise RunFailed(
                        f"window {self.key[:12]}: {name}.parquet has no column '{column}': an older simflow wrote it",
                        hint="run the scenario again: its windows have other addresses now",
                    )
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table.select(wanted)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The engine's state at the end of the window."""
        return unpack(self.table("state"))

    def faults(self) -> list[str]:
        """What is wrong with the files: missing, or other bytes than were committed."""
        found = []
        for name, entry in self.manifest["files"].items():
            try:
                content = self.files.read(f"{self.path}/{name}")
            except FileNotFoundError:
                found.append(f"{name} is missing")
                continue
            if hashlib.sha256(content).hexdigest() != entry["sha256"]:
                found.append(f"{name} is damaged")
        return found


class Windows:
    """All windows of a project, by key."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def path(self, key: str) -> str:
        """The folder of a key, relative to the project's state."""
        return f"windows/{key[:2]}/{key}"

    def get(self, key: str) -> Window | None:
        """The window of a key, or None if it has not been committed."""
        try:
            manifest = json.loads(self.files.read(f"{self.path(key)}/{MANIFEST}"))
        except FileNotFoundError:
            return None
        return Window(self.files, self.path(key), manifest)

    def keys(self) -> list[str]:
        """Keys of all committed windows."""
        return [k for shard in self.files.list("windows") for k in self.files.list(f"windows/{shard}")]

    def commit(
        self,
        key: str,
        *,
        about: Mapping[str, Any],
        tables: Mapping[str, pa.Table],
        vectors: pa.Table,
        truth: Mapping[str, pa.Table],
        state: Mapping[str, npt.NDArray[Any]],
    ) -> Window:
        """Write a window whole; if another process has committed the same key meanwhile, theirs stays: the bytes are the same.

        about: start, stop, ids, notes and whatever else a reader of the manifest should know. tables: by name, with the schemas of
        `simflow.episode`; a missing one is written empty. Raises RunFailed if a table does not fit its schema.
        """
        fitted = {name: fit(name, tables.get(name), schema) for name, schema in TABLES.items()}
        written = {
            **fitted,
            "vectors": vectors,
            "state": pack(state),
            **{f"truth/{name}": fit(name, table, TRUTH[name]) for name, table in sorted(truth.items())},
        }
        with self.files.whole_folder(self.path(key), last=MANIFEST) as folder:
            entries = {}
            for name, table in written.items():
                content = encode(table)
                folder.write(f"{name}.parquet", content)
                entries[f"{name}.parquet"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            rows = {name: table.num_rows for name, table in written.items() if name != "state"}
            manifest = {"format": FORMAT, "key": key, **about, "rows": rows, "files": entries}
            folder.write(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True).encode())
        window = self.get(key)
        if window is None:
            raise RunFailed(f"window {key[:12]} vanished right after it was committed", hint="is something deleting .simflow/windows?")
        return window


def fit(name: str, table: pa.Table | None, schema: pa.Schema) -> pa.Table:
    """Return the table with exactly the schema's columns, order, types and descriptions. Raises RunFailed where that is impossible."""
    if table is None:
        return schema.empty_table()
    try:
        return table.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowException, ValueError) as error:
        raise RunFailed(f"the table '{name}' does not have the agreed columns: {error}") from error


def encode(table: pa.Table) -> bytes:
    """Parquet bytes; the same table gives the same bytes."""
    sink = pa.BufferOutputStream()
    floats = [f.name for f in table.schema if pa.types.is_fixed_size_list(f.type)]
    dictionary = [f.name for f in table.schema if f.name not in floats]
    pq.write_table(table.combine_chunks(), sink, compression="zstd", use_dictionary=dictionary, row_group_size=1 << 17, store_schema=True)
    return bytes(sink.getvalue())


def pack(state: Mapping[str, npt.NDArray[Any]]) -> pa.Table:
    """Arrays as rows (name, dtype, shape, bytes): plain data that needs no unpickling."""
    names = sorted(state)
    arrays = [np.ascontiguousarray(state[name]) for name in names]
    if any(a.dtype.hasobject for a in arrays):
        raise RunFailed("an engine's state holds Python objects; only plain numpy arrays can be stored")
    return pa.table(
        {
            "name": pa.array(names, pa.string()),
            "dtype": pa.array([a.dtype.str for a in arrays], pa.string()),
            "shape": pa.array([list(state[n].shape) for n in names], pa.list_(pa.int64())),
            "data": pa.array([a.tobytes() for a in arrays], pa.large_binary()),
        }
    )


def unpack(table: pa.Table) -> dict[str, npt.NDArray[Any]]:
    """The inverse of `pack`; the arrays are writable copies."""
    return {row["name"]: np.frombuffer(row["data"], dtype=np.dtype(row["dtype"])).reshape(row["shape"]).copy() for row in table.to_pylist()}
