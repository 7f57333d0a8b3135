"""`simflow eval cascades`: the dynamics against cascades that happened."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

WORLDS = 24


@click.command()
@click.argument("where", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--worlds", default=WORLDS, show_default=True, type=click.IntRange(1), help="Worlds to let the engine make cascades in, twelve each."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the worlds.")
@click.option(
    "--cache", type=click.Path(file_okay=False, path_type=Path), help="Where made cascades are kept; default: the project's .simflow."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def cascades(where: Path, worlds: int, seed: int, cache: Path | None, *, as_json: bool) -> None:
    """Predict size, depth and breadth over time of the cascades in WHERE (cascade_curves.jsonl or episodes.jsonl).

    The engine makes cascades in many worlds; which of them count is fitted to some of the real ones and measured on the others.
    """
    from simflow.evaluation.cascades import evaluate
    from simflow.evaluation.cascades_engine import library
    from simflow.runs import home

    made = library(worlds, seed=seed, cache=cache or home() / "cache" / "cascades", progress=count)
    result = evaluate(where, made, seed=seed)
    click.echo(json.dumps(result, indent=1) if as_json else table(result))


def count(done: int, total: int) -> None:
    """Say how far it is, where somebody looks."""
    if sys.stderr.isatty():
        click.echo(f"\rworlds {done}/{total}\033[K", err=True, nl=done == total)


def table(result: dict[str, Any]) -> str:
    """Errors by forecast and kind."""
    lines = [f"{result['cascades']} cascades; {result['method']}"]
    for title, key in (("whole curve", "error"), ("from six hours on", "error_from_six_hours_on")):
        kinds = list(next(iter(result[key].values())))
        lines.append(f"\n{title:28}" + "".join(f"{kind:>9}" for kind in kinds))
        lines += [f"{name.replace('_', ' '):28}" + "".join(f"{row[kind]:>9.3f}" for kind in kinds) for name, row in result[key].items()]
    lines += ["", result["unit"]]
    lines += [f"{'holds' if holds else 'MISSES':7}{name.replace('_', ' ')}" for name, holds in result["holds"].items()]
    return "\n".join(lines)
