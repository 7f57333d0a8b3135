"""`simflow validate`, `plan`, `diff`, `schema`, `explain-error`: the scenario language on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import click

from simflow.errors import BadInput


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
def plan(path: Path) -> None:
    """Show what a run would compute and cost, before it does."""
    from simflow.scenario import check
    from simflow.scenario.problems import Problems

    made, problems = check(path)
    for problem in problems:
        if made is not None:
            click.echo(problem.render() + "\n", err=True)
    if made is None:
        raise Problems(problems)
    first = made.cells[0]
    agents = sum(p.count for p in first.personas)
    click.echo(f"{made.scenario}: {made.about}")
    click.echo(
        f"{agents:,} agents, {first.clock.ticks:,} ticks, {len(first.windows)} windows of {first.clock.window:,}, {len(made.cells):,} cells"
    )
    for cell in made.cells:
        click.echo(f"  {cell.name}")


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


def _later(name: str) -> click.Command:
    @click.command(name=name)
    def command() -> None:
        raise BadInput(f"simflow {name} is not there yet")

    return command


diff = _later("diff")
