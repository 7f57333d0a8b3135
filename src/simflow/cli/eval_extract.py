"""`simflow eval extract`: stances and answers read from labelled text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--worlds",
    is_flag=True,
    help="Also on generated texts, in phrases that nothing was trained on: the held-out half, and those of another hand.",
)
@click.option(
    "--texts", default=1000, show_default=True, type=click.IntRange(min=10), help="Generated posts, and as many answers, of each language."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def extract(folders: tuple[Path, ...], worlds: bool, texts: int, as_json: bool) -> None:
    """Measure the built-in extractor on FOLDERS of labelled episodes: macro-F1, sign accuracy at its coverage, beside the commonest label."""
    from simflow.errors import BadInput
    from simflow.evaluation.extract import evaluate, read
    from simflow.evaluation.extract_worlds import worlds as generated

    if not folders and not worlds:
        raise BadInput("nothing to measure on", hint="give a folder with episodes.jsonl, or --worlds")
    reports = [evaluate(read(folder)) for folder in folders]
    made = generated(texts) if worlds else {}
    if as_json:
        whole: Any = reports[0] if len(reports) == 1 and not worlds else {"sets": reports, "worlds": made}
        click.echo(json.dumps(whole, indent=1, ensure_ascii=False))
        return
    head = f"{'':26}{'n':>7}{'macro-F1':>10}{'majority':>10}{'for':>7}{'against':>9}{'sign right':>22}{'of polar':>10}{'forced F1':>11}"
    rows = [(name, code, row) for name, by in made.items() for code, row in by.items()]
    click.echo("\n".join([head, *(line(r) for r in reports), *(line(row[k]) for _, _, row in rows for k in ("opinion", "attitude"))]))
    for name, code, row in rows:
        found = row["relations"]
        low, high = found["relation_f1_interval"]
        click.echo(
            f"{name}/{code}: F1 of all relations {found['relation_f1']:.3f} [{low:.3f}, {high:.3f}], coverage {found['coverage']:.2f}"
        )


def line(report: dict[str, Any]) -> str:
    """One set in one line."""
    said = report["answers"]
    sign = said["sign_accuracy"]
    right = "none said" if sign["value"] is None else f"{sign['value']:.3f} [{sign['interval'][0]:.2f}, {sign['interval'][1]:.2f}]"
    return (
        f"{report['set']:26}{report['n']:>7}{said['macro_f1']:>10.3f}{report['majority']['macro_f1']:>10.3f}{said['f1_for']:>7.2f}"
        f"{said['f1_against']:>9.2f}{right:>22}{said['polar_coverage']:>10.2f}{report['forced']['macro_f1']:>11.3f}"
    )
