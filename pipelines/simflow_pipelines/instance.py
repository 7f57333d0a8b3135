"""The project's own Dagster instance, under `.simflow/dagster`."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

from simflow.runs import workplace
from simflow.runs.ledger import replace
from simflow.runs.lock import held

SERVER = "dagster.yaml"
INLINE = "inline.yaml"

_CONFIG = """\
# The Dagster instance of this project. Written once by simflow; yours to change.
telemetry:
  enabled: false
nux:
  enabled: false           # no page that asks for an address before the first look
concurrency:
  runs:
    max_concurrent_runs: {runs}
  pools:
    granularity: run         # a run holds its pool from start to end: one window after the other, cells side by side
    default_limit: {runs}
"""

_INLINE = """\
# The same instance, as `simflow run` opens it: one process, whose terminal is left alone.
telemetry:
  enabled: false
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
"""


def dagster_home(home: Path) -> Path:
    """The instance's folder on this machine, with its configuration, made when first asked for."""
    folder = workplace(home) / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    runs = max(2, (os.cpu_count() or 2))
    for name, text in ((SERVER, _CONFIG.format(runs=runs)), (INLINE, _INLINE)):
        if not (folder / name).exists():
            replace(folder / name, text)
    return folder


def open_inline(home: Path) -> dg.DagsterInstance:
    """Open the instance for a run in this process. It shares its storage with the webserver and the daemon.

    One process after the other, since Dagster makes its tables when it first opens them, and two that do so at once break each other.
    """
    with held(workplace(home) / "dagster" / "opening.lock", wait=True):
        return dg.DagsterInstance.from_config(str(dagster_home(home)), config_filename=INLINE)
