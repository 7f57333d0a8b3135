"""Definitions of one scenario, and of all scenarios of a project."""

from __future__ import annotations

import logging
from pathlib import Path

import dagster as dg

from simflow.errors import SimflowError
from simflow.plan import Plan
from simflow_pipelines.assets import ScenarioAssets
from simflow_pipelines.project import Project

log = logging.getLogger(__name__)


def load_plan(path: Path) -> Plan:
    """Compile one scenario file."""
    from simflow.scenario import load  # noqa: PLC0415

    plan: Plan = load(path)
    return plan


def scenario_definitions(scenario: ScenarioAssets) -> dg.Definitions:
    """All that Dagster is told about one scenario."""
    return dg.Definitions(assets=[scenario.observed(), scenario.windows()], jobs=[scenario.job()], executor=dg.in_process_executor)


def project_definitions(project: Project) -> dg.Definitions:
    """Definitions of each scenario of a project that compiles; one that does not is named in the log and left out."""
    parts = []
    for file in project.files():
        try:
            plan = load_plan(file)
        except SimflowError as error:
            log.error("%s is left out: %s", file, error)  # noqa: TRY400 - the words say it; a traceback would not help
            continue
        parts.append(scenario_definitions(ScenarioAssets(plan=plan, home=project.home)))
    return dg.Definitions.merge(*parts) if parts else dg.Definitions()
