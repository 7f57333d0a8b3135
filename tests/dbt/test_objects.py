"""The tables over state on object storage."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import duckdb
import pytest

from simflow.run import open_cell
from simflow.runs import list_runs, place
from simflow.scenario import load
from simflow.store import Store
from simflow_pipelines import warehouse
from simflow_pipelines.catalog import write_catalog
from simflow_pipelines.dbt_project import dbt_folder

VILLAGE = """\
scenario: village
topics: {square: A plan to pave the village square.}
population: {agents: 12, personas: {farmer: {share: 50%}, baker: {share: 50%}}}
clock: {ticks: 20, window: 10}
extract: {every: 5}
"""


@pytest.mark.slow
def test_tables_are_built_from_an_object_store(object_store, tmp_path):
    (tmp_path / "village.yaml").write_text(VILLAGE)
    home = place(object_store)
    work = open_cell(tmp_path / "village.yaml", load(tmp_path / "village.yaml").cells[0], home)
    for number in range(2):
        work.window(number)
    assert write_catalog(home) == {"runs": 1, "windows": 2}
    file = warehouse.path(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    folder = str(dbt_folder())
    environment = os.environ | {
        "SIMFLOW_HOME": str(home),
        "SIMFLOW_WAREHOUSE": str(file),
        "DBT_TARGET_PATH": str(tmp_path),
        "DBT_LOG_PATH": str(tmp_path),
    }
    dbt = Path(sysconfig.get_path("scripts")) / "dbt"
    done = subprocess.run(
        [dbt, "run", "--select", "+episodes", "+runs", "--project-dir", folder, "--profiles-dir", folder],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    [record] = list_runs(home)
    run = Store(home).open(record)
    with duckdb.connect(str(file), read_only=True) as tables:
        [(episodes, exposures, windows)] = tables.sql("select episodes, exposures, windows from runs").fetchall()
        texts = tables.sql("select episode, sentence from episodes order by 1").fetchall()
    assert (episodes, exposures, windows) == (run.table("episodes").num_rows, run.table("exposures").num_rows, 2)
    expected = run.table("episodes").select(["episode", "sentence"]).to_pylist()
    assert texts == sorted((e["episode"], e["sentence"]) for e in expected)
