"""The engine against people who changed their minds: cross-validated error, weight and spread, by condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput
from simflow.evaluation.opinions_engine import draw, forecast
from simflow.evaluation.opinions_fit import fit, folds, slope, social_mean, spread_ratio
from simflow.evaluation.opinions_panels import Panel, panels

F64 = npt.NDArray[np.float64]

DRAWS = 20
STILL = 0.05
"""A weight nearer to 0 than this counts as not moving."""
NEAR = 0.1
"""Spread ratios closer than this count as alike."""
_LEAST = 20


def evaluate(where: Path, *, seed: int = 0) -> dict[str, Any]:
    """Report on all panels under `where`.

    Everything that is fitted (the weighted average as well as the engine) is fitted to some groups and measured on the others, each
    group left out once. Errors are root mean squares of last answers, in standard deviations of first answers of the item.
    Raises BadInput if there are no panels, or none with enough answers.
    """
    found = panels(where)
    rows = [_condition(panel, seed) for panel in found if len(panel.table) >= _LEAST]
    if not rows:
        raise BadInput(f"no condition in {where} has {_LEAST} people with a first and a later answer")
    social, control = [r for r in rows if r["social"]], [r for r in rows if not r["social"]]
    return {
        "unit": "standard deviations of first answers, by item; logs where first answers are skewed beyond 2; answers count up to 3",
        "method": "fitted to some groups, measured on the others, each group left out once; engine: Friedkin-Johnsen, expected last answers",
        "conditions": rows,
        "too_small": [panel.name for panel in found if len(panel.table) < _LEAST],
        "holds": {
            "error_at_or_below_weighted_average": all(r["holds"]["error"] for r in social),
            "still_in_control": all(r["holds"]["still"] for r in control),
            "spread_within_0.1": all(r["holds"]["spread"] for r in rows),
        },
    }


def _condition(panel: Panel, seed: int) -> dict[str, Any]:
    n = len(panel.table)
    expected, average, drawn = np.empty(n), np.empty(n), np.empty((DRAWS, n))
    chosen: list[dict[str, Any]] = []
    shown = social_mean(panel)
    change = panel.last - panel.first
    for held in folds(panel):
        train, test = panel.take(~held), panel.take(held)
        expected_weight = slope(change[~held], shown[~held] - panel.first[~held])
        average[held] = panel.first[held] + expected_weight * (shown[held] - panel.first[held])
        habits, form = fit(train, seed=seed)
        expected[held] = forecast(test, habits)
        for k in range(DRAWS):
            drawn[k, held] = draw(test, habits, seed + 1_000 + k)
        chosen.append(
            {
                "form": form.name,
                "weight": round(float(habits.susceptibility(train).mean()), 4),
                "display": round(habits.shown, 4),
                "chat": round(habits.chat, 4),
                "all_or_none": habits.all_or_none,
                "reads": habits.reads or "all",
            }
        )
    forecasts = {"no_change": panel.first, "social_mean": shown, "weighted_average": average, "engine": expected}
    error = {name: round(float(np.sqrt(np.mean((f - panel.last) ** 2))), 3) for name, f in forecasts.items()}
    absolute = {name: round(float(np.mean(np.abs(f - panel.last))), 3) for name, f in forecasts.items()}
    weight = {
        "people": round(slope(change, shown - panel.first), 3),
        "engine": round(slope(expected - panel.first, shown - panel.first), 3),
    }
    spread = {
        "people": round(spread_ratio(panel, panel.last), 3),
        "engine": round(float(np.mean([spread_ratio(panel, one) for one in drawn])), 3),
    }
    return {
        "condition": panel.name,
        "social": panel.social,
        "answers": n,
        "skipped": panel.skipped,
        "groups": len(np.unique(panel.group)),
        "items": len(panel.items),
        "rounds": panel.rounds,
        "error": error,
        "mean_absolute_error": absolute,
        "weight": weight,
        "spread_after_over_before": spread,
        "fits": chosen,
        "holds": {
            "error": error["engine"] <= error["weighted_average"] if panel.social else None,
            "still": None if panel.social else abs(weight["engine"]) < STILL,
            "spread": abs(spread["people"] - spread["engine"]) < NEAR,
        },
    }
