"""`simflow eval measures`: what happened in a run, by window, from its ground truth."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from simflow.runs import place


@click.command()
@click.argument("run")
@click.option("--window", type=int, help="Show this window; default: the last.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Also write all windows as CSV.")
@click.option("--json", "as_json", is_flag=True, help="All windows, one JSON object a row.")
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
def measures(run: str, window: int | None, output: Path | None, *, as_json: bool, root: Path | None) -> None:
    """Measure the windows of RUN: stances, who reads whom, activity, cascades. docs/measures.md says how."""
    import pyarrow.compute as pc
    from pyarrow import csv

    from simflow.errors import NotFound
    from simflow.measures.record import run_measures
    from simflow.runs import find_run, home
    from simflow.store import Store

    state = root or home()
    data = Store(state).open(find_run(state, run))
    if not data.windows:
        raise NotFound(f"{data.record.id} has no committed window yet", hint="wait for its first window, or run it again")
    table = run_measures(data, progress=count)
    if output is not None:
        csv.write_csv(table, output)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        for row in table.to_pylist():
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    shown = data.windows[-1].number if window is None else window
    rows = table.filter(pc.equal(table["window"], shown)).to_pylist()
    if not rows:
        raise NotFound(f"{data.record.id} has no window {shown}", hint=f"windows 0 to {data.windows[-1].number}")
    click.echo(f"{data.record.id}, window {shown}, up to tick {rows[0]['tick']}")
    section: tuple[str | None, str | None] = ("", "")
    for row in sorted(rows, key=lambda r: (r["topic"] or "", r["group"] or "")):
        if (row["topic"], row["group"]) != section:
            section = (row["topic"], row["group"])
            click.echo("\n" + ", ".join(part for part in (row["topic"] or "the whole world", row["group"]) if part))
        click.echo(f"  {row['measure']:24}{row['value']:>12.4g}")


def count(done: int, total: int) -> None:
    """Say how far it is, where somebody looks."""
    if sys.stderr.isatty():
        click.echo(f"\rwindow {done} of {total}\033[K", err=True, nl=done == total)
