"""Windows are whole or absent, the same data is the same bytes, and damage is found."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from simflow.episode import EPISODES, EXPOSURES, vectors_schema
from simflow.errors import RunFailed
from simflow.store import Windows
from simflow.store.files import Files
from simflow.store.windows import encode, fit, pack, unpack

KEY = "ab" * 32


def episodes(n: int) -> pa.Table:
    rows = [
        {"episode": i, "tick": i, "ordinal": 0, "actor": 0, "kind": "post", "root": i, "text": f"t{i}", "sentence": f'@a wrote: "t{i}"'}
        for i in range(n)
    ]
    return pa.Table.from_pylist(rows, schema=EPISODES)


def commit(windows: Windows, key: str = KEY, n: int = 3):
    return windows.commit(
        key,
        about={"start": 0, "stop": 10},
        tables={"episodes": episodes(n)},
        vectors=vectors_schema(4).empty_table(),
        truth={},
        state={"tick": np.array([10])},
    )


def test_a_committed_window_gives_back_its_tables(tmp_path):
    window = commit(Windows(Files(tmp_path)))
    assert window.table("episodes").equals(episodes(3))
    assert window.table("exposures").schema.names == EXPOSURES.names
    assert window.state()["tick"].tolist() == [10]
    assert window.faults() == []


def test_the_same_tables_are_the_same_bytes():
    assert encode(episodes(100)) == encode(pa.concat_tables([episodes(100).slice(0, 40), episodes(100).slice(40)]))


def test_a_column_that_was_not_agreed_is_refused():
    with pytest.raises(RunFailed, match="episodes"):
        fit("episodes", episodes(1).drop_columns(["text"]), EPISODES)


def test_a_window_of_an_older_version_reads_with_nulls_or_says_so(tmp_path):
    window = commit(Windows(Files(tmp_path)))
    file = next(tmp_path.rglob("episodes.parquet"))
    pq.write_table(episodes(3).drop_columns(["topic"]), file)
    assert window.table("episodes").equals(episodes(3))
    assert window.table("episodes", ["topic", "tick"]).equals(episodes(3).select(["topic", "tick"]))
    pq.write_table(episodes(3).drop_columns(["sentence"]), file)
    with pytest.raises(RunFailed, match="no column 'sentence': an older simflow wrote it"):
        window.table("episodes")
    assert window.table("episodes", ["tick"]).num_rows == 3, "what is there can still be read"


def test_two_processes_may_commit_the_same_window(tmp_path):
    windows = Windows(Files(tmp_path))
    commit(windows)
    before = {p.name: p.read_bytes() for p in tmp_path.rglob("*.parquet")}
    commit(windows)
    assert {p.name: p.read_bytes() for p in tmp_path.rglob("*.parquet")} == before
    assert windows.keys() == [KEY]


def test_damage_is_found(tmp_path):
    window = commit(Windows(Files(tmp_path)))
    path = Path(window.location("episodes"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    Path(window.location("claims")).unlink()
    assert sorted(window.faults()) == ["claims.parquet is missing", "episodes.parquet is damaged"]
    with pytest.raises(RunFailed, match="claims"):
        window.table("claims")


def _commit_and_die(root: str, when: int) -> None:
    # Dies right before its `when`-th file is written, as a SIGKILL in the middle of a commit would have it.
    files = Files(root)
    written = 0
    real = files.write

    def write(path: str, content: bytes) -> None:
        nonlocal written
        if written == when:
            os.kill(os.getpid(), signal.SIGKILL)
        written += 1
        real(path, content)

    files.write = write  # type: ignore[method-assign]
    commit(Windows(files))


@pytest.mark.parametrize("when", [0, 3, 9])
def test_a_window_killed_while_it_is_written_does_not_exist(tmp_path, when):
    process = multiprocessing.get_context("spawn").Process(target=_commit_and_die, args=(str(tmp_path), when))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    windows = Windows(Files(tmp_path))
    assert windows.get(KEY) is None
    assert windows.keys() == []
    assert commit(windows).faults() == []
    assert list((tmp_path / "staging").iterdir()) == [], "what the killed process left is swept away"


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        hnp.arrays(
            st.sampled_from([np.int64, np.int8, np.float64, np.bool_, np.dtype("U5")]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=5,
    )
)
def test_an_engines_state_comes_back_as_it_was(state):
    back = unpack(pack(state))
    assert back.keys() == state.keys()
    for name, array in state.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == np.ascontiguousarray(array).tobytes()


def test_a_state_with_python_objects_is_refused():
    with pytest.raises(RunFailed, match="objects"):
        pack({"x": np.array([object()])})
