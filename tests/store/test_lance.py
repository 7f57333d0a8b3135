"""The LanceDB index: a tag for each snapshot, nothing half-done, no mixing of embedders."""

from __future__ import annotations

import pyarrow as pa
import pytest

from simflow.errors import RunFailed
from simflow.store import Index


def rows(first: int, n: int) -> pa.Table:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([float(i) for k in range(n) for i in (first + k, 0)], pa.float32()), 2)
    return pa.table({"episode": pa.array(range(first, first + n), pa.int64()), "vector": vectors})


def ids(table) -> list[int]:
    return sorted(table.to_arrow().column("episode").to_pylist())


def test_each_window_is_a_snapshot(tmp_path):
    index = Index(str(tmp_path), "e/1")
    index.add(0, rows(0, 2))
    index.add(1, rows(2, 0))
    index.add(2, rows(2, 3))
    assert ids(index.at(0)) == [0, 1]
    assert ids(index.at(1)) == [0, 1]
    assert ids(index.at(2)) == [0, 1, 2, 3, 4]


def test_adding_a_window_twice_changes_nothing(tmp_path):
    for _ in range(2):
        Index(str(tmp_path), "e/1").add(0, rows(0, 2))
    assert ids(Index(str(tmp_path), "e/1").at(0)) == [0, 1]


@pytest.mark.parametrize("window", [0, 1])
def test_rows_that_were_added_but_not_tagged_are_taken_back(tmp_path, window):
    index = Index(str(tmp_path), "e/1")
    for number in range(window):
        index.add(number, rows(number, 1))
    if window:
        index.table.add(rows(99, 1))
    else:
        index.table = index.db.create_table("episodes", data=rows(99, 1).replace_schema_metadata({b"embedder": b"e/1"}))
    again = Index(str(tmp_path), "e/1")
    again.add(window, rows(window, 1))
    assert ids(again.at(window)) == list(range(window + 1))


def test_another_embedder_is_refused(tmp_path):
    Index(str(tmp_path), "e/1").add(0, rows(0, 1))
    with pytest.raises(RunFailed, match="e/1"):
        Index(str(tmp_path), "e/2")


def test_a_snapshot_that_was_never_taken_is_refused(tmp_path):
    index = Index(str(tmp_path), "e/1")
    index.add(0, rows(0, 1))
    with pytest.raises(RunFailed, match="window 5"):
        index.at(5)
    with pytest.raises(RunFailed, match="before window 3"):
        index.add(3, rows(1, 1))
