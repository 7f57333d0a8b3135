"""When a scenario runs by itself: schedules from its `schedule:`, and a sensor on the scenario files. All stopped until started."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import dagster as dg
from dagster import ScheduleEvaluationContext, SensorEvaluationContext
from dagster._utils.schedules import cron_string_iterator

from simflow.errors import SimflowError
from simflow.plan import Cell, Plan
from simflow_pipelines.assets import ScenarioAssets
from simflow_pipelines.partitions import Place, range_tags

Load = Callable[[Path], Plan]


def freshness(cron: str | None) -> dg.FreshnessPolicy | None:
    """A scheduled scenario is late when twice the longest gap of its schedule has passed without a window."""
    if not cron:
        return None
    ticks = cron_string_iterator(datetime(2026, 1, 1, tzinfo=UTC).timestamp(), cron, "UTC")
    times = [next(ticks) for _ in range(50)]
    gap = max((b - a for a, b in pairwise(times)), default=timedelta(days=1))
    return dg.FreshnessPolicy.time_window(fail_window=2 * gap, warn_window=1.25 * gap)


def schedules(scenario: ScenarioAssets, job: Any) -> list[dg.ScheduleDefinition]:
    """Two schedules where the scenario has a `schedule:`: one window more each time, or whatever of the study is missing."""
    cron = scenario.plan.cells[0].schedule
    if not cron:
        return []

    def advance(context: ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        return _requests(context, scenario, one=True)

    def study(context: ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        return _requests(context, scenario, one=False)

    return [
        dg.schedule(
            name=f"{scenario.name}_{name}",
            job=job,
            cron_schedule=cron,
            description=about,
            default_status=dg.DefaultScheduleStatus.STOPPED,
        )(function)
        for name, function, about in (
            ("advance", advance, "The next window of each cell."),
            ("study", study, "All windows of each cell that are not there yet, one run a cell."),
        )
    ]


def missing(scenario: ScenarioAssets, instance: dg.DagsterInstance, cell: Cell) -> list[int]:
    """Windows of a cell that have not been materialised."""
    there = instance.get_materialized_partitions(scenario.key("snapshot"))
    return [n for n in range(len(cell.windows)) if Place(cell.name, n).key not in there]


def _requests(context: ScheduleEvaluationContext, scenario: ScenarioAssets, *, one: bool) -> list[dg.RunRequest] | dg.SkipReason:
    wanted = {cell.name: (cell, numbers) for cell in scenario.plan.cells if (numbers := missing(scenario, context.instance, cell))}
    if not wanted:
        return dg.SkipReason(f"all windows of {scenario.plan.scenario} are there; a higher clock.ticks gives it more")
    when = context.scheduled_execution_time.isoformat()
    return [
        _request(scenario, cell, numbers[0], numbers[0] if one else numbers[-1], run_key=f"{when}:{name}")
        for name, (cell, numbers) in wanted.items()
    ]


def _request(
    scenario: ScenarioAssets, cell: Cell, first: int, last: int, job: str | None = None, run_key: str | None = None
) -> dg.RunRequest:
    return dg.RunRequest(run_key=run_key, job_name=job, tags={**range_tags(cell, first, last), **scenario.run_tags(cell)})


def file_sensor(
    scenarios: Sequence[ScenarioAssets], jobs: Sequence[Any], folder: Path, load: Load, seconds: int = 30
) -> dg.SensorDefinition:
    """Watches the scenario files: observes the plan of a changed one, which marks exactly the changed windows stale, and computes those.

    A new file needs the code location to be loaded again; the tick says so. A file that does not compile is named and left alone.
    """
    known = {Path(s.plan.path).absolute(): s for s in scenarios}

    def evaluate(context: SensorEvaluationContext) -> dg.SensorResult:
        seen: dict[str, str] = json.loads(context.cursor) if context.cursor else {}
        now = {str(p): _digest(p) for p in sorted(folder.glob("*.y*ml"))}
        requests, observations, words = [], [], []
        for file, digest in now.items():
            if seen.get(file) == digest:
                continue
            before = known.get(Path(file).absolute())
            if before is None:
                words.append(f"{Path(file).name} is new: load the code location again to see it")
                continue
            try:
                plan = load(Path(file))
            except SimflowError as error:
                words.append(f"{Path(file).name} does not compile: {error}")
                continue
            scenario = ScenarioAssets(plan=plan, home=before.home, prefix=before.prefix)
            changed = scenario.observations(context.instance)
            observations += changed
            first: dict[str, int] = {}
            for place in sorted(Place.of(str(o.partition)) for o in changed):
                first.setdefault(place.cell, place.window)
            if file in seen:  # at first sight a file is only noted: nobody has asked for its windows
                for cell in plan.cells:
                    if cell.name in first:
                        key = f"{Path(file).name}:{digest[:12]}:{cell.name}"
                        requests.append(_request(scenario, cell, first[cell.name], len(cell.windows) - 1, scenario.name, key))
        reason = "; ".join(words) or (None if requests or observations else "no scenario file has changed")
        return dg.SensorResult(
            run_requests=requests,
            asset_events=observations,
            cursor=json.dumps(now, sort_keys=True),
            skip_reason=dg.SkipReason(reason) if reason and not requests else None,
        )

    return dg.SensorDefinition(
        name="scenario_files",
        evaluation_fn=evaluate,
        jobs=list(jobs),
        minimum_interval_seconds=seconds,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="New and changed scenario files: marks the windows that change, and computes them.",
    )


def _digest(path: Path) -> str:
    # A scenario may start from other files: they count as part of it.
    digest = hashlib.sha256(path.read_bytes())
    for other in sorted(path.parent.rglob("*.y*ml")):
        if other.parent != path.parent:
            digest.update(other.read_bytes())
    return digest.hexdigest()
