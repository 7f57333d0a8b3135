"""The ledger: readable whole by everybody, whatever happens to its writer."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simflow.errors import NotFound
from simflow.runs import Ledger, Progress, RunRecord, WindowRecord, find_run, home, list_runs
from simflow.runs.ledger import replace


def record(root, name="demo/20260101-000000-base-s1"):
    return RunRecord(name, root / "runs" / name)


def test_what_is_written_is_read(tmp_path):
    run = record(tmp_path)
    ledger = Ledger(run)
    ledger.begin({"scenario": "demo", "about": "ünïcode 🙂"})
    progress = Progress("running", 1, 4, 10, 40, heartbeat=time.time())
    ledger.progress(progress)
    ledger.windows((WindowRecord(0, "ab", 0, 10, rows={"episodes": 3}),))
    ledger.log("info", "world", "hello", n=1)
    assert run.about()["about"] == "ünïcode 🙂"
    assert run.progress() == progress
    assert run.windows()[0].rows == {"episodes": 3}
    assert run.log()[0]["message"] == "hello"


@given(st.binary(max_size=60))
def test_a_broken_file_reads_as_absent(tmp_path_factory, junk):
    run = record(tmp_path_factory.mktemp("l"))
    run.path.mkdir(parents=True)
    for name in ("progress.json", "windows.json", "run.yaml", "log.jsonl"):
        (run.path / name).write_bytes(junk)
    run.progress()
    run.windows()
    assert isinstance(run.about(), dict)
    assert isinstance(run.log(), list)


def test_keys_of_other_versions_are_passed_over(tmp_path):
    run = record(tmp_path)
    run.path.mkdir(parents=True)
    (run.path / "progress.json").write_text(json.dumps({"state": "done", "window": 1, "windows": 1, "tick": 1, "ticks": 1, "mood": "new"}))
    assert run.progress() is not None
    (run.path / "progress.json").write_text(json.dumps({"state": "done"}))
    assert run.progress() is None


def test_a_half_written_last_line_is_left_out(tmp_path):
    run = record(tmp_path)
    ledger = Ledger(run)
    ledger.begin({})
    ledger.log("info", "x", "whole")
    with (run.path / "log.jsonl").open("a") as out:
        out.write('{"message": "ha')
    assert [line["message"] for line in run.log()] == ["whole"]


def test_a_silent_run_is_stale_and_a_finished_one_is_not():
    assert Progress("running", 0, 1, 0, 1, heartbeat=time.time() - 60).stale
    assert not Progress("done", 1, 1, 1, 1, heartbeat=time.time() - 60).stale


def test_runs_are_found_by_scenario_part_and_latest(tmp_path):
    for name in ("demo/20260101-000000-base-s1", "demo/20260102-000000-base-s1", "other/20260101-120000-leaks-s2"):
        record(tmp_path, name).path.mkdir(parents=True)
    assert next(r.id for r in list_runs(tmp_path)) == "demo/20260102-000000-base-s1"
    assert find_run(tmp_path, "demo").id == "demo/20260102-000000-base-s1"
    assert find_run(tmp_path, "leaks").id == "other/20260101-120000-leaks-s2"
    assert find_run(tmp_path, "latest").id == "demo/20260102-000000-base-s1"
    assert find_run(tmp_path, "base-s1").id == find_run(tmp_path, "demo/base-s1").id == "demo/20260102-000000-base-s1"
    with pytest.raises(NotFound, match="more than one"):
        find_run(tmp_path, "20260101")
    with pytest.raises(NotFound, match="is no run"):
        find_run(tmp_path, "nowhere")


def test_a_run_that_never_began_is_none(tmp_path):
    folder = record(tmp_path, "demo/20260101-000000-base-s1").path
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    assert list_runs(tmp_path) == []
    (folder / "log.jsonl").touch()
    assert [r.path for r in list_runs(tmp_path)] == [folder]


def test_the_project_is_the_nearest_folder_upwards(tmp_path, monkeypatch):
    monkeypatch.delenv("SIMFLOW_HOME", raising=False)
    (tmp_path / ".simflow").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert home(tmp_path / "a" / "b") == tmp_path / ".simflow"
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / "elsewhere"))
    assert home(tmp_path / "a") == tmp_path / "elsewhere"


def test_state_of_a_new_project_belongs_beside_its_scenarios(tmp_path, monkeypatch):
    monkeypatch.delenv("SIMFLOW_HOME", raising=False)
    (tmp_path / "scenarios" / "library").mkdir(parents=True)
    for start in (tmp_path, tmp_path / "scenarios", tmp_path / "scenarios" / "library"):
        assert home(start) == tmp_path / ".simflow"


def test_work_that_ends_between_windows_is_told_by_the_process_that_did_it(tmp_path):
    run = record(tmp_path)
    ledger = Ledger(run)
    ledger.begin({})
    ours = Progress("running", 1, 4, 10, 40, heartbeat=time.time(), pid=os.getpid())
    for progress, expected in (
        (ours, "stopped"),
        (dataclasses.replace(ours, pid=1), "running"),
        (dataclasses.replace(ours, state="done"), "done"),
    ):
        ledger.progress(progress)
        ledger.interrupted("interrupted")
        assert run.progress().state == expected


def test_a_scenarios_own_checks_are_those_of_the_newest_end(tmp_path):
    run = record(tmp_path)
    run.path.mkdir(parents=True)
    ledger = Ledger(run)
    ledger.judged(0, [("data", False, "wrong", True)])
    ledger.judged(1, [("data", True, "", True), ("check_a", False, "a: 1", True), ("check_b", True, "b: 1", True)])
    assert [(c.check, list(c.failed), c.found) for c in run.told()] == [
        ("data", [0], "window 0: wrong"),
        ("check_a", [1], "a: 1"),
        ("check_b", [], "b: 1"),
    ]
    # The run became longer, and the scenario has `b` no more: the end is elsewhere, and what was said of the old one is no longer so.
    ledger.judged(2, [("data", True, "", True)])
    assert [c.check for c in run.told()] == ["data", "check_a", "check_b"]
    ledger.judged(3, [("data", True, "", True), ("check_a", True, "a: 2", True), ("pattern_c", True, "c: 2", False)])
    assert [(c.check, list(c.failed), c.found) for c in run.told()] == [
        ("data", [0], "window 0: wrong"),
        ("check_a", [], "a: 2"),
        ("pattern_c", [], "c: 2"),
    ]


def test_a_file_for_which_the_disk_has_no_room_leaves_the_old_one_and_no_half(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    replace(path, "old")

    def full(beside, raw):
        with beside.open("wb") as out:
            out.write(raw[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        replace(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["progress.json"]
    assert path.read_text() == "old"
