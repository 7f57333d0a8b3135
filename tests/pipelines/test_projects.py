"""What a data team meets: dg's checks on this project, and a scenario in a project of its own made by dg's scaffolding."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPTS = Path(sysconfig.get_path("scripts"))
SCENARIO = """\
scenario: village
topics: {square: A plan to pave the village square.}
population: {agents: 30, personas: {farmer: {share: 50%}, baker: {share: 50%}}}
clock: {ticks: 20, window: 10}
extract: {every: 5}
"""


def dg(folder: Path, *arguments: str, python: Path = Path(sys.executable), **environment: str) -> str:
    place = folder / ".dagster"
    place.mkdir(exist_ok=True)
    (place / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    done = subprocess.run(
        [python, SCRIPTS / "dg", *arguments],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "SIMFLOW_HOME"} | {"DAGSTER_HOME": str(place), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_this_project_passes_dgs_own_checks(tmp_path, root):
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "village.yaml").write_text(SCENARIO)
    said = dg(tmp_path, "check", "defs", "--target-path", str(root / "pipelines"), SIMFLOW_PROJECT=str(tmp_path))
    assert "All definitions loaded successfully" in said


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("team")
    create = SCRIPTS / "create-dagster"
    subprocess.run([create, "project", "scratch", "--no-uv-sync"], cwd=folder, check=True, capture_output=True)
    project = folder / "scratch"
    place = project / "src" / "scratch" / "defs" / "village"
    place.mkdir()
    (place / "defs.yaml").write_text(
        "type: simflow_pipelines.components.ScenarioComponent\nattributes:\n  scenario: village.yaml\n  prefix: [simulations]\n"
    )
    (place / "village.yaml").write_text(SCENARIO)
    return project


def test_four_lines_and_the_wheel_add_a_scenario_to_another_project_whose_windows_can_be_launched(scratch, installed):
    here = {"python": installed / "python", "PYTHONPATH": str(scratch / "src"), "PATH": f"{installed}:{SCRIPTS}:{os.environ['PATH']}"}
    assert "All definitions loaded successfully" in dg(scratch, "check", "defs", **here)
    listed = dg(scratch, "list", "defs", "--json", **here)
    assert all(f"simulations/village/{name}" in listed for name in ("plan", "episodes", "vectors", "edges", "personas", "snapshot"))
    assert materialized(scratch, here, "--partition", "base-s1|000") == {"base-s1|000"}
    assert materialized(scratch, here, "--partition-range", "base-s1|000...base-s1|001") == {"base-s1|000", "base-s1|001"}
    assert len(list((scratch / ".simflow" / "runs" / "village").iterdir())) == 1


def materialized(project: Path, here: dict, *what: str) -> set[str]:
    """Launch some partitions; all that are there then."""
    dg(project, "launch", "--assets", "group:simulations_village", *what, **here)
    import dagster

    with dagster.DagsterInstance.from_config(str(project / ".dagster")) as instance:
        return instance.get_materialized_partitions(dagster.AssetKey(["simulations", "village", "snapshot"]))


def test_a_mistake_in_defs_yaml_is_named_with_its_line(scratch):
    file = scratch / "src" / "scratch" / "defs" / "village" / "defs.yaml"
    right = file.read_text()
    file.write_text("type: simflow_pipelines.components.ScenarioComponent\nattributes:\n  scenaro: village.yaml\n")
    try:
        done = subprocess.run(
            [SCRIPTS / "dg", "check", "yaml"],
            cwd=scratch,
            env=os.environ | {"PYTHONPATH": str(scratch / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        file.write_text(right)
    assert done.returncode != 0
    assert "defs.yaml:3" in done.stdout + done.stderr
    assert "scenaro" in done.stdout + done.stderr


def test_a_backfill_through_the_daemon_runs_each_window_once_in_order_and_a_cell_in_one_run(tmp_path):
    (tmp_path / "scenarios").mkdir()
    text = SCENARIO.replace("ticks: 20", "ticks: 30") + "experiment: {seed: 1, repeats: 2}\n"
    (tmp_path / "scenarios" / "village.yaml").write_text(text)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("daemon_backfill.py"), tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    import json

    found = json.loads(done.stdout)
    assert found["status"] == "COMPLETED_SUCCESS", (tmp_path / "daemon.log").read_text()[-3000:]
    assert len(found["runs"]) == 2
    assert {r["from"].split("|")[1] for r in found["runs"]} == {"000"}
    assert {r["to"].split("|")[1] for r in found["runs"]} == {"002"}
    assert found["computed"] == found["distinct"] == 6
    assert found["ordered"]
    assert set(found["partitions"].values()) == {6}
