"""Definitions of one scenario, and of all scenarios of a project."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import dagster as dg

from simflow.errors import SimflowError
from simflow.plan import Plan
from simflow_pipelines.assets import ScenarioAssets
from simflow_pipelines.automation import file_sensor, freshness, schedules
from simflow_pipelines.project import SCENARIOS, Project

log = logging.getLogger(__name__)


def load_plan(path: Path) -> Plan:
    """Compile one scenario file."""
    from simflow.scenario import load  # noqa: PLC0415

    plan: Plan = load(path)
    return plan


def scenario_definitions(scenario: ScenarioAssets, job: Any = None) -> dg.Definitions:
    """All that Dagster is told about one scenario. job: its job, where somebody else has made it already."""
    job = job or scenario.job()
    return dg.Definitions(
        assets=[scenario.observed(), scenario.windows()],
        jobs=[job],
        schedules=schedules(scenario, job),
        executor=dg.in_process_executor,
    )


def project_definitions(project: Project, *, tables: bool = True) -> dg.Definitions:
    """Definitions of each scenario of a project that compiles, a sensor on its files, and the tables over all runs.

    A scenario that does not compile, or has another file's name, is named in the log and left out, so that one mistake does not take the
    others away.
    """
    scenarios: dict[str, ScenarioAssets] = {}
    for file in project.files():
        try:
            plan = load_plan(file)
        except SimflowError as error:
            log.error("%s is left out: %s", file, error)  # noqa: TRY400 - the words say it; a traceback would not help
            continue
        made = ScenarioAssets(plan=plan, home=project.home, freshness=freshness(plan.cells[0].schedule))
        if (other := scenarios.setdefault(made.name, made)) is not made:
            log.error("%s is left out: its name, '%s', is that of %s; `scenario:` takes another", file, plan.scenario, other.plan.path)
    found = list(scenarios.values())
    jobs = [scenario.job() for scenario in found]
    parts = [scenario_definitions(scenario, job) for scenario, job in zip(found, jobs, strict=True)]
    if found:
        parts.append(dg.Definitions(sensors=[file_sensor(found, jobs, project.root / SCENARIOS, load_plan)]))
    if tables:
        from simflow_pipelines.tables import Tables  # noqa: PLC0415 - importing dagster-dbt takes seconds of CPU

        parts.append(Tables(project.home).definitions(found))
    return dg.Definitions.merge(*parts) if parts else dg.Definitions()
