"""Backfills 3 cells x 6 windows through the real daemon and says what it launched. Run by hand and by the test beside it.

Usage: python daemon_backfill.py FOLDER, a project whose `scenarios/` holds one scenario. Prints JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill

from simflow.runs import list_runs
from simflow_pipelines.describe import ASSETS
from simflow_pipelines.instance import dagster_home
from simflow_pipelines.project import Project
from simflow_pipelines.scenario_definitions import project_definitions

LOCATION = """\
from simflow_pipelines.project import Project
from simflow_pipelines.scenario_definitions import project_definitions

defs = project_definitions(Project.find(), tables=False)
"""


def main(folder: Path, patience: float = 900) -> dict:
    project = Project(folder, folder / ".simflow")
    place = dagster_home(project.home)
    (folder / "location.py").write_text(LOCATION)
    environment = os.environ | {
        "DAGSTER_HOME": str(place),
        "SIMFLOW_PROJECT": str(folder),
        "SIMFLOW_HOME": str(project.home),
        "DAGSTER_GRPC_TIMEOUT_SECONDS": "600",  # a busy machine is slow, not broken
    }
    graph = project_definitions(project, tables=False).resolve_asset_graph()
    keys = [key for key in graph.materializable_asset_keys if key.path[-1] in ASSETS]
    with dg.DagsterInstance.from_config(str(place)) as instance:
        wanted = {AssetKeyPartitionKey(key, p) for key in keys for p in graph.get(key).partitions_def.get_partition_keys()}
        backfill = PartitionBackfill.from_asset_graph_subset(
            backfill_id="all",
            asset_graph_subset=AssetGraphSubset.from_asset_partition_set(wanted, graph),
            backfill_timestamp=time.time(),
            tags={},
            dynamic_partitions_store=instance,
            title=None,
            description=None,
            run_config=None,
        )
        instance.add_backfill(backfill)
        with (folder / "daemon.log").open("w") as log:
            daemon = subprocess.Popen(
                [sys.executable, "-m", "dagster._daemon", "run", "-f", str(folder / "location.py")], env=environment, stdout=log, stderr=log
            )
            try:
                end = time.monotonic() + patience
                while instance.get_backfill("all").status not in {BulkActionStatus.COMPLETED_SUCCESS, BulkActionStatus.COMPLETED_FAILED}:
                    if time.monotonic() > end or daemon.poll() is not None:
                        break
                    time.sleep(1)
            finally:
                daemon.terminate()
                daemon.wait()
        runs = [
            {
                "status": run.status.value,
                "from": run.tags.get("dagster/asset_partition_range_start"),
                "to": run.tags.get("dagster/asset_partition_range_end"),
                "started": record.start_time,
                "ended": record.end_time,
            }
            for record in instance.get_run_records()
            for run in [record.dagster_run]
        ]
        return {
            "status": instance.get_backfill("all").status.value,
            "runs": runs,
            "partitions": {key.to_user_string(): len(instance.get_materialized_partitions(key)) for key in keys},
            "computed": sum(not w.reused for record in list_runs(project.home) for w in record.windows()),
            "distinct": len({w.key for record in list_runs(project.home) for w in record.windows()}),
            "ordered": all(
                [w.number for w in record.windows()] == list(range(len(record.windows()))) for record in list_runs(project.home)
            ),
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]).absolute()), indent=1, default=str) + "\n")
