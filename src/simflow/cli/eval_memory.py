"""`simflow eval memory`: questions about a run, built from its ground truth, put to its memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simflow.runs import place

if TYPE_CHECKING:
    from simflow.runs import RunRecord


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="Questions of each class, over all runs together; 1070 gives intervals of 3 points.",
)
@click.option("--seed", default=0, show_default=True, help="Which questions are drawn.")
@click.option("--budgets/--no-budgets", default=True, help="Also ask under budgets of 100 to 1,600 tokens.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
def memory(runs: tuple[str, ...], questions: int, seed: int, budgets: bool, as_json: bool, root: Path | None) -> None:
    """Measure what RUNS remember: topical and relational questions, stances now and then, influence, leaks; by arm, with 95 % intervals.

    A run is an id, a part of one, a scenario's name or `latest`. A scenario's file stands for its first cell of each seed, run as far as that
    is missing. Several runs are measured one by one and together.
    """
    from simflow.evaluation.memory import evaluate
    from simflow.runs import home
    from simflow.store import Store

    state = root or home()
    records = [record for name in runs for record in _records(name, state)]
    report = evaluate([Store(state).open(r) for r in records], questions=questions, seed=seed, budgets=budgets, progress=count)
    click.echo(json.dumps(report, indent=1, ensure_ascii=False) if as_json else table(report))


def _records(name: str, state: Path) -> list[RunRecord]:
    from simflow.runs import find_run

    if Path(name).suffix not in {".yaml", ".yml"}:
        return [find_run(state, name)]
    from simflow.run import open_cell
    from simflow.scenario import load

    cells: dict[int, Any] = {}
    for cell in load(name).cells:
        cells.setdefault(cell.seed, cell)
    found = []
    for number, cell in enumerate(cells.values(), 1):
        going = open_cell(name, cell, state)
        for window in range(len(going.windows)):
            if sys.stderr.isatty():
                click.echo(
                    f"\rseed {cell.seed} ({number} of {len(cells)}): window {window + 1} of {len(going.windows)}\033[K", err=True, nl=False
                )
            going.window(window)
        found.append(going.data().record)
    return found


def count(done: int, total: int) -> None:
    """Say how far it is, where somebody looks."""
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total} questions", err=True, nl=done == total)


def table(report: dict[str, Any]) -> str:
    """A report to be read."""
    from simflow.evaluation.memory import ARMS, TARGETS
    from simflow.evaluation.questions import CLASSES

    names = ", ".join(part["run"] for part in report["runs"])
    lines = [f"{names}: {report['episodes']} episodes, {report['n']} questions", ""]
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
    alone = [f"{kind} {row['value']:.3f}" for kind, row in report["beliefs_alone"].items() if row]
    if alone:
        lines += ["", "hybrid, if only beliefs were read and no episode: " + ", ".join(alone)]
    if len(report["runs"]) > 1:
        lines += ["", "hybrid by run"]
        lines += [f"  {p['run']}: " + ", ".join(f"{k} {v['value']:.2f}" for k, v in p["hybrid"].items()) for p in report["runs"]]
    lines += ["", "claims: how sure they are, and how often they are right"]
    for name, row in report["confidence"].items():
        bins = "  ".join(f"{b['confidence']:.2f}: {b['right']:.2f} of {b['n']}" for b in row["bins"])
        lines.append(
            f"  {name:20} {row['n']:>7,}  sure {row['confidence']:.3f}  right {row['right']:.3f}  off {row['calibration_error']:.3f}   {bins}"
        )
    if report["traps"]:
        lines += ["", "traps (hybrid): " + ", ".join(f"{t} {v['value']:.2f} of {v['n']}" for t, v in report["traps"].items())]
    if report["budgets"]:
        lines += ["", "budgets (hybrid)"]
        lines += [f"  {b:>5} tokens  " + "  ".join(f"{k} {v['value']:.2f}" for k, v in row.items()) for b, row in report["budgets"].items()]
    return "\n".join([*lines, "", report["verdict"]["says"]])
