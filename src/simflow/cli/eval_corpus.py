"""`simflow eval corpus`: retrieval on a folder of episodes and questions with evidence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--scope",
    type=click.Choice(["auto", "conversation", "pool"]),
    default="auto",
    show_default=True,
    help="Ask each question of its own conversation, or of all together; auto pools where most conversations have at most ten turns.",
)
@click.option("--embedder", default="builtin", show_default=True, help="Which embedder, by its entry point's name.")
@click.option("--cache", type=click.Path(file_okay=False, path_type=Path), help="Where vectors are kept; default: the project's .simflow.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def corpus(folder: Path, scope: str, embedder: str, cache: Path | None, *, as_json: bool) -> None:
    """Rank the turns of FOLDER/episodes.jsonl for each question of FOLDER/questions.jsonl, by each arm and by plain BM25.

    The settings are the same for every folder. Shares are means over questions, with 95 % intervals.
    """
    from simflow.evaluation.corpus import read
    from simflow.evaluation.corpus_scores import evaluate
    from simflow.memory.embedders import named
    from simflow.runs import home

    read_in = read(folder, pooled={"auto": None, "conversation": False, "pool": True}[scope])
    result = evaluate(read_in, named(embedder), cache=cache or home() / "cache" / "embeddings", progress=count)
    click.echo(json.dumps(result, indent=1, ensure_ascii=False) if as_json else table(result))


def count(stage: str, done: int, total: int) -> None:
    """Say how far it is, where somebody looks."""
    if sys.stderr.isatty():
        click.echo(f"\r{stage} {done}/{total}\033[K", err=True, nl=done == total)


def table(result: dict[str, Any]) -> str:
    """The figures of each arm in percent, and recall at 10 by category."""
    from simflow.evaluation.corpus_scores import MEASURES

    lines = [
        f"{result['corpus']}: {result['n']} questions, {result['conversations']} conversations, {result['turns']} turns, asked by {result['scope']}"
    ]
    lines += [f"  {count} {what}" for what, count in result["notes"].items()]
    lines.append(f"{'':10}" + "".join(f"{m.replace('_', ' '):>26}" for m in MEASURES))
    for arm, row in result["arms"].items():
        lines.append(f"{arm:10}" + "".join(f"{_cell(row, m):>26}" for m in MEASURES))
    lines.append("\nrecall at 10 by category")
    for name in result["arms"]["hybrid"]["by_category"]:
        rows = {arm: row["by_category"][name] for arm, row in result["arms"].items()}
        figures = "  ".join(f"{arm} {100 * r['recall_at_10']:.1f}" for arm, r in rows.items())
        lines.append(f"  {name:28} n {rows['hybrid']['n']:>5}   {figures}")
    return "\n".join(lines)


def _cell(row: dict[str, Any], measure: str) -> str:
    if row[measure] is None:
        return "-"
    low, high = row["intervals"][measure]
    return f"{100 * row[measure]:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
