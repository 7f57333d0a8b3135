"""From committed windows to the LanceDB index of a run, and back to the question whether the two agree."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from simflow.errors import RunFailed
from simflow.store import Index, RunData, Window

COLUMNS = ("episode", "tick", "actor", "kind", "sentence")


def index_rows(window: Window) -> pa.Table:
    """Rows of one window in the index: its embedded episodes with their vectors, in order of tick and id."""
    vectors = window.table("vectors")
    episodes = window.table("episodes", list(COLUMNS))
    # Arrow's join cannot carry fixed-size lists, so the vectors are laid beside their episodes by place.
    found = episodes.take(pc.index_in(vectors.column("episode"), episodes.column("episode")))
    schema = pa.schema([*(episodes.schema.field(c).remove_metadata() for c in COLUMNS), vectors.schema.field("vector")])
    rows = found.append_column("vector", vectors.column("vector")).cast(schema)
    return rows.sort_by([("tick", "ascending"), ("episode", "ascending")])


def open_index(data: RunData) -> Index:
    """Open the index of a run. Raises RunFailed if it was made with another embedder."""
    embedder = str(data.record.about().get("ids", {}).get("embedder", "?"))
    return Index(data.store.lance_path(data.record.id), embedder)


def add_to_index(data: RunData, number: int, window: Window, embedder: str) -> None:
    """Add one window; windows that an index lacks (deleted, or made on another machine) are added first."""
    index = Index(data.store.lance_path(data.record.id), embedder)
    have = len(index.tags())
    for earlier in range(have, number):
        index.add(earlier, index_rows(data.window(earlier)))
    index.add(number, index_rows(window))


def rebuild_index(data: RunData) -> None:
    """Make the index of a run anew from its windows alone."""
    data.store.drop_index(data.record.id)
    index = open_index(data)
    for window in data.windows:
        index.add(window.number, index_rows(data.window(window.number)))


def index_faults(data: RunData) -> list[str]:
    """Say where index and windows disagree: snapshots that are missing, rows that differ."""
    index = open_index(data)
    found = []
    rows = pa.concat_tables([index_rows(data.window(w.number)) for w in data.windows]) if data.windows else None
    expected = 0
    for window in data.windows:
        expected += data.window(window.number).rows["vectors"]
        try:
            table = index.at(window.number)
        except RunFailed as error:
            found.append(str(error))
            continue
        if table.count_rows() != expected:
            found.append(f"the snapshot of window {window.number} has {table.count_rows()} rows, the windows have {expected}")
    if not found and rows is not None:
        stored = index.at(len(data.windows) - 1).to_arrow().select(rows.schema.names).cast(rows.schema)
        order = [("tick", "ascending"), ("episode", "ascending")]
        if not stored.sort_by(order).equals(rows.sort_by(order)):
            found.append("rows of the index differ from the windows")
    return found
