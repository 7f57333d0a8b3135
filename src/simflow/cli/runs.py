"""`simflow runs`: the ledger in words or JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from simflow.runs import RunRecord, find_run, home, list_runs, place

COLOURS = {"done": "green", "failed": "red", "stopped": "yellow", "running": "cyan", "silent": "magenta"}


@click.command()
@click.argument("run", required=False)
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
@click.option("--log", "log", type=int, default=0, metavar="N", help="Show the last N lines of the run's log.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def runs(run: str | None, root: Path | None, log: int, as_json: bool) -> None:
    """List the runs of this project, or report on one (an id, a part of one, or a scenario's name)."""
    state = root or home()
    if run is None:
        found = list_runs(state)
        if as_json:
            click.echo(json.dumps([row(r) for r in found], indent=1, ensure_ascii=False))
        elif not found:
            click.echo(f"no runs under {state}; `simflow run SCENARIO` makes one", err=True)
        else:
            console().print(_listing(found))
        return
    record = find_run(state, run)
    if log:
        for line in record.log(last=log):
            click.echo(
                json.dumps(line, ensure_ascii=False)
                if as_json
                else f"{line.get('time', '')[:19]}  {line.get('level', ''):7}  {line.get('message', '')}"
            )
        return
    from simflow.cli.report import show, summary
    from simflow.store import Store

    data = Store(state).open(record)
    if as_json:
        click.echo(json.dumps(summary(data), indent=1, ensure_ascii=False))
    else:
        show(data, Console())


def console() -> Console:
    """A console whose tables are whole where they go into a file or another program, which have no width."""
    found = Console()
    return found if found.is_terminal or "COLUMNS" in os.environ else Console(width=200)


def row(record: RunRecord) -> dict[str, Any]:
    """One run as plain values."""
    progress = record.progress()
    return {
        "run": record.id,
        "path": str(record.path),
        **(dataclasses.asdict(progress) | {"stale": progress.stale} if progress else {"state": "unknown"}),
    }


def _listing(found: list[RunRecord]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name, side in (
        ("run", "left"),
        ("state", "left"),
        ("window", "right"),
        ("tick", "right"),
        ("episodes", "right"),
        ("edges", "right"),
        ("heard", "right"),
    ):
        table.add_column(name, justify=side, no_wrap=name != "run", overflow="fold")  # type: ignore[arg-type]
    for record in found:
        p = record.progress()
        if p is None:
            table.add_row(record.id, Text("unreadable", style="red"))
            continue
        state = "silent" if p.stale else p.state
        table.add_row(
            record.id,
            Text(state, style=COLOURS.get(state, "")),
            f"{p.window}/{p.windows}",
            f"{p.tick}/{p.ticks}",
            f"{p.episodes:,}",
            f"{p.edges:,}",
            _ago(time.time() - p.heartbeat),
        )
    return table


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{max(seconds, 0):.0f} s ago"
