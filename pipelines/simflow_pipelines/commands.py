"""`simflow run` and `simflow dev`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simflow.errors import BadInput, NotFound, RunFailed
from simflow.plan import Cell, Plan, slug
from simflow.runs import home as state_folder
from simflow.runs import place, workplace
from simflow_pipelines.heed import heeded

if TYPE_CHECKING:
    from simflow.store import RunData
    from simflow_pipelines.assets import CheckFailed


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--variant", help="Run the cells of this variant only.")
@click.option("--seed", type=int, help="Run the cells of this seed only.")
@click.option("--all", "everything", is_flag=True, help="Run every chosen cell; without it, the first.")
@click.option("--ticks", type=click.IntRange(min=1), help="Run this many ticks instead of the scenario's.")
@click.option("--home", type=place, help="Where state goes: a folder, or s3://BUCKET/PREFIX. Default: .simflow of this project.")
@click.option("--tables/--no-tables", default=True, help="Build the dbt models afterwards. Default: yes.")
@click.option("--replay-only", is_flag=True, help="Take every answer of a model from the recording; fail where one is missing.")
@click.option("--yes", is_flag=True, help="Run although the forecast is beyond the scenario's limits; it stops where a limit is reached.")
@click.option("--json", "as_json", is_flag=True, help="Print what it came to as JSON.")
@click.option("--quiet", is_flag=True, help="No progress, no report.")
@heeded()
def run(
    scenario: Path,
    variant: str | None,
    seed: int | None,
    everything: bool,
    ticks: int | None,
    home: Path | None,
    tables: bool,
    replay_only: bool,
    yes: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a scenario: every stage, every window, resumable.

    Its assets are materialised in this process and recorded in the project's own Dagster instance; `simflow dev` shows them. Windows
    that are there already are not computed again. Exit code 1, with the run kept whole, where one of the scenario's `checks` does not
    hold at its end (other cells go on), or where residents speak by a model and not one of their turns came to anything.
    """
    from simflow.scenario import load

    plan = load(scenario)
    if ticks:
        plan = replace(plan, cells=tuple(replace(c, clock=replace(c.clock, ticks=ticks)) for c in plan.cells))
    cells = chosen(plan, variant=variant, seed=seed, everything=everything)
    where = (home or state_folder(scenario.absolute().parent)).absolute()
    if replay_only:
        _replayable(cells, where)
    elif not yes:
        _within_limits(scenario, cells, where)

    from simflow.cli import report
    from simflow.store import Store
    from simflow_pipelines.materialize import materialize

    broken: list[CheckFailed] = []
    with _watching(quiet=quiet or as_json) as watch:
        made = materialize(plan, cells, where, watch=watch, broken=broken)
    store = Store(where)
    runs = [store.open(m.work.record) for m in made if m.work]
    if as_json:
        found = [{**report.summary(r), "cell": m.cell.name, "dagster_run": m.dagster_run} for r, m in zip(runs, made, strict=True)]
        click.echo(json.dumps(found[0] if len(found) == 1 and not everything else found, ensure_ascii=False, indent=2))
    elif not quiet:
        _tell(scenario, runs)
    if tables:
        _tables(where, quiet=quiet or as_json)
    if len(cells) < len(plan.cells) and not (everything or quiet or as_json):
        _aside(f"this was {cells[0].name}, one of {len(plan.cells)} cells: `simflow run {scenario} --all` runs the others too")
    _spoken(runs, quiet=quiet)
    if len(broken) > 1:
        raise RunFailed(
            "".join([f"{len(broken)} of {len(cells)} cells do not come to what `checks` demand", *(f"\n  {error}" for error in broken)]),
            hint="the runs are whole; `simflow runs RUN` says what the checks found in one",
        )
    if broken:
        raise broken[0]


def _tell(scenario: Path, runs: Sequence[RunData]) -> None:
    """Show a run's report, or a line for each of several."""
    from rich.console import Console

    from simflow.cli import report
    from simflow.cli.runs import console
    from simflow.run.outputs import output_folder

    if len(runs) == 1:
        report.show(runs[0], Console())
    elif runs:
        report.show_study(runs, console())
    for finished in runs:
        if finished.cell.outputs:
            _aside(f"files: {output_folder(finished.cell, scenario)}")


