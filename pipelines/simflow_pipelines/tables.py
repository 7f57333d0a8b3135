"""The dbt models as Dagster assets: `tables/<model>`, over the windows of all runs of a project, in `.simflow/warehouse.duckdb`."""

import io
import os
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
from dagster import AssetExecutionContext
from dagster_dbt import DagsterDbtTranslator, DbtCliResource, DbtProject, dbt_assets

from simflow.errors import RunFailed
from simflow.runs import workplace
from simflow.runs.ledger import replace
from simflow.runs.lock import held
from simflow_pipelines import warehouse
from simflow_pipelines.catalog import write_catalog
from simflow_pipelines.dbt_project import dbt_folder

GROUP = "tables"
POOL = "simflow_warehouse"
"""The warehouse is one file with one writer."""

BEHIND = {
    "agents": "episodes",
    "episodes": "episodes",
    "exposures": "episodes",
    "turns": "episodes",
    "claims": "edges",
    "edges": "edges",
    "personas": "personas",
    "measures": "snapshot",
    "runs": "snapshot",
    "windows": "snapshot",
}
"""dbt source -> the asset of each scenario that it is a view of."""


class Translator(DagsterDbtTranslator):
    """Keys and groups: marts are `tables/<model>`, the rest `tables/<schema>/<model>`, sources `windows/<table>` and `catalog/<table>`."""

    def get_asset_key(self, dbt_resource_props: Mapping[str, Any]) -> dg.AssetKey:
        """Where a model or source stands."""
        name = dbt_resource_props["name"]
        if dbt_resource_props["resource_type"] == "source":
            return dg.AssetKey([dbt_resource_props["source_name"], name])
        schema = (dbt_resource_props.get("config") or {}).get("schema")
        return dg.AssetKey(["tables", schema, name] if schema else ["tables", name])

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str | None:
        """All in one group."""
        del dbt_resource_props
        return GROUP


@dataclass(frozen=True)
class Tables:
    """The dbt project over one project's state."""

    home: Path

    @property
    def work(self) -> Path:
        """The folder of this machine that holds the warehouse."""
        return workplace(self.home)

    @property
    def target(self) -> Path:
        """Where dbt writes; never into its own project, which may be installed read-only."""
        return self.work / "dbt" / "target"

    def environment(self) -> dict[str, str]:
        """What dbt is told through its environment."""
        return {
            "SIMFLOW_HOME": str(self.home),
            "SIMFLOW_WAREHOUSE": str(warehouse.path(self.home)),
            "DBT_TARGET_PATH": str(self.target),  # also where dagster-dbt looks for what has been parsed before
            "DBT_LOG_PATH": str(self.work / "dbt" / "logs"),
            "DO_NOT_TRACK": "1",
        }

    @contextmanager
    def _environment(self) -> Iterator[None]:
        before = {name: os.environ.get(name) for name in self.environment()}
        os.environ.update(self.environment())
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    @cached_property
    def project(self) -> DbtProject:
        """The prepared project: parsed at first use and whenever its files have changed, into `.simflow/dbt`."""
        folder = dbt_folder()
        self.target.mkdir(parents=True, exist_ok=True)
        project = DbtProject(project_dir=folder, profiles_dir=folder, target_path=self.target)
        stamp, digest = self.target / "parsed", warehouse.project_digest(folder)
        with self._locked("parse"):
            if not project.manifest_path.exists() or not stamp.exists() or stamp.read_text("utf-8") != digest:
                self._parse(folder)
                replace(stamp, digest)
        return project

    def _parse(self, folder: Path) -> None:
        # In this process: dagster-dbt has imported dbt already, and starting another one costs as much as parsing.
        from dbt.cli.main import dbtRunner  # noqa: PLC0415

        with self._environment(), redirect_stdout(io.StringIO()) as said:
            result = dbtRunner().invoke(["parse", "--quiet", "--project-dir", str(folder), "--profiles-dir", str(folder)])
        if not result.success:
            raise RunFailed(f"dbt does not understand {folder}: {result.exception or said.getvalue().strip()}")

    def cli(self, project: DbtProject) -> DbtCliResource:
        """The dbt of this Python environment, whatever is on the PATH."""
        return DbtCliResource(project_dir=project, dbt_executable=str(Path(sysconfig.get_path("scripts")) / "dbt"))

    @contextmanager
    def _locked(self, what: str) -> Iterator[None]:
        with held(self.work / "locks" / what, wait=True):
            yield

    def assets(self) -> dg.AssetsDefinition:
        """The models, built by one step."""

        @dbt_assets(
            manifest=self.project.manifest_path, project=self.project, dagster_dbt_translator=Translator(), name="build_tables", pool=POOL
        )
        def tables(context: AssetExecutionContext, dbt: DbtCliResource):  # type: ignore[no-untyped-def]  # noqa: ANN202 - dbt_assets reads it
            """List the runs, then build what is selected."""
            with self._locked("warehouse"), self._environment():
                rows = write_catalog(self.home)
                context.log.info("%d runs, %d windows", rows["runs"], rows["windows"])
                build = dbt.cli(["build", "--exclude-resource-type", "unit_test"], context=context)
                yield from build.stream()
                if build.is_successful() and not context.is_subset:
                    warehouse.remember(self.home)

        made: dg.AssetsDefinition = tables
        return made

    def sources(self, scenarios: Sequence[Any] = ()) -> list[dg.AssetSpec]:
        """What the models read, as assets that hang on each scenario's own."""
        return [
            dg.AssetSpec(
                key=["catalog" if name in {"runs", "windows"} else "windows", name],
                deps=[scenario.key(asset) for scenario in scenarios],
                group_name=GROUP,
                description=f"The table `{name}` of all windows, as dbt reads it.",
            )
            for name, asset in BEHIND.items()
        ]

    def definitions(self, scenarios: Sequence[Any] = ()) -> dg.Definitions:
        """The models, what they read, and dbt itself."""
        return dg.Definitions(
            assets=[self.assets(), *self.sources(scenarios)],
            resources={"dbt": self.cli(self.project)},
            jobs=[dg.define_asset_job(GROUP, selection=dg.AssetSelection.groups(GROUP).materializable(), description="Build all tables.")],
            executor=dg.in_process_executor,
        )
