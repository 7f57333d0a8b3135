"""What came of two arms, side by side: what `simflow diff` says of runs and variants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from simflow.errors import NotFound
from simflow.evaluation.outcomes import Outcome, Outcomes, outcomes, pairs
from simflow.run.outputs import TOLD
from simflow.runs import RunRecord, home
from simflow.store import Store


def contrast(first: Sequence[RunRecord], second: Sequence[RunRecord]) -> Outcomes:
    """Compare the runs of two arms. Raises NotFound for a run without a committed window, BadInput if nothing pairs."""
    store = Store(home())
    arms = []
    for records in (first, second):
        runs = [store.open(record) for record in records]
        if not all(run.windows for run in runs):
            empty = next(run.record.id for run in runs if not run.windows)
            raise NotFound(f"{empty} has no committed window yet", hint="`simflow runs` says how far it is")
        arms.append(runs)
    return outcomes(pairs(*arms))


def plain(came: Outcomes) -> dict[str, Any]:
    """As plain values: every measure."""
    rows = [
        {
            "topic": row.topic,
            "persona": row.group,
            "measure": row.measure,
            "a": row.first,
            "b": row.second,
            "difference": row.difference,
            **({"low": c.difference.low, "high": c.difference.high, "correlation": c.correlation} if (c := row.contrast) else {}),
        }
        for row in came.rows
    ]
    return {"tick": came.tick, "pairs": came.pairs, "differ_from": came.since, "measures": rows}


def table(came: Outcomes, before: str, after: str) -> None:
    """Print the measures that say most, where they differ."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    told = [row for row in came.rows if row.measure in TOLD]
    differing = [row for row in told if row.first != row.second or (row.contrast and row.contrast.deviation > 0)]
    click.echo()
    if came.since is None:
        click.echo(f"the same windows up to tick {came.tick:,}")
        return
    several = came.pairs > 1
    title = f"At tick {came.tick:,}, after windows that differ from tick {came.since:,} on"
    shown = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), header_style="dim")
    shown.add_column("", no_wrap=True)
    for name in ("A", "B", "B - A", *(["95 %"] if several else [])):
        shown.add_column(name, justify="right", no_wrap=True)
    previous = ""
    for row in differing:
        place = ", ".join(word for word in (row.topic, row.group) if word)
        if place != previous:
            shown.add_row(Text(place, style="bold", overflow="ellipsis"))
        difference = Text(_figure(row.difference, sign=True), _style(row))
        shown.add_row(("  " if place else "") + row.measure, _figure(row.first), _figure(row.second), difference, *_range(row))
        previous = place
    console.print(shown)
    click.echo(
        f"A is {before}, B is {after}; {len(told) - len(differing)} of {len(told)} measures do not differ. --json has all {len(came.rows)}."
    )
    if several:
        click.echo(f"Means of {came.pairs} pairs of the same seed, with 95 % intervals of their differences over the seeds.")
    else:
        click.echo("One pair of runs: how far chance alone would take them apart is not known. `experiment.repeats` gives more seeds.")


def _figure(value: float, *, sign: bool = False) -> str:
    form = f"{value:+,.3g}" if sign else f"{value:,.3g}"
    return form if abs(value) < 1e3 else f"{value:+,.0f}" if sign else f"{value:,.0f}"


def _range(row: Outcome) -> list[str]:
    return (
        [f"{_figure(row.contrast.difference.low, sign=True)} to {_figure(row.contrast.difference.high, sign=True)}"] if row.contrast else []
    )


def _style(row: Outcome) -> str:
    # Coloured only where the interval leaves 0 out: a single pair says nothing of that kind.
    if row.contrast is None or row.contrast.difference.low <= 0 <= row.contrast.difference.high:
        return ""
    return "green" if row.difference > 0 else "red"
