"""Arms are compared pair by pair, at a tick that all their runs reached, and the interval is that of the pairs."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from simflow.cli import main
from simflow.cli.report import show_study
from simflow.errors import BadInput
from simflow.evaluation.outcomes import pairs
from simflow.measures.record import run_measures
from simflow.run import open_cell
from simflow.runs import find_run, list_runs
from simflow.scenario import load
from simflow.store import Store

STUDY = """\
scenario: hamlet
topics: {pond: A plan to fill the pond.}
population: {agents: 24, personas: {old: {share: 50%, stance: {pond: -0.4 ± 0.3}}, young: {share: 50%}}}
clock: {tick: 1h, ticks: 32, window: 16}
models: {embedder: static}
events: {news: {at: 20, post: The pond will be filled., stance: 0.9}}
experiment:
  repeats: 3
  variants:
    with news: {}
    without: {events.news: null}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A project in which every cell has run."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "scenarios").mkdir()
    file = folder / "scenarios" / "hamlet.yaml"
    file.write_text(STUDY, "utf-8")
    for cell in load(file).cells:
        run = open_cell(str(file), cell, folder / ".simflow")
        for number in range(len(cell.windows)):
            run.window(number)
    return folder


@pytest.fixture
def said(study, monkeypatch, capsys):
    monkeypatch.setenv("SIMFLOW_HOME", str(study / ".simflow"))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*args):
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(["diff", *args])
        out = capsys.readouterr()
        return int(caught.value.code or 0), out.out, out.err

    return run


def test_variants_are_paired_by_seed_and_their_intervals_are_students(said, study):
    code, out, _ = said("hamlet/with news", "hamlet/without", "--json")
    assert code == 0
    found = json.loads(out)["outcomes"]
    assert (found["tick"], found["pairs"], found["differ_from"]) == (32, 3, 16)

    home = study / ".simflow"
    store = Store(home)
    last = {}
    for record in list_runs(home):
        rows = run_measures(store.open(record)).to_pylist()
        last[record.cell] = {(r["topic"], r["group"], r["measure"]): r["value"] for r in rows if r["tick"] == 32}
    t = 4.302652729749464  # of two degrees of freedom, at .975
    assert len(found["measures"]) > 30
    for row in found["measures"]:
        key = (row["topic"], row["persona"], row["measure"])
        d = np.array([last[f"without-s{s}"][key] - last[f"with-news-s{s}"][key] for s in (1, 2, 3)])
        half = t * d.std(ddof=1) / math.sqrt(3)
        assert row["difference"] == pytest.approx(d.mean(), abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx((d.mean() - half, d.mean() + half), abs=1e-9)
    assert any(row["difference"] for row in found["measures"])


def test_a_single_pair_gets_no_interval_and_says_so(said):
    code, out, _ = said("with-news-s1", "without-s1")
    assert code == 0
    assert "One pair of runs" in out
    assert "95 %" not in out
    assert "variant: with news -> without" in out


def test_a_table_of_several_pairs_fits_a_narrow_terminal(said):
    code, out, _ = said("hamlet/with news", "hamlet/without")
    assert code == 0
    assert "Means of 3 pairs" in out
    assert "…" not in out.split("At tick 32", 1)[1]


def test_arms_without_a_seed_in_common_are_refused(study):
    home = study / ".simflow"
    runs = {record.cell: Store(home).open(record) for record in list_runs(home)}
    with pytest.raises(BadInput, match="seed and sweep"):
        pairs([runs["with-news-s1"], runs["with-news-s2"]], [runs["without-s3"]])


def test_several_cells_get_a_line_each_and_the_command_that_compares_them(study):
    home = study / ".simflow"
    out = io.StringIO()
    records = sorted(list_runs(home), key=lambda r: r.cell)
    show_study([Store(home).open(record) for record in records], Console(file=out, width=100))
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines if " done " in line] == [f"{v}-s{s}" for v in ("with-news", "without") for s in (1, 2, 3)]
    assert any(line.startswith("  simflow diff hamlet/with-news hamlet/without ") for line in lines)


def test_a_cell_is_found_by_its_name(study):
    home = study / ".simflow"
    assert find_run(home, "hamlet/without-s2").cell == "without-s2"
    assert find_run(home, "with-news-s3").cell == "with-news-s3"
