"""`simflow validate`, `plan`, `diff`, `schema`, `explain-error`: the scenario language on a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simflow.errors import BadInput
from simflow.plan import Cell, revive

if TYPE_CHECKING:
    from simflow.runs import RunRecord


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help='Print {"version": 1, "problems": [...]}.')
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.pass_context
def validate(context: click.Context, paths: tuple[Path, ...], as_json: bool, strict: bool) -> int:
    """Check scenarios and say what is wrong, and where. Exit code 0 if all are fine, 2 if not."""
    from simflow.scenario import check
    from simflow.scenario.problems import report, summary

    del context
    found = []
    failed = False
    for path in paths:
        plan, problems = check(path)
        failed = failed or plan is None or (strict and bool(problems))
        found += problems
        if not as_json:
            for problem in problems:
                click.echo(problem.render() + "\n", err=True)
            size = f"{len(plan.cells):,} cell{'' if len(plan.cells) == 1 else 's'}" if plan else "not usable"
            click.echo(f"{path}: {size}; {summary(problems)}")
    if as_json:
        click.echo(report(found))
    return 2 if failed else 0


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--forecast/--no-forecast",
    default=None,
    help="Run the built-in engine for a while to say how much will happen; by default where a model is called.",
)
@click.option("--yes", is_flag=True, help="Accept a forecast beyond the scenario's limits.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(path: Path, forecast: bool | None, yes: bool, as_json: bool) -> None:
    """Show what a run would compute and cost, before it does. Refuses a forecast beyond `limits` without --yes."""
    from simflow.cli.outlook import outlook, render
    from simflow.runs import home
    from simflow.scenario import check
    from simflow.scenario.problems import Problems

    made, problems = check(path)
    if made is None:
        raise Problems(problems)
    for problem in problems:
        click.echo(problem.render() + "\n", err=True)
    view = outlook(made, home(), dry_runs=forecast)
    click.echo(json.dumps(view.plain(), ensure_ascii=False, indent=1) if as_json else "\n".join(render(view)))
    if (beyond := view.beyond()) and not yes:
        raise BadInput(
            f"the forecast is beyond the limits of {path}: {'; '.join(beyond)}",
            hint="raise `limits`, make the study smaller, or accept it with --yes",
        )


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
def diff(before: str, after: str, as_json: bool) -> None:
    """Compare two scenarios (files), two runs, or two variants: what differs in what they mean, and what came of it.

    Of runs, the measures at the last tick that both reached are compared. SCENARIO/VARIANT stands for the newest run of each of its cells:
    they are paired by seed and sweep, and the differences get 95 % intervals.
    """
    from simflow.scenario.changes import brief, differences

    (one, first), (two, second) = _arm(before), _arm(after)
    found = list(differences(one, two))
    came = None
    if first and second:
        from simflow.cli.contrast import contrast, plain, table

        came = contrast(first, second)
    if as_json:
        rows = [{"key": c.key, "before": c.before, "after": c.after, "place": c.place} for c in found]
        outcomes = {"outcomes": plain(came)} if came else {}
        click.echo(json.dumps({"version": 1, "differences": rows, **outcomes}, ensure_ascii=False, indent=1))
        return
    for change in found:
        click.echo(f"{change.key}: {brief(change.before)} -> {brief(change.after)}" + (f"   {change.place}" if change.place else ""))
    for what, a, b in (("variant", one.variant, two.variant), ("sweep", one.sweep, two.sweep), ("seed", one.seed, two.seed)):
        if a != b:
            click.echo(f"{what}: {brief(a)} -> {brief(b)}")
    if not found:
        click.echo("the two mean the same", err=True)
    if came:
        table(came, before, after)


def _arm(name: str) -> tuple[Cell, list[RunRecord]]:
    """A cell and, unless it is a scenario's file, the runs of it and of its like."""
    from simflow.runs import find_arm, home
    from simflow.scenario import load

    path = Path(name)
    if path.suffix in {".yaml", ".yml"} and (path.is_file() or ("/" in name and not (path.parent / "progress.json").exists())):
        return load(name).cells[0], []
    records = find_arm(home(), name)
    stored = records[0].about().get("cell")
    if not isinstance(stored, dict):
        raise BadInput(f"{records[0].id} does not say what it ran", hint="its run.yaml is missing or damaged")
    return revive(stored), records


@click.command()
@click.option("--explain", "key", metavar="KEY", help="Say what a key does and what reads it: memory.episodes.half_life, or half_life.")
@click.option("--reference", is_flag=True, help="Print the reference of all keys as Markdown.")
def schema(key: str | None, reference: bool) -> None:
    """Print the JSON Schema of scenarios, or say what reads a key."""
    if key:
        from simflow.scenario.reference import explain

        click.echo(explain(key))
    elif reference:
        from simflow.scenario.reference import markdown

        click.echo(markdown(), nl=False)
    else:
        from simflow.scenario.jsonschema import json_schema

        click.echo(json.dumps(json_schema(), ensure_ascii=False, indent=1))


@click.command()
@click.argument("code", required=False)
def explain_error(code: str | None) -> None:
    """Explain an error code; without one, list them all."""
    from simflow.scenario.catalogue import page, pages

    if code:
        click.echo(page(code).markdown())
        return
    for one in pages().values():
        click.echo(f"{one.code}  {'warning' if one.warning else 'error  '}  {one.title}")
