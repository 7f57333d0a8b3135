"""`simflow run` in a process of its own: killed, interrupted, run again. The bytes do not tell the difference."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simflow.runs import find_run, list_runs

SCENARIO = """\
from: {base}
scenario: small-tariff
population: {{agents: 24}}
clock: {{ticks: 300, window: 50}}
extract: {{every: 50}}
memory: {{persona: {{refresh: 100}}}}
events: {{leak watch is muted: {{at: 5d, until: 8d}}, shops feel it: null}}
experiment: {{repeats: 1, sweep: null, variants: null}}
ask: null
checks: null
"""


# `simflow` that sends itself a signal right before it changes the disk for the `at`-th time after its `windows`-th committed window: always
# the same moment, however fast the machine is.
STRUCK = """
import os, sys, threading
from simflow.cli import main
from simflow.runs import Ledger

number, windows, at = (int(sys.argv.pop(1)) for _ in range(3))
home, kept, committed, changes = os.environ["SIMFLOW_HOME"], Ledger.windows, 0, 0

def told(self, records):
    global committed
    kept(self, records)
    committed = len(records)

def look(event, given):
    global changes
    writes = event in ("os.rename", "os.mkdir", "os.remove") or (event == "open" and set(str(given[1])) & set("wax+"))
    if writes and committed == windows and str(given[0]).startswith(home) and threading.current_thread() is threading.main_thread():
        changes += 1
        if changes == at:
            os.kill(os.getpid(), number)

Ledger.windows = told
sys.addaudithook(look)
main()
"""


@pytest.fixture(scope="module")
def scenario(root, tmp_path_factory):
    path = tmp_path_factory.mktemp("scenario") / "small-tariff.yaml"
    path.write_text(SCENARIO.format(base=root / "scenarios" / "water-tariff.yaml"), "utf-8")
    return path


def start(scenario: Path, home: Path, struck: tuple[int, int, int] | None = None) -> subprocess.Popen[str]:
    """struck: signal, windows, changes (see above)."""
    environment = {**os.environ, "SIMFLOW_HOME": str(home)}
    program = ["-c", STRUCK, *map(str, map(int, struck))] if struck else ["-m", "simflow"]
    command = [sys.executable, *program, "run", str(scenario), "--json", "--no-tables"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=scenario.parent)


def finish(process: subprocess.Popen[str], expect: int = 0) -> dict:
    out, err = process.communicate(timeout=500)
    assert process.returncode == expect, out[-2000:] + err[-3000:]
    assert "Traceback" not in err
    return json.loads(out) if out and expect == 0 else {}


def content(home: Path) -> dict[str, bytes]:
    return {str(p.relative_to(home)): p.read_bytes() for p in sorted((home / "windows").rglob("*.parquet"))}


def committed(home: Path) -> int:
    runs = list_runs(home)
    return len(runs[0].windows()) if runs else 0


@pytest.fixture(scope="module")
def undisturbed(scenario, tmp_path_factory):
    home = tmp_path_factory.mktemp("undisturbed") / ".simflow"
    return home, finish(start(scenario, home))


def test_a_whole_run_is_done_and_says_so_on_stdout_as_json(undisturbed):
    home, summary = undisturbed
    assert summary["state"] == "done"
    assert summary["windows"] == 6
    assert summary["episodes"]["post"] > 0
    assert find_run(home, "small-tariff").id == summary["run"]


def test_running_again_computes_nothing(scenario, undisturbed):
    home, summary = undisturbed
    before = {p: p.stat().st_mtime_ns for p in (home / "windows").rglob("*") if p.is_file()}
    again = finish(start(scenario, home))
    assert again["run"] == summary["run"]
    assert {p: p.stat().st_mtime_ns for p in (home / "windows").rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("windows", "change"),
    [
        pytest.param(0, 50, id="while the first window is written"),
        pytest.param(2, 28, id="while a window is computed"),
        pytest.param(4, 77, id="when a window is there and the ledger does not say so"),
    ],
)
def test_a_run_killed_at_any_moment_goes_on_from_its_last_whole_window(scenario, undisturbed, tmp_path, windows, change):
    reference, summary = undisturbed
    home = tmp_path / ".simflow"
    finish(start(scenario, home, (signal.SIGKILL, windows, change)), expect=-signal.SIGKILL)
    assert committed(home) == windows
    kept = {p: p.stat().st_mtime_ns for p in (home / "windows").rglob("*.parquet")}
    again = finish(start(scenario, home))
    assert again["state"] == "done"
    assert again["episodes"] == summary["episodes"]
    assert {p: p.stat().st_mtime_ns for p in kept} == kept, "a committed window was written again"
    assert content(home) == content(reference)


def test_interrupting_a_run_leaves_a_state_that_can_be_resumed(scenario, undisturbed, tmp_path):
    reference, _ = undisturbed
    home = tmp_path / ".simflow"
    finish(start(scenario, home, (signal.SIGINT, 1, 28)), expect=130)
    progress = find_run(home, "small-tariff").progress()
    assert progress is not None
    assert progress.state == "stopped"
    assert committed(home) == 1
    finish(start(scenario, home))
    assert content(home) == content(reference)
