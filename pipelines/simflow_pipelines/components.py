"""The component that adds a scenario to any Dagster project, in four lines of YAML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import dagster as dg

from simflow.errors import SimflowError
from simflow.runs import home as state_folder
from simflow.runs import place
from simflow_pipelines.assets import ScenarioAssets
from simflow_pipelines.automation import freshness
from simflow_pipelines.scenario_definitions import load_plan, scenario_definitions


class ScenarioComponent(dg.Component, dg.Model, dg.Resolvable):
    """A simflow scenario as assets: episodes, vectors, edges, personas and snapshot, partitioned by cell and window."""

    scenario: Annotated[
        str,
        dg.Resolver.default(description="The scenario file, relative to this defs.yaml or to the project.", examples=["city.yaml"]),
    ]
    home: Annotated[
        str | None,
        dg.Resolver.default(
            description="Where state goes: a folder, or s3://bucket/prefix; the project's `.simflow` if left out.",
            examples=["/data/simflow"],
        ),
    ] = None
    prefix: Annotated[
        Sequence[str],
        dg.Resolver.default(description="What stands before the scenario's name in each asset key.", examples=[["simulations"]]),
    ] = ()

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Compile the scenario. A scenario that does not compile stops the code location, with file and line."""
        path = self.find(context.path if context.path.is_dir() else context.path.parent, context.project_root)
        try:
            plan = load_plan(path)
        except SimflowError as error:
            raise dg.DagsterInvalidDefinitionError(f"{path}: {error}" + (f" ({error.hint})" if error.hint else "")) from error
        home = self.state(context.project_root)
        return scenario_definitions(
            ScenarioAssets(plan=plan, home=home, prefix=tuple(self.prefix), freshness=freshness(plan.cells[0].schedule))
        )

    def state(self, project: Path) -> Path:
        """Where state goes: `home`, relative to the project, or the project's own."""
        if not self.home:
            return state_folder(project)
        return place(self.home) if "://" in self.home else project / Path(self.home).expanduser()

    def find(self, beside: Path, project: Path) -> Path:
        """The scenario file: beside the defs.yaml, else in the project."""
        candidates = [beside / self.scenario, project / self.scenario]
        for path in candidates:
            if path.is_file():
                return path
        raise dg.DagsterInvalidDefinitionError(f"there is no scenario file '{self.scenario}' (looked at {', '.join(map(str, candidates))})")
