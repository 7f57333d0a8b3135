"""`simflow run` in a process of its own: killed, interrupted, run again. The bytes do not tell the difference."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simflow.runs import find_run, list_runs

SCENARIO = """\
from: {base}
scenario: small-tariff
population: {{agents: 60}}
clock: {{ticks: 300, window: 50}}
extract: {{every: 50}}
memory: {{persona: {{refresh: 100}}}}
events: {{leak watch is muted: {{at: 5d, until: 8d}}, shops feel it: null}}
experiment: {{repeats: 1, sweep: null, variants: null}}
ask: null
checks: null
"""


@pytest.fixture(scope="module")
def scenario(root, tmp_path_factory):
    path = tmp_path_factory.mktemp("scenario") / "small-tariff.yaml"
    path.write_text(SCENARIO.format(base=root / "scenarios" / "water-tariff.yaml"), "utf-8")
    return path


def start(scenario: Path, home: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "SIMFLOW_HOME": str(home)}
    command = [sys.executable, "-m", "simflow", "run", str(scenario), "--json", "--no-tables"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True, cwd=scenario.parent
    )


def finish(process: subprocess.Popen[str], expect: int = 0) -> dict:
    out, err = process.communicate(timeout=300)
    assert process.returncode == expect, out[-2000:] + err[-3000:]
    return json.loads(out) if expect == 0 else {}


def content(home: Path) -> dict[str, bytes]:
    return {str(p.relative_to(home)): p.read_bytes() for p in sorted((home / "windows").rglob("*.parquet"))}


def committed(home: Path) -> int:
    runs = list_runs(home)
    return len(runs[0].windows()) if runs else 0


def wait_for(home: Path, windows: int, process: subprocess.Popen[str]) -> None:
    for _ in range(6000):
        if committed(home) >= windows or process.poll() is not None:
            break
        time.sleep(0.05)
    assert process.poll() is None, process.communicate()[1][-3000:]
    assert committed(home) >= windows


@pytest.fixture(scope="module")
def undisturbed(scenario, tmp_path_factory):
    home = tmp_path_factory.mktemp("undisturbed") / ".simflow"
    began = time.monotonic()
    summary = finish(start(scenario, home))
    return home, summary, time.monotonic() - began


def test_a_whole_run_is_done_and_says_so_on_stdout_as_json(undisturbed):
    home, summary, _ = undisturbed
    assert summary["state"] == "done"
    assert summary["windows"] == 6
    assert summary["episodes"]["post"] > 0
    assert find_run(home, "small-tariff").id == summary["run"]


def test_running_again_computes_nothing(scenario, undisturbed):
    home, summary, _ = undisturbed
    before = {p: p.stat().st_mtime_ns for p in (home / "windows").rglob("*") if p.is_file()}
    again = finish(start(scenario, home))
    assert again["run"] == summary["run"]
    assert {p: p.stat().st_mtime_ns for p in (home / "windows").rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("after", [0, 2, 4])
def test_a_run_killed_at_any_moment_goes_on_from_its_last_whole_window(scenario, undisturbed, tmp_path, after):
    reference, summary, seconds = undisturbed
    home = tmp_path / ".simflow"
    process = start(scenario, home)
    if after:
        wait_for(home, after, process)
    pause = random.random() * seconds / 8
    time.sleep(pause)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = {p: p.stat().st_mtime_ns for p in (home / "windows").rglob("*.parquet")}
    again = finish(start(scenario, home))
    assert again["state"] == "done"
    assert again["episodes"] == summary["episodes"]
    assert {p: p.stat().st_mtime_ns for p in kept} == kept, (
        f"a committed window was written again (killed {pause:.2f} s after window {after})"
    )
    assert content(home) == content(reference), f"killed {pause:.2f} s after window {after}"


def test_interrupting_a_run_leaves_a_state_that_can_be_resumed(scenario, undisturbed, tmp_path):
    reference, _, _ = undisturbed
    home = tmp_path / ".simflow"
    process = start(scenario, home)
    wait_for(home, 1, process)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err[-3000:]
    assert "Traceback" not in err
    progress = find_run(home, "small-tariff").progress()
    assert progress is not None
    assert progress.state == "stopped"
    assert 1 <= committed(home) < 6
    finish(start(scenario, home))
    assert content(home) == content(reference)
