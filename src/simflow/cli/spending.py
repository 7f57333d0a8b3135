"""What a run has spent on models, beside what was forecast for it.

A forecast that somebody waited for (`simflow plan`, or `simflow run` where `limits` are set) is kept under `cache/forecasts/` in the project's state, by the
address of the last window that it speaks of; a run without a model has none, and pays nothing for that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simflow.cli.forecast import Forecast, spends
from simflow.plan import Cell
from simflow.runs import workplace
from simflow.runs.ledger import replace

if TYPE_CHECKING:
    from simflow.store import RunData

COUNTS = ("calls", "replayed", "tokens_in", "tokens_out", "cost")


def keep(home: Path, cell: Cell, keys: Sequence[str], found: Forecast) -> None:
    """Keep the forecast of a cell whose windows have these addresses; nothing where no model is called."""
    if not found.phases:
        return
    path = _path(workplace(home), cell, keys)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, json.dumps(found.plain() | {"scenario": cell.scenario, "cell": cell.name}, ensure_ascii=False))


def spending(run: RunData) -> dict[str, Any]:
    """Spent on models by a run: `tokens`, `cost`, `phases` by phase and model; `forecast` and `ratio` (tokens used in parts of its P50), or None.

    Empty where no model is called. A ratio is of whole runs of which nothing was answered from a recording.
    """
    if not spends(run.cell):
        return {}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for window in run.windows:
        for row in run.window(window.number).manifest.get("usage", ()):
            sums = rows.setdefault((row["phase"], row["model"]), dict.fromkeys(COUNTS, 0))
            for name in COUNTS:
                sums[name] += row[name]
    spent = list(rows.values())
    tokens = sum(r["tokens_in"] + r["tokens_out"] for r in spent)
    forecast = _kept(run)
    whole = len(run.windows) == len(run.cell.windows) and not any(r["replayed"] for r in spent)
    expected = forecast["tokens"]["p50"] if forecast else 0.0
    return {
        "tokens": tokens,
        "cost": round(sum(r["cost"] for r in spent), 6),
        "phases": [{"phase": phase, "model": model, **row, "cost": round(row["cost"], 6)} for (phase, model), row in sorted(rows.items())],
        "forecast": forecast,
        "ratio": round(tokens / expected, 3) if whole and expected else None,
    }


def words(spent: Mapping[str, Any]) -> Iterator[str]:
    """What there is to say of `spending` beside its phases."""
    forecast, ratio = spent["forecast"], spent["ratio"]
    if forecast is None:
        yield "no forecast was made; `simflow plan` makes one"
    else:
        usual, worse = forecast["tokens"]["p50"], forecast["tokens"]["p90"]
        said = f"forecast {short(usual)} tokens (P90 {short(worse)}), used {short(spent['tokens'])}"
        yield said + (f" ({ratio:.2f} of it)" if ratio is not None else "")
        yield f"forecast {forecast['cost']['p50']:,.4f} USD (P90 {forecast['cost']['p90']:,.4f}), used {spent['cost']:,.4f}"
    if replayed := sum(p["replayed"] for p in spent["phases"]):
        yield f"{replayed:,} answers came from the recording and cost nothing"


def short(count: float) -> str:
    """A number of tokens to be read: 950, 36.1k, 1.2M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return f"{count:.0f}"


def _kept(run: RunData) -> dict[str, Any] | None:
    from simflow.run.cellrun import window_keys

    path = _path(run.store.work, run.cell, window_keys(run.cell, run.record.about().get("ids", {})))
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def _path(work: Path, cell: Cell, keys: Sequence[str]) -> Path:
    return work / "cache" / "forecasts" / f"{keys[-1][:40]}-{cell.clock.ticks}.json"
