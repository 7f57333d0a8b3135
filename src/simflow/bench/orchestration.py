"""`simflow bench orchestration`: what Dagster's bookkeeping costs, beside the work that it keeps books on."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import click

PROBE = """
import json, resource, sys, time
from dataclasses import dataclass
from pathlib import Path

began = time.process_time()
from simflow.plan import Cell, Clock, Plan, Topic
from simflow.runs import RunRecord, WindowRecord
from simflow_pipelines.assets import Inspector
from simflow_pipelines.materialize import materialize

imported = time.process_time() - began


@dataclass(frozen=True)
class Result:
    record: WindowRecord
    metadata: dict
    key: str
    reused: bool = False


class Nothing:
    '''Work that costs nothing, so that what is left is bookkeeping.'''

    def __init__(self, path, cell, home, **options):
        self.cell, self.record = cell, RunRecord('bench/' + cell.name, home / 'runs' / 'bench' / cell.name)

    def window(self, number):
        start, stop = self.cell.windows[number]
        record = WindowRecord(number, f'{number:064x}', start, stop, rows={'episodes': 100})
        figures = {'episodes': 100, 'exposures': 300, 'edges_in_force': 50, 'stance_mean/x': 0.1, 'seconds_world': 0.1}
        return Result(record, figures, record.key)


class Blind(Inspector):
    def judge(self, work, number):
        return []

    def preview(self, work, number):
        return None

    def latency(self, work, number):
        return None


windows = int(sys.argv[1])
cell = Cell('bench', 'base', {}, 1, (Topic('x'),), clock=Clock(ticks=windows * 10, window=10))
began = time.process_time()
materialize(Plan('bench', 'bench.yaml', '', (cell,)), [cell], Path(sys.argv[2]), opener=Nothing, inspector=Blind())
print(json.dumps({'import': imported, 'run': time.process_time() - began}))
"""


def bookkeeping(windows: int) -> dict[str, float]:
    """CPU seconds of importing Dagster and of one ranged run over `windows` windows x 5 assets whose work costs nothing."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run([sys.executable, "-c", PROBE, str(windows), home], capture_output=True, text=True, check=True)  # noqa: S603 - our own text
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


@click.command()
@click.option("--windows", default=50, show_default=True, help="Windows of the ranged run.")
@click.option(
    "--pipeline", type=click.Path(path_type=Path, exists=True), help="Output of `simflow bench pipeline --json`, to compare with."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def orchestration(windows: int, pipeline: Path | None, as_json: bool) -> None:
    """CPU of Dagster by materialisation, and its share of the pipeline's where that has been measured."""
    few, many = bookkeeping(2), bookkeeping(windows)
    each = (many["run"] - few["run"]) / ((windows - 2) * 5)
    found: dict[str, float | int] = {
        "windows": windows,
        "assets": 5,
        "seconds_import": round(many["import"], 3),
        "seconds_run": round(many["run"], 3),
        "seconds_start": round(few["run"] - 10 * each, 3),
        "milliseconds_per_materialisation": round(1000 * each, 2),
    }
    if pipeline:
        whole = json.loads(pipeline.read_text("utf-8")).get("cpu_seconds_whole")
        if not isinstance(whole, int | float):
            raise click.UsageError(f"{pipeline} is not the output of `simflow bench pipeline --json`: it has no cpu_seconds_whole")
        found["seconds_pipeline"] = round(whole, 2)
        found["share"] = round((many["import"] + many["run"]) / whole, 4)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        click.echo(f"{name.replace('_', ' '):36}{value:>12}")
