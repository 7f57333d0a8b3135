"""A run goes window by window, keeps what it has, and starts again where it stopped."""

from __future__ import annotations

import dataclasses
import hashlib
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from simflow.episode import AGENTS, EPISODES, EXPOSURES, TURNS, empty
from simflow.errors import BadInput, RunFailed, Stopped
from simflow.plan import Cell, Check, Clock, Extract, Memory, Topic
from simflow.ports import Extraction, Step
from simflow.run import cellrun, open_cell, parts, window_keys
from simflow.run.indexing import index_faults, rebuild_index
from simflow.runs import find_run
from simflow.store import Store


class Engine:
    """One post a tick by one agent; counts the ticks that it was made to compute."""

    id = "test-engine/1"
    needs_recall = False
    ticks = 0
    fail_at: int | None = None

    def __init__(self, cell):
        self.cell = cell

    def begin(self):
        return {"sum": np.zeros(1, np.int64)}

    def advance(self, state, start, stop, *, recall=None, progress=None):
        del recall
        rows, total = [], int(state["sum"][0])
        for tick in range(start, stop):
            if tick == Engine.fail_at:
                raise ZeroDivisionError("the world broke")
            Engine.ticks += 1
            total += tick
            rows.append(
                {
                    "episode": tick,
                    "tick": tick,
                    "ordinal": 0,
                    "actor": 0,
                    "kind": "post",
                    "root": tick,
                    "text": f"{total}",
                    "sentence": f'@ann0 wrote: "{total}"',
                }
            )
            if progress:
                progress("world", tick - start + 1, stop - start)
        new = [{"agent": 0, "id": "ann0", "name": "Ann", "is_voice": False, "joined": 0}] if start == 0 else []
        return Step(
            agents=pa.Table.from_pylist(new, schema=AGENTS),
            episodes=pa.Table.from_pylist(rows, schema=EPISODES),
            exposures=empty(EXPOSURES),
            turns=empty(TURNS),
            state={"sum": np.array([total])},
        )


class Embedder:
    id = "test-embedder/1"
    dimension = 4

    def __init__(self, cell):
        del cell

    def embed(self, texts):
        out = np.array([list(hashlib.sha256(t.encode()).digest()[:4]) for t in texts], np.float32).reshape(-1, 4)
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


class Extractor:
    id = "test-extractor/1"

    def __init__(self, cell, embedder):
        del cell, embedder

    def extract(self, batch):
        return Extraction((), tuple(p.episode for p in batch))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    made = {"engine": Engine, "embedder": Embedder, "extractor": Extractor}
    monkeypatch.setattr(parts, "factory", lambda part, name: made[part])
    monkeypatch.setattr(Engine, "ticks", 0)
    monkeypatch.setattr(Engine, "fail_at", None)


CELL = Cell(
    "small",
    "base",
    {},
    1,
    topics=(Topic("tariff"),),
    clock=Clock(ticks=40, window=10),
    extract=Extract(every=10),
    memory=Memory(refresh=10),
)


def complete(cell, root, **options):
    run = open_cell("small.yaml", cell, root, **options)
    for number in range(len(run.windows)):
        run.window(number)
    return run


def content(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in (root / "windows").rglob("*.parquet")}


def test_a_run_is_done_when_its_windows_are(tmp_path):
    run = complete(CELL, tmp_path)
    assert [w.key for w in run.committed] == list(window_keys(CELL))
    assert run.record.progress().state == "done"
    assert run.data().table("episodes").num_rows == 40
    assert run.data().cell == CELL
    assert run.data().lance().count_rows() == 40
    assert run.data().lance(1).count_rows() == 20


def test_nothing_is_computed_the_second_time(tmp_path):
    first = complete(CELL, tmp_path)
    assert Engine.ticks == 40
    second = complete(CELL, tmp_path)
    assert Engine.ticks == 40
    assert second.record.id == first.record.id


def test_a_run_that_goes_on_takes_the_newest_checks_and_limits(tmp_path):
    complete(CELL, tmp_path)
    checked = dataclasses.replace(CELL, checks=(Check("covered", {"by": 3}),), about="again")
    again = complete(checked, tmp_path)
    assert Engine.ticks == 40
    assert again.data().cell == checked


def test_a_new_run_takes_windows_that_another_run_has_computed(tmp_path):
    complete(CELL, tmp_path)
    other = complete(dataclasses.replace(CELL, variant="renamed"), tmp_path)
    assert Engine.ticks == 40
    assert all(w.reused for w in other.committed)
    assert other.data().lance().count_rows() == 40


def test_runs_of_one_name_that_begin_in_the_same_second_are_two(tmp_path, monkeypatch):
    class Still(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 11, 30, 12, tzinfo=tz)

    monkeypatch.setattr(cellrun, "datetime", Still)
    first = complete(CELL, tmp_path)
    changed = complete(dataclasses.replace(CELL, memory=Memory(refresh=20)), tmp_path)
    assert changed.record.id != first.record.id
    assert [w.key for w in first.record.windows()] == list(window_keys(CELL))
    assert find_run(tmp_path, "small").id == changed.record.id


