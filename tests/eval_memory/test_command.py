"""`simflow eval memory`: a scenario's file stands for a run of each of its seeds."""

from __future__ import annotations

import json

from click.testing import CliRunner

from simflow.cli.eval_memory import memory

SCENARIO = """\
scenario: tiny
about: A small town.
topics: {water tariff: A plan to raise household water bills by 18%.}
population:
  agents: 20
  personas:
    resident: {share: 100%}
clock: {ticks: 40, window: 20}
models: {embedder: static}
experiment: {seed: 3, repeats: 2}
"""


def test_a_scenario_is_run_where_it_is_missing_and_measured_over_its_seeds(tmp_path):
    path, home = tmp_path / "tiny.yaml", tmp_path / ".simflow"
    path.write_text(SCENARIO, "utf-8")
    asked = ["--home", str(home), "--questions", "4", "--no-budgets"]
    result = CliRunner().invoke(memory, [str(path), *asked, "--json"], catch_exceptions=False)
    report = json.loads(result.stdout)
    assert [p["run"].rsplit("-", 1)[-1] for p in report["runs"]] == ["s3", "s4"]
    assert all(p["ticks"] == 40 for p in report["runs"])
    assert report["targets"]["leaks"]["met"]
    again = CliRunner().invoke(memory, [*(p["run"] for p in report["runs"]), *asked], catch_exceptions=False)
    assert "hybrid by run" in again.stdout
    assert len(list((home / "runs" / "tiny").iterdir())) == 2
