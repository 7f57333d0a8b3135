"""`outputs` end to end: a scenario is run, and what it leaves in the project is what the store holds."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from simflow.measures.record import run_measures
from simflow.run import open_cell
from simflow.run.outputs import write_page
from simflow.runs import Ledger

PART = """scenario: Left behind
outputs: {{tables: [episodes, exposures, edges, personas, measures], format: {form}, report: {report}}}
population: {{agents: 24}}
clock: {{ticks: 24, window: 12}}
models: {{embedder: static}}
"""


def left(cell, root: Path, form: str, report: str = "true"):
    made = cell(PART.format(form=form, report=report))
    run = open_cell(root / "scenario.yaml", made, root / ".simflow")
    for number in range(len(run.windows)):
        run.window(number)
    (folder,) = (root / "outputs").glob("*/*")
    return run.data(), folder


def as_text(value):
    """A value of the store as CSV says it."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, list) else value


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / ".simflow"))
    (tmp_path / ".simflow").mkdir()
    return tmp_path


def test_tables_as_csv_are_the_tables_of_the_run(cell, project):
    data, folder = left(cell, project, "csv")
    assert sorted(p.name for p in folder.iterdir()) == [
        "edges.csv",
        "episodes.csv",
        "exposures.csv",
        "measures.csv",
        "personas.csv",
        "report.md",
    ]
    for name in ("episodes", "exposures", "edges", "personas", "measures"):
        rows = list(csv.DictReader(io.StringIO((folder / f"{name}.csv").read_bytes().decode("utf-8"), newline="")))
        expected = (run_measures(data) if name == "measures" else data.table(name)).to_pylist()
        assert len(rows) == len(expected) > 0, name
        for row, known in zip(rows, expected, strict=True):
            assert set(row) == set(known)
            for column, value in known.items():
                if isinstance(value, float):
                    assert math.isclose(float(row[column]), value, rel_tol=1e-6) or (math.isnan(value) and row[column] == "nan"), column
                elif isinstance(value, int) and not isinstance(value, bool):
                    assert int(row[column]) == value
                else:
                    assert row[column] == as_text(value), column


def test_tables_as_parquet_are_equal_to_those_of_the_run(cell, project):
    data, folder = left(cell, project, "parquet", report="false")
    assert not (folder / "report.md").exists()
    for name in ("episodes", "exposures", "edges", "personas"):
        assert pq.read_table(folder / f"{name}.parquet").equals(data.table(name)), name


def test_the_page_counts_what_happened(cell, project):
    data, folder = left(cell, project, "csv")
    page = (folder / "report.md").read_text("utf-8")
    kinds = data.table("episodes")["kind"].to_pylist()
    for kind in set(kinds):
        assert f"| {kind} | {kinds.count(kind):,} |" in page
    assert f"{len(kinds):,} episodes" in page


def test_the_page_says_what_the_checks_found(cell, project):
    data, folder = left(cell, project, "csv")
    assert "## Checks" not in (folder / "report.md").read_text("utf-8")
    Ledger(data.record).judged(
        1, [("unique_episodes", True, "", True), ("check_a", True, "a: 1", True), ("pattern_b", False, "b: 2", False)]
    )
    assert write_page(data, data.cell, str(project / "scenario.yaml")) == folder
    page = (folder / "report.md").read_text("utf-8")
    assert "| check_a | yes | a: 1 |\n| pattern_b | no | b: 2 |\n" in page
    assert "unique_episodes" not in page


def test_outputs_are_outside_what_shapes_a_window(cell, project):
    with_them, _ = left(cell, project, "csv")
    made = cell("scenario: Left behind\npopulation: {agents: 24}\nclock: {ticks: 24, window: 12}\nmodels: {embedder: static}\n")
    other = open_cell(project / "scenario.yaml", made, project / ".simflow")
    assert list(other.keys) == [w.key for w in with_them.windows]