@pytest.mark.parametrize("folder", ["20261130-120000-base-s1", "99991231-9-base-s1", "notes"])
def test_the_newest_run_is_the_one_that_began_last_though_the_clock_went_back(tmp_path, monkeypatch, folder):
    """Whoever asks for a scenario's newest run must not be given one of before the clock was set right; foreign folders change nothing."""

    class Yesterday(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 11, 29, 12, tzinfo=tz)

    there = tmp_path / "runs" / "small" / folder
    there.mkdir(parents=True)
    (there / "run.yaml").write_text("{}\n")
    monkeypatch.setattr(cellrun, "datetime", Yesterday)
    begun = open_cell("small.yaml", CELL, tmp_path).record.id
    assert begun == ("small/20261130-120001-base-s1" if folder.startswith("2026") else f"small/20261129-120000-{CELL.name}")


def test_a_longer_run_goes_on_from_the_shorter_one(tmp_path):
    complete(CELL, tmp_path)
    longer = complete(dataclasses.replace(CELL, clock=Clock(ticks=60, window=10)), tmp_path)
    assert Engine.ticks == 60
    assert longer.data().table("episodes").num_rows == 60


def test_a_failed_window_says_why_and_the_next_try_goes_on_from_the_last_whole_one(tmp_path, monkeypatch):
    monkeypatch.setattr(Engine, "fail_at", 25)
    with pytest.raises(RunFailed, match="window 2, stage world: ZeroDivisionError: the world broke"):
        complete(CELL, tmp_path)
    run = open_cell("small.yaml", CELL, tmp_path)
    assert run.record.progress().state == "failed"
    assert "the world broke" in run.record.progress().reason
    assert len(run.committed) == 2
    monkeypatch.setattr(Engine, "fail_at", None)
    Engine.ticks = 0
    complete(CELL, tmp_path)
    assert Engine.ticks == 20
    undisturbed = tmp_path / "undisturbed"
    complete(CELL, undisturbed)
    assert content(undisturbed) == content(tmp_path)


def test_a_run_that_is_asked_to_stop_stops_between_windows_and_can_go_on(tmp_path):
    run = open_cell("small.yaml", CELL, tmp_path)
    run.window(0)
    run.record.request_stop()
    with pytest.raises(Stopped):
        run.window(1)
    assert run.record.progress().state == "stopped"
    assert len(complete(CELL, tmp_path).committed) == 4


def test_an_interrupted_window_leaves_a_state_that_can_be_resumed(tmp_path, monkeypatch):
    def interrupt(self, texts):
        del self, texts
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(Embedder, "embed", interrupt)
        with pytest.raises(KeyboardInterrupt):
            complete(CELL, tmp_path)
    assert open_cell("small.yaml", CELL, tmp_path).record.progress().state == "stopped"
    assert len(complete(CELL, tmp_path).committed) == 4


@pytest.mark.parametrize("number", [0, 2, 3])
def test_a_window_that_was_removed_is_computed_again_in_its_place(tmp_path, number):
    run = complete(CELL, tmp_path)
    before, ledger = content(tmp_path), run.committed
    run.store.files.remove(run.store.windows.path(run.keys[number]))
    Engine.ticks = 0
    again = complete(CELL, tmp_path)
    assert Engine.ticks == 10
    assert content(tmp_path) == before
    assert [w.key for w in again.committed] == [w.key for w in ledger]
    assert index_faults(again.data()) == []


def test_windows_out_of_order_are_refused(tmp_path):
    with pytest.raises(RunFailed, match="window 2 needs window 1"):
        open_cell("small.yaml", CELL, tmp_path).window(2)


def test_two_processes_do_not_compute_the_same_run(tmp_path):
    first, second = open_cell("small.yaml", CELL, tmp_path), open_cell("small.yaml", CELL, tmp_path)
    second.record = first.record
    with first._locked(), pytest.raises(RunFailed, match="being computed"):
        second.window(0)


def test_the_worlds_episodes_do_not_depend_on_window_sizes(tmp_path):
    tables = []
    for size in (10, 20, 40):
        run = complete(dataclasses.replace(CELL, clock=Clock(ticks=40, window=size)), tmp_path / str(size))
        tables.append([run.data().table(name) for name in ("episodes", "claims", "vectors")])
    assert all(a.equals(b) for other in tables[1:] for a, b in zip(tables[0], other, strict=True))


def test_the_index_is_made_again_from_the_windows_alone(tmp_path):
    run = complete(CELL, tmp_path)
    before = run.data().lance().to_arrow().sort_by("episode")
    Store(tmp_path).drop_index(run.record.id)
    assert index_faults(run.data())
    rebuild_index(run.data())
    assert index_faults(run.data()) == []
    assert run.data().lance().to_arrow().sort_by("episode").equals(before)


def test_progress_is_told_to_a_listener(tmp_path):
    heard = []
    complete(CELL, tmp_path, listener=heard.append)
    assert {"world", "vectors", "edges", "personas", "snapshot", "done"} <= {p.stage for p in heard}
    assert heard[-1].state == "done"
    assert [p.tick for p in heard] == sorted(p.tick for p in heard)


def test_an_unknown_part_is_refused_with_the_known_ones(monkeypatch, tmp_path):
    monkeypatch.undo()
    with pytest.raises(BadInput, match="no engine called 'nonsense'"):
        open_cell("s.yaml", dataclasses.replace(CELL, models=dataclasses.replace(CELL.models, engine="nonsense")), tmp_path)
