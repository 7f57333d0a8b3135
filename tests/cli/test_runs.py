"""`simflow runs` and `simflow doctor` on a project of one small replayed run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from simflow.cli.app import app
from simflow.plan import Cell, Clock, Extract, Memory, Models, Replay, Topic
from simflow.run import open_cell
from simflow.runs import Ledger, RunRecord


@pytest.fixture(scope="module")
def project(root, tmp_path_factory):
    home = tmp_path_factory.mktemp("project") / ".simflow"
    trace = tmp_path_factory.mktemp("trace") / "t.jsonl"
    lines = (root / "scenarios/data/memorybank-sample.jsonl").read_text("utf-8").splitlines()[:40]
    trace.write_text("\n".join(lines) + "\n", "utf-8")
    cell = Cell(
        "talk",
        "base",
        {},
        1,
        topics=(Topic("painting", words=("painting", "piano", "books")),),
        clock=Clock(ticks=160, window=80),
        extract=Extract(every=40),
        memory=Memory(refresh=80),
        models=Models(engine="replay"),
        replay=Replay(str(trace)),
    )
    run = open_cell("talk.yaml", cell, home)
    for number in range(len(run.windows)):
        run.window(number)
    return home


@pytest.fixture
def own(project, tmp_path):
    """A copy of the project, to be damaged."""
    return Path(shutil.copytree(project, tmp_path / ".simflow"))


def simflow(*argv: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(argv))
    if result.exception and not isinstance(result.exception, SystemExit):
        code_of = getattr(result.exception, "exit_code", None)
        assert code_of == code, repr(result.exception)
        return str(result.exception) + result.output
    assert result.exit_code == code, result.output
    return result.output


def test_runs_are_listed_for_people_and_for_machines(project):
    assert "talk/" in simflow("runs", "--home", str(project))
    (row,) = json.loads(simflow("runs", "--home", str(project), "--json"))
    assert (row["state"], row["window"], row["windows"], row["stale"]) == ("done", 2, 2, False)


def test_what_is_piped_is_not_cut_to_a_terminals_width(own, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    (folder,) = (own / "runs" / "talk").iterdir()
    name = "20260101-000000-" + "very-long-" * 9 + "s1"
    folder.rename(folder.with_name(name))
    assert f"\ntalk/{name} " in simflow("runs", "--home", str(own))


def test_a_runs_report_adds_up(project):
    summary = json.loads(simflow("runs", "talk", "--home", str(project), "--json"))
    assert sum(summary["episodes"].values()) == 40
    assert summary["windows"] == 2
    page = simflow("runs", "talk", "--home", str(project))
    assert "40 episodes in 160 ticks" in page
    assert "Next" in page
    assert max(len(line) for line in page.splitlines()) <= 200


def test_a_report_says_what_the_checks_found(own):
    (folder,) = (own / "runs" / "talk").iterdir()
    ledger = Ledger(RunRecord(f"talk/{folder.name}", folder))
    data = ("no_sudden_drift", False, "painting moved by 0.4", False)
    ledger.judged(0, [("unique_episodes", True, "", True), data])
    theirs = [("check_a", True, "posts: 40", True), ("check_b", False, "replies: 0", True), ("pattern_c", False, "mean: 0.2", False)]
    ledger.judged(1, [("unique_episodes", True, "", True), *theirs])
    page = simflow("runs", "talk", "--home", str(own))
    for line in ("✓ posts: 40", "✗ replies: 0", "! pattern mean: 0.2", "! no_sudden_drift, window 0: painting moved by 0.4"):
        assert line in page
    assert "unique_episodes" not in page
    told = json.loads(simflow("runs", "talk", "--home", str(own), "--json"))["checks"]
    assert {(c["check"], c["holds"], c["blocks"]) for c in told} == {
        ("no_sudden_drift", False, False),
        ("check_a", True, True),
        ("check_b", False, True),
        ("pattern_c", False, False),
    }


def test_an_empty_project_says_what_makes_a_run(tmp_path):
    assert "simflow run" in simflow("runs", "--home", str(tmp_path))
    assert "no run" in simflow("runs", "nothing", "--home", str(tmp_path), code=2)


def test_doctor_finds_damage_and_repairs_what_can_be_made_again(own):
    assert json.loads(simflow("doctor", "--home", str(own), "--json"))["faults"] == []
    lance = next(iter((own / "lance").rglob("*.lance")))
    for data in (lance / "data").iterdir():
        data.unlink()
    assert "faults found" in simflow("doctor", "--home", str(own), code=1)
    assert json.loads(simflow("doctor", "--home", str(own), "--repair", "--json"))["repaired"]
    assert json.loads(simflow("doctor", "--home", str(own), "--json"))["faults"] == []


def test_doctor_removes_a_damaged_window_so_that_it_is_computed_again(own):
    path: Path = min((own / "windows").rglob("episodes.parquet"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    found = json.loads(simflow("doctor", "--home", str(own), "--repair", "--json"))
    assert found["faults"][0]["fault"] == "episodes.parquet is damaged"
    assert not path.exists()
    assert "gone" in simflow("doctor", "--home", str(own), "--json", code=1)
