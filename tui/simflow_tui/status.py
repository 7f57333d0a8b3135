"""The state of all runs as plain text or plain values, for scripts and for terminals that can do no more."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from simflow_tui.figures import ago, duration, fit, money, percent, plain, rate, short
from simflow_tui.watch import STATES, RunView


def as_text(runs: Sequence[RunView]) -> str:
    """One line a run, aligned, without colours."""
    if not runs:
        return "no runs yet"
    table = [("", "run", "state", "window", "done", "ticks/s", "left", "episodes", "tokens", "cost", "seen")]
    for run in runs:
        p = run.progress
        table.append(
            (
                STATES[run.state][0],
                plain(run.id),
                " ".join(dict.fromkeys((run.state, run.health[0]))) if run.live or run.state == "silent" else run.state,
                f"{p.window}/{p.windows}",
                percent(run.fraction).strip(),
                rate(p.rate) if p.rate else "-",
                duration(p.eta) if run.live else "-",
                short(p.episodes),
                short(p.tokens),
                money(p.cost),
                ago(run.age) if p.heartbeat else "-",
            )
        )
    from rich.cells import cell_len  # noqa: PLC0415 - kept with its use

    widths = [max(cell_len(row[i]) for row in table) for i in range(len(table[0]))]
    return "\n".join(
        "  ".join(fit(cell, w, right=i > 2) for i, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip() for row in table
    )


def as_values(runs: Sequence[RunView]) -> list[dict[str, Any]]:
    """What a script may want to know of each run; names are those of the ledger."""
    return [
        {
            "run": run.id,
            "path": str(run.record.path),
            "state": run.state,
            "health": run.health[0],
            "seconds_since_heartbeat": round(run.age, 1),
            "elapsed": round(run.elapsed, 1),
            "limits": {k: {"used": used, "limit": limit} for k, (used, limit) in run.used().items()},
            **{k: v for k, v in dataclasses.asdict(run.progress).items() if k != "state"},
        }
        for run in runs
    ]
