"""What a run has spent on models, beside what was forecast for it.

A forecast that somebody waited for (`simflow plan`, or `simflow run` where `limits` are set) is kept under `cache/forecasts/` in the project's state, by the
address of the last window that it speaks of; a run without a model has none, and pays nothing for that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simflow.cli.forecast import Forecast, spends
from simflow.plan import Cell
from simflow.runs import workplace
from simflow.runs.ledger import replace

if TYPE_CHECKING:
    from simflow.store import RunData

COUNTS = ("calls", "replayed", "tokens_in", "tokens_out", "cost")
READ = ("texts", "repeats", "by_builtin", "by_model", "contradictions", "model_parked", "audited", "audit_errors", "audit_doubted")
"""Notes of windows that say who read how much, and what came of the audit."""


def keep(home: Path, cell: Cell, keys: Sequence[str], found: Forecast) -> None:
    """Keep the forecast of a cell whose windows have these addresses; nothing where no model is called. Says so if it cannot be kept."""
    if not found.phases:
        return
    path = _path(workplace(home), cell, keys)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, json.dumps(found.plain() | {"scenario": cell.scenario, "cell": cell.name}, ensure_ascii=False))
    except OSError as error:  # a plan is worth reading on a disk that takes nothing
        click.echo(f"the forecast of {cell.name} is not kept beside the runs: {error}", err=True)


def spending(run: RunData) -> dict[str, Any]:
    """Spent on models by a run: `tokens`, `cost`, `phases` by phase and model; `forecast` and `ratio` (tokens used in parts of its P50), or None.

    `turns`: `turns` of residents that a model speaks for, those `lost`, `reasons` of these by kind; None where nobody speaks.
    `reading`: counts by the names of `READ`, with the `audit_interval` (95 %, Wilson) of the share of wrong readings; None where no model reads.

    Empty where no model is called. A ratio is of whole runs of which nothing was answered from a recording.
    """
    from simflow.run.turns import turns

    if not spends(run.cell):
        return {}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    read = dict.fromkeys(READ, 0)
    for window in run.windows:
        manifest = run.window(window.number).manifest
        for name in READ:
            read[name] += manifest.get("notes", {}).get(name, 0)
        for row in manifest.get("usage", ()):
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
        "reading": _reading(read) if run.cell.models.extractor == "llm" else None,
        "turns": turns(run).plain() if run.cell.speaks else None,
        "forecast": forecast,
        "ratio": round(tokens / expected, 3) if whole and expected else None,
    }


def _reading(read: dict[str, int]) -> dict[str, Any]:
    from simflow.llm.evenness import wilson

    audited = read["audited"]
    return {**read, "audit_interval": [round(end, 4) for end in wilson(read["audit_errors"], audited)] if audited else None}


def words(spent: Mapping[str, Any]) -> Iterator[str]:
    """What there is to say of `spending` beside its phases."""
    from simflow.run.turns import Turns

    forecast, ratio = spent["forecast"], spent["ratio"]
    if forecast is None:
        yield "no forecast was made; `simflow plan` makes one"
    else:
        usual, worse = forecast["tokens"]["p50"], forecast["tokens"]["p90"]
        said = f"forecast {short(usual)} tokens (P90 {short(worse)}), used {short(spent['tokens'])}"
        yield said + (f" ({ratio:.2f} of it)" if ratio is not None else "")
        yield f"forecast {forecast['cost']['p50']:,.4f} USD (P90 {forecast['cost']['p90']:,.4f}), used {spent['cost']:,.4f}"
    if read := spent["reading"]:
        parked = f"; {read['model_parked']:,} could not be read" if read["model_parked"] else ""
        yield (
            f"{read['texts']:,} texts read: {read['by_builtin']:,} by the built-in extractor, {read['by_model']:,} by the model, "
            f"{read['repeats']:,} as repeats{parked}"
        )
        if read["audit_interval"]:
            low, high = read["audit_interval"]
            again = f"; {read['audit_doubted']:,} were read again" if read["audit_doubted"] else ""
            yield (
                f"audit: the model disagreed with {read['audit_errors']:,} of {read['audited']:,} sure readings "
                f"(95 % interval {low:.1%} to {high:.1%}){again}"
            )
    if spent["turns"] and spent["turns"]["turns"]:
        yield str(Turns(spent["turns"]["turns"], spent["turns"]["reasons"]))
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
