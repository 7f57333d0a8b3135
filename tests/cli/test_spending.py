"""What a forecast leaves behind, and that nothing is worse for want of a place to leave it."""

from __future__ import annotations

import json

from simflow.cli.forecast import Figure, Forecast, Phase
from simflow.cli.spending import keep, short
from simflow.plan import Cell, Topic

CELL = Cell(scenario="study", variant="base", sweep={}, seed=1, topics=(Topic("tariff", ""),))
SOME = Figure(10.0, 20.0)
FOUND = Forecast(SOME, (Phase("act", "gpt-4o-mini", SOME, SOME, SOME, SOME),), "a dry run")


def test_a_forecast_is_kept_beside_the_runs(tmp_path, capsys):
    keep(tmp_path, CELL, ["ab" * 32], FOUND)
    (path,) = (tmp_path / "cache" / "forecasts").iterdir()
    assert json.loads(path.read_text())["cell"] == CELL.name
    assert capsys.readouterr().err == ""


def test_a_forecast_that_cannot_be_kept_is_told_and_stops_nobody(tmp_path, capsys):
    (tmp_path / "cache").write_text("not a folder")
    keep(tmp_path, CELL, ["ab" * 32], FOUND)
    assert f"the forecast of {CELL.name} is not kept" in capsys.readouterr().err


def test_tokens_are_written_to_be_read():
    assert [short(n) for n in (950, 36_100, 1_200_000)] == ["950", "36.1k", "1.2M"]