def _spoken(runs: Sequence[RunData], *, quiet: bool) -> None:
    """Say where turns came to nothing. Raises RunFailed for runs in which all did: they are whole, but silent for a reason that nobody chose."""
    from simflow.run.turns import turns

    spoken = {run.record.id: turns(run) for run in runs if run.cell.speaks}
    if silent := [f"{name}: {found}" for name, found in spoken.items() if found.all and found.lost == found.all]:
        raise RunFailed(
            f"no turn came to anything. {'; '.join(silent)}",
            hint="`simflow prompts RUN --list` lists what was asked, `--agent NAME` shows what came back; what the run has is kept",
        )
    for name, found in spoken.items():
        if found.lost and not quiet:
            click.secho(f"{name}: {found}", fg="yellow", err=True)


def _aside(text: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(text, style="dim", soft_wrap=True, highlight=False)


def chosen(plan: Plan, *, variant: str | None, seed: int | None, everything: bool) -> list[Cell]:
    """The cells that the options name: the first of them, or all. Raises NotFound with what there is."""
    if variant is not None and slug(variant) not in {slug(c.variant) for c in plan.cells}:
        raise NotFound(f"there is no variant '{variant}'", hint=f"there are {', '.join(dict.fromkeys(c.variant for c in plan.cells))}")
    if seed is not None and seed not in {c.seed for c in plan.cells}:
        raise NotFound(f"there is no seed {seed}", hint=f"there are {', '.join(str(s) for s in sorted({c.seed for c in plan.cells}))}")
    found = [c for c in plan.cells if (variant is None or slug(c.variant) == slug(variant)) and (seed is None or c.seed == seed)]
    if not found:
        raise NotFound(f"variant '{variant}' has no cell with seed {seed}")
    return found if everything else found[:1]


def _replayable(cells: list[Cell], home: Path) -> None:
    from simflow.run.parts import Parts

    os.environ["SIMFLOW_LLM_CACHE"] = "replay-only"
    for cell in cells:
        Parts(cell, workplace(home)).ready()


def _within_limits(scenario: Path, cells: list[Cell], home: Path) -> None:
    # As `simflow plan` does: a run that cannot end within its limits is refused before anything is paid.
    if all(c.limits.tokens is None and c.limits.cost is None for c in cells):
        return
    from simflow.cli.outlook import beyond

    if found := beyond(cells, home):
        raise BadInput(
            f"the forecast is beyond the limits of {scenario}: {'; '.join(found)}",
            hint="raise `limits`, make the study smaller, or run until a limit is reached with --yes",
        )


@contextmanager
def _watching(*, quiet: bool) -> Iterator[Any]:
    from simflow.cli.progress import TerminalProgress
    from simflow_pipelines.assets import Watch

    with TerminalProgress(shown=False if quiet else None) as terminal:

        class Drawn(Watch):
            def listener(self, cell: Cell) -> Callable[[Any], None] | None:
                return terminal.named(f"{cell.scenario} {cell.name}")

        yield Drawn()


def _tables(home: Path, *, quiet: bool) -> None:
    from rich.console import Console

    from simflow_pipelines import warehouse
    from simflow_pipelines.materialize import materialize_tables

    console = Console(stderr=True, quiet=quiet or not sys.stderr.isatty())
    with console.status("building the tables of all runs (Ctrl-C leaves the run whole)"):
        built = materialize_tables(home)
    if not quiet:
        words = "tables built" if built else "tables are as they should be"
        Console(stderr=True).print(f"{words}: {warehouse.path(home)}", style="dim", soft_wrap=True, highlight=False)


@click.command()
@click.option("--port", type=int, default=3000, show_default=True, help="Port of the web page.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--home", type=place, help="Where state is: a folder, or s3://BUCKET/PREFIX. Default: .simflow of this project.")
def dev(port: int, host: str, home: Path | None) -> None:
    """Open Dagster's UI on this project: its scenarios as assets, the runs so far, schedules and sensors."""
    from simflow_pipelines.instance import dagster_home
    from simflow_pipelines.project import Project

    project = Project.find()
    where = (home or project.home).absolute()
    if not project.files():
        raise BadInput(f"there are no scenarios in {project.root / 'scenarios'}", hint="`simflow init` makes a project that runs")
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(dagster_home(where)),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "SIMFLOW_HOME": str(where),
        "SIMFLOW_PROJECT": str(project.root),
    }
    click.echo(f"Dagster on http://{host}:{port} (state in {where}); Ctrl-C ends it", err=True)
    command = [sys.executable, "-m", "dagster", "dev", "-m", "simflow_pipelines.definitions", "--port", str(port), "--host", host]
    os.execve(sys.executable, command, environment)  # noqa: S606 - becomes the server, so that Ctrl-C reaches it as it should
