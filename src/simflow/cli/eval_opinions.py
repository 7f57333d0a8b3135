"""`simflow eval opinions`: the dynamics against people who changed their minds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("where", type=click.Path(exists=True, path_type=Path))
@click.option("--seed", default=0, show_default=True, help="Seed of the drawn people.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def opinions(where: Path, seed: int, *, as_json: bool) -> None:
    """Predict last answers of the panels in WHERE from first ones: a panel.jsonl, its folder, or the folder above.

    The engine's Friedkin-Johnsen update and a weighted average are fitted to some groups and measured on the others. Errors are in
    standard deviations of first answers.
    """
    from simflow.evaluation.opinions import evaluate

    result = evaluate(where, seed=seed)
    click.echo(json.dumps(result, indent=1, ensure_ascii=False) if as_json else table(result))


def table(result: dict[str, Any]) -> str:
    """One line a condition, and what holds."""
    lines = [f"{'':34}{'':>8}   error (rmse)                             weight            spread after/before"]
    lines.append(
        f"{'condition':34}{'answers':>8}{'none':>9}{'social':>9}{'average':>9}{'engine':>9}{'people':>10}{'engine':>9}{'people':>10}{'engine':>9}"
    )
    for row in result["conditions"]:
        error, weight, spread = row["error"], row["weight"], row["spread_after_over_before"]
        figures = [error["no_change"], error["social_mean"], error["weighted_average"], error["engine"]]
        cells = (
            "".join(f"{x:>9.3f}" for x in figures)
            + f"{weight['people']:>10.3f}{weight['engine']:>9.3f}{spread['people']:>10.3f}{spread['engine']:>9.3f}"
        )
        misses = [name for name, holds in row["holds"].items() if holds is False]
        lines.append(f"{row['condition']:34}{row['answers']:>8}{cells}" + (f"   misses: {', '.join(misses)}" if misses else ""))
    lines += [f"too few answers: {name}" for name in result["too_small"]]
    lines += ["", f"in {result['unit']}", result["method"]]
    lines += [f"{'holds' if holds else 'MISSES':7}{name.replace('_', ' ')}" for name, holds in result["holds"].items()]
    return "\n".join(lines)
