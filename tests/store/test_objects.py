"""State on object storage: the same windows, the same ledger, read from anywhere."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from simflow.errors import BadInput, RunFailed
from simflow.run import open_cell
from simflow.runs import find_run, list_runs, place, workplace
from simflow.runs.lock import Busy, held
from simflow.scenario import load
from simflow.store import Store

VILLAGE = """\
scenario: village
topics: {square: A plan to pave the village square.}
population: {agents: 12, personas: {farmer: {share: 50%}, baker: {share: 50%}}}
clock: {ticks: 30, window: 10}
extract: {every: 5}
"""


@pytest.fixture
def cell(tmp_path):
    (tmp_path / "village.yaml").write_text(VILLAGE)
    return load(tmp_path / "village.yaml").cells[0]


def lived(home, cell, *numbers):
    work = open_cell("village.yaml", cell, home)
    for number in numbers:
        work.window(number)
    return work


def test_windows_index_and_ledger_on_object_storage_equal_those_in_a_folder(object_store, tmp_path, cell):
    here, there = tmp_path / ".simflow", place(object_store)
    lived(here, cell, 0, 1, 2)
    lived(there, cell, 0, 1)
    lived(there, cell, 2)  # goes on where it ended
    [near], [far] = list_runs(here), list_runs(there)
    assert [w.key for w in near.windows()] == [w.key for w in far.windows()]
    assert far.progress().state == "done"
    assert [line["message"] for line in near.log()] == [line["message"] for line in far.log()]
    a, b = Store(here).open(near), Store(there).open(find_run(there, "village"))
    for name in ("episodes", "exposures", "turns", "edges", "claims", "personas", "vectors"):
        assert a.table(name).equals(b.table(name)), name
    assert a.lance().to_arrow().equals(b.lance().to_arrow())
    assert b.lance(0).count_rows() < b.lance(2).count_rows()
    assert not (tmp_path / "s3:").exists()


def test_another_machine_reads_the_same_state_with_nothing_of_its_own(object_store, tmp_path, cell, monkeypatch):
    there = place(object_store)
    lived(there, cell, 0)
    monkeypatch.setenv("SIMFLOW_WORK", str(tmp_path / "another"))
    [record] = list_runs(place(object_store))
    run = Store(there).open(record)
    assert run.table("episodes").num_rows == record.windows()[0].rows["episodes"]
    assert run.window(0).faults() == []
    assert list((workplace(there) / "windows").rglob("episodes.parquet"))


def test_commands_and_the_terminal_read_a_remote_ledger(object_store, cell):
    from click.testing import CliRunner

    from simflow.cli.doctor import doctor
    from simflow.cli.runs import runs
    from simflow_tui.command import tui

    lived(place(object_store), cell, 0)
    [listed] = json.loads(CliRunner().invoke(runs, ["--home", object_store, "--json"]).output)
    assert listed["run"].startswith("village/")
    assert listed["run"] in CliRunner().invoke(tui, ["--once", "--home", object_store]).output
    checked = CliRunner().invoke(doctor, ["--home", object_store, "--json"])
    assert json.loads(checked.stdout)["faults"] == []
    assert "no place for state" in str(CliRunner().invoke(runs, ["--home", "ftp://x"]).exception)


def test_a_window_whose_manifest_was_never_written_does_not_exist(object_store, cell):
    there = place(object_store)
    work = lived(there, cell, 0)
    key = work.committed[0].key
    store = Store(there)
    store.files.remove(f"{store.windows.path(key)}/manifest.json")
    assert store.windows.get(key) is None
    lived(there, cell, 0)
    assert store.windows.get(key).faults() == []


def test_a_lease_is_held_by_one_and_taken_over_from_the_dead(object_store):
    path = place(object_store) / "locks" / "cell"
    with held(path, wait=True) as lease, ThreadPoolExecutor(1) as pool:
        lease._stop.set()
        lease._thread.join()  # from here on it is renewed by hand
        asked = pool.submit(taken, path)
        while not asked.done():  # a holder that lives is one whose lease changes
            lease._renew_once()
            time.sleep(0.05)
        assert isinstance(asked.exception(), Busy)
        lease.sure()
    assert not path.exists()
    dead = held(path, wait=True, term=0.6)
    silent = dead.__enter__()
    silent._stop.set()  # killed: it renews no more
    silent._thread.join()
    with held(path, wait=True, term=0.6):
        silent._renew_once()
        with pytest.raises(RunFailed, match="went to another worker"):
            silent.sure()
    dead.__exit__(None, None, None)


def taken(path):
    with held(path, wait=False):
        pass


def test_those_who_wait_for_a_lease_take_turns(object_store):
    path = place(object_store) / "locks" / "cell"
    inside, most = [], []

    def work():
        with held(path, wait=True, term=60):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_places_that_cannot_be_are_named(object_store, monkeypatch):
    with pytest.raises(BadInput, match="no place for state"):
        place("ftp://somewhere/else")
    with pytest.raises(BadInput, match="no place for state"):
        place("s3://")
    with pytest.raises(RunFailed, match="nowhere-at-all"):
        list_runs(place("s3://nowhere-at-all/x"))
