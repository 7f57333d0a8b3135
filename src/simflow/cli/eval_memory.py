"""`simflow eval memory`: questions about a run, built from its ground truth, put to its memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from simflow.runs import place


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="Questions of each class; 1070 gives intervals of 3 points.",
)
@click.option("--seed", default=0, show_default=True, help="Which questions are drawn.")
@click.option("--budgets/--no-budgets", default=True, help="Also ask under budgets of 100 to 1,600 tokens.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
def memory(runs: tuple[str, ...], questions: int, seed: int, budgets: bool, as_json: bool, root: Path | None) -> None:
    """Measure what RUNS remember: topical and relational questions, stances now and then, influence, leaks; by arm, with 95 % intervals."""
    from simflow.evaluation.memory import evaluate
    from simflow.runs import find_run, home
    from simflow.store import Store

    state = root or home()
    reports = []
    for name in runs:
        data = Store(state).open(find_run(state, name))
        reports.append(evaluate(data, questions=questions, seed=seed, budgets=budgets, progress=count))
    if as_json:
        click.echo(json.dumps(reports[0] if len(reports) == 1 else reports, indent=1, ensure_ascii=False))
    else:
        click.echo("\n\n".join(table(report) for report in reports))


def count(done: int, total: int) -> None:
    """Say how far it is, where somebody looks."""
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total} questions", err=True, nl=done == total)


def table(report: dict[str, Any]) -> str:
    """A report to be read."""
    from simflow.evaluation.memory import ARMS, TARGETS
    from simflow.evaluation.questions import CLASSES

    lines = [f"{report['run']}: {report['episodes']} episodes, {report['n']} questions", ""]
    lines.append(f"{'':16}" + "".join(f"{arm:>22}" for arm in ARMS) + f"{'target':>9}")
    for kind in CLASSES:
        if kind not in report["arms"]["hybrid"]["classes"]:
            lines.append(f"{kind:16}  none: the run does not hold such a case")
            continue
        cells = [report["arms"][arm]["classes"][kind] for arm in ARMS]
        row = "".join(f"{c['value']:>9.3f} [{c['interval'][0]:.2f}, {c['interval'][1]:.2f}]" for c in cells)
        met = "" if report["targets"][kind]["met"] else "  missed"
        lines.append(f"{kind:16}{row}{TARGETS[kind]:>9.2f}{met}")
    lines += [
        f"{name:16}" + "".join(f"{report['arms'][arm][name]:>22}" for arm in ARMS)
        for name in ("future_leaks", "witness_leaks", "tokens", "cpu_ms")
    ]
    if report["traps"]:
        lines += ["", "traps (hybrid): " + ", ".join(f"{t} {v['value']:.2f} of {v['n']}" for t, v in report["traps"].items())]
    if report["budgets"]:
        lines += ["", "budgets (hybrid)"]
        lines += [f"  {b:>5} tokens  " + "  ".join(f"{k} {v['value']:.2f}" for k, v in row.items()) for b, row in report["budgets"].items()]
    return "\n".join([*lines, "", report["verdict"]["says"]])
