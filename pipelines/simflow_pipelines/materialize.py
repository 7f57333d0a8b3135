"""Materialising a scenario in this process, recorded in the project's own Dagster instance."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

from simflow.errors import RunFailed, Stopped
from simflow.plan import Cell, Plan
from simflow_pipelines import warehouse
from simflow_pipelines.assets import CheckFailed, Inspector, Opener, Result, ScenarioAssets, Watch, Work, open_work
from simflow_pipelines.instance import open_inline
from simflow_pipelines.interrupts import DagsterExecutionInterruptedError
from simflow_pipelines.partitions import range_tags
from simflow_pipelines.scenario_definitions import scenario_definitions

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class Made:
    """What one materialised cell came to."""

    cell: Cell
    work: Work | None = None
    results: list[Result] = field(default_factory=list)
    dagster_run: str = ""


class _Collect(Watch):
    """Keeps what happened and passes it on; the work's own exceptions come out whole, not as Dagster wraps them."""

    def __init__(self, inner: Watch) -> None:
        self.inner = inner
        self.made: dict[str, Made] = {}
        self.error: BaseException | None = None

    def opened(self, cell: Cell, work: Work, numbers: list[int]) -> None:
        self.made.setdefault(cell.name, Made(cell)).work = work
        self.inner.opened(cell, work, numbers)

    def listener(self, cell: Cell) -> Callable[[Any], None] | None:
        return self.inner.listener(cell)

    def committed(self, cell: Cell, result: Result) -> None:
        self.made[cell.name].results.append(result)
        self.inner.committed(cell, result)

    def failed(self, cell: Cell, error: BaseException) -> None:
        self.error = KeyboardInterrupt() if isinstance(error, DagsterExecutionInterruptedError) else error
        self.inner.failed(cell, error)


@contextmanager
def _silent() -> Iterator[None]:
    # What Dagster has to say goes to its event log, not to the analyst's terminal.
    before = logging.getLogger("dagster").level
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logging.getLogger("dagster").setLevel(before)


def materialize(
    plan: Plan,
    cells: list[Cell],
    home: Path,
    *,
    watch: Watch | None = None,
    opener: Opener = open_work,
    inspector: Inspector | None = None,
    broken: list[CheckFailed] | None = None,
) -> list[Made]:
    """Materialise all windows of some cells of a plan, one Dagster run for each cell.

    broken: where it is given, a cell whose run is whole and does not come to what the scenario demands is noted there, and the others go on.
    Raises what the work raised: SimflowError, KeyboardInterrupt when interrupted. What was committed before stays.
    """
    collect = _Collect(watch or Watch())
    scenario = ScenarioAssets(plan=plan, home=home, watch=collect, opener=opener, inspector=inspector or Inspector())
    job = scenario_definitions(scenario).resolve_job_def(scenario.name)
    with _silent(), open_inline(home) as instance:
        for cell in cells:
            tags = {**range_tags(cell, 0, len(cell.windows) - 1), **scenario.run_tags(cell)}
            collect.error = None
            result = _execute(job, instance, tags)
            if not result.success and broken is not None and isinstance(collect.error, CheckFailed) and collect.error.own:
                broken.append(collect.error)
            elif not result.success:
                raise collect.error or RunFailed(f"Dagster run {result.run_id} of {cell.name} failed", hint="`simflow dev` shows its log")
            collect.made.setdefault(cell.name, Made(cell)).dagster_run = result.run_id
    return list(collect.made.values())


def materialize_tables(home: Path) -> str | None:
    """Build all dbt models over the runs so far. Returns the Dagster run's id, None if there was nothing new to build from.

    Raises RunFailed with what dbt says if a model or one of its tests fails.
    """
    if warehouse.fresh(home):
        return None
    from simflow_pipelines.tables import GROUP, Tables  # noqa: PLC0415 - importing dagster-dbt takes seconds of CPU

    with _silent(), open_inline(home) as instance, redirect_stdout(io.StringIO()) as said:
        result = _execute(Tables(home).definitions().resolve_job_def(GROUP), instance, {})
    if not result.success:
        faults = [line for line in said.getvalue().splitlines() if "ERROR" in line or "FAIL" in line]
        raise RunFailed(
            "the tables were not built" + "".join(f"\n  {line}" for line in faults[:20]),
            hint=f"Dagster run {result.run_id}: `simflow dev` shows its log. The scenario's own run is complete",
        )
    return result.run_id


def _execute(job: dg.JobDefinition, instance: dg.DagsterInstance, tags: dict[str, str]) -> dg.ExecuteInProcessResult:
    try:
        return job.execute_in_process(run_config=QUIET, instance=instance, tags=tags, raise_on_error=False)
    except DagsterExecutionInterruptedError as error:
        raise error.__cause__ if isinstance(error.__cause__, Stopped) else KeyboardInterrupt() from None
