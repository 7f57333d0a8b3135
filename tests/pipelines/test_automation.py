"""Schedules, the sensor on scenario files, and the graph of everything that Dagster is told."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from simflow.errors import BadInput
from simflow_pipelines.assets import ScenarioAssets
from simflow_pipelines.automation import file_sensor, freshness, schedules
from simflow_pipelines.describe import ASSETS
from simflow_pipelines.instance import open_inline
from simflow_pipelines.scenario_definitions import scenario_definitions


def scheduled(plan, cron="0 6 * * 1"):
    return replace(plan, cells=tuple(replace(c, schedule=cron) for c in plan.cells))


def there(scenario, instance, cell, *numbers):
    for number in numbers:
        for name in ASSETS:
            instance.report_runless_asset_event(dg.AssetMaterialization(scenario.key(name), partition=f"{cell}|{number:03d}"))


def tick(schedule, instance):
    return schedule.evaluate_tick(
        dg.build_schedule_context(instance=instance, scheduled_execution_time=datetime(2026, 11, 30, 6, tzinfo=UTC))
    )


def span(request):
    return request.tags["dagster/asset_partition_range_start"], request.tags["dagster/asset_partition_range_end"]


def test_a_schedule_advances_each_cell_by_its_next_window_and_a_study_asks_for_the_rest(tmp_path, fake, plan):
    scenario = ScenarioAssets(plan=scheduled(plan("a", "b")), home=tmp_path, opener=fake)
    with open_inline(tmp_path) as instance:
        there(scenario, instance, "a-s7", 0)
        advance, study = schedules(scenario, scenario.job())
        assert [span(r) for r in tick(advance, instance).run_requests] == [("a-s7|001", "a-s7|001"), ("b-s7|000", "b-s7|000")]
        assert [span(r) for r in tick(study, instance).run_requests] == [("a-s7|001", "a-s7|002"), ("b-s7|000", "b-s7|002")]
        there(scenario, instance, "a-s7", 1, 2)
        there(scenario, instance, "b-s7", 0, 1, 2)
        assert "all windows" in tick(advance, instance).skip_message


def test_schedules_come_only_from_the_scenario_and_are_stopped(tmp_path, plan):
    bare = ScenarioAssets(plan=plan("a"), home=tmp_path)
    assert schedules(bare, bare.job()) == []
    timed = ScenarioAssets(plan=scheduled(plan("a")), home=tmp_path)
    assert [(s.cron_schedule, s.default_status) for s in schedules(timed, timed.job())] == [
        ("0 6 * * 1", dg.DefaultScheduleStatus.STOPPED)
    ] * 2


def test_a_scheduled_scenario_is_late_after_twice_its_gap():
    assert freshness(None) is None
    assert freshness("0 6 * * 1").fail_window.to_timedelta().days == 14


def test_the_sensor_notes_files_at_first_and_computes_exactly_the_changed_windows_later(tmp_path, fake, plan, post, monkeypatch):
    monkeypatch.setattr(
        "simflow_pipelines.assets.plan_versions",
        lambda p: {f"{c.name}|{n:03d}": key for c in p.cells for n, key in enumerate(fake.keys(c))},
    )
    folder = tmp_path / "scenarios"
    folder.mkdir()
    file = folder / "town.yaml"
    file.write_text("one")
    now = replace(plan("a", "b"), path=str(file))
    scenario = ScenarioAssets(plan=now, home=tmp_path, opener=fake)
    plans = {"one": now, "two": replace(plan("a", "b", changed={"b": post(15)}), path=str(file))}

    def load(path):
        if path.read_text() not in plans:
            raise BadInput("line 3: no such key")
        return plans[path.read_text()]

    sensor = file_sensor([scenario], [scenario.job()], folder, load)

    def evaluate(cursor, instance):
        return sensor.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor, definitions=scenario_definitions(scenario)))

    def record(result, instance):
        for event in result.asset_events:
            instance.report_runless_asset_event(event)
        return result.cursor

    with dg.DagsterInstance.ephemeral() as instance:
        first = evaluate(None, instance)
        assert not first.run_requests
        assert len(first.asset_events) == 6
        cursor = record(first, instance)
        assert "no scenario file has changed" in evaluate(cursor, instance).skip_message
        file.write_text("two")
        second = evaluate(cursor, instance)
        assert [span(r) for r in second.run_requests] == [("b-s7|001", "b-s7|002")]
        assert {e.partition for e in second.asset_events} == {"b-s7|001", "b-s7|002"}
        cursor = record(second, instance)
        (folder / "new.yaml").write_text("x")
        file.write_text("broken")
        third = evaluate(cursor, instance)
        assert not third.run_requests
        assert "new.yaml is new" in third.skip_message
        assert "town.yaml does not compile: line 3: no such key" in third.skip_message


def graph(defs: dg.Definitions) -> dict:
    """What must not change by accident: keys, what they hang on, checks, jobs, schedules, sensors."""
    repository = defs.get_repository_def()
    return {
        "assets": {
            spec.key.to_user_string(): {
                "deps": sorted(d.asset_key.to_user_string() for d in spec.deps),
                "group": spec.group_name,
                "kinds": sorted(spec.kinds),
                "owners": sorted(spec.owners),
                "partitioned": spec.partitions_def is not None,
                "columns": [c.name for c in spec.metadata["dagster/column_schema"].columns]
                if "dagster/column_schema" in spec.metadata
                else None,
            }
            for spec in sorted(defs.resolve_all_asset_specs(), key=lambda s: s.key.to_user_string())
        },
        "checks": sorted(f"{key.asset_key.to_user_string()}: {key.name}" for key in repository.asset_graph.asset_check_keys),
        "jobs": sorted(n for n in repository.get_top_level_jobs_names() if not n.startswith("__"))
        if hasattr(repository, "get_top_level_jobs_names")
        else sorted(repository.job_names),
        "schedules": sorted(f"{s.name} {s.cron_schedule}" for s in repository.schedule_defs),
        "sensors": sorted(s.name for s in repository.sensor_defs),
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:sqlglotrs is deprecated:DeprecationWarning")  # of dagster-dbt's making
def test_the_graph_of_a_project_is_what_it_was(tmp_path, monkeypatch, caplog):
    from simflow_pipelines.project import Project
    from simflow_pipelines.scenario_definitions import project_definitions

    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "village.yaml").write_text(VILLAGE)
    (tmp_path / "scenarios" / "broken.yaml").write_text("scenario: broken\nagentz: 3\n")
    (tmp_path / "scenarios" / "village2.yaml").write_text(VILLAGE.replace("village-data", "nobody"))
    monkeypatch.delenv("SIMFLOW_HOME", raising=False)
    found = graph(project_definitions(Project(tmp_path, tmp_path / ".simflow")))
    broken, twice = [r.message.replace(str(tmp_path / "scenarios"), "") for r in caplog.records if "left out" in r.message]
    assert broken.startswith("/broken.yaml is left out: ")
    assert twice == "/village2.yaml is left out: its name, 'village', is that of /village.yaml; `scenario:` takes another"
    golden = Path(__file__).with_name("graph.json")
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if not golden.exists():
        golden.write_text(text)
        pytest.fail("the golden file was missing and has been written: look at it, then run again")
    assert text == golden.read_text()


VILLAGE = """\
scenario: village
owner: village-data
topics: {square: A plan to pave the village square.}
population:
  agents: 20
  personas:
    farmer: {share: 50%}
    baker: {share: 50%}
clock: {ticks: 60, window: 20}
events:
  plan: {at: 5, post: The square will be paved in May.}
checks:
  - covered: {by: 60, at_least: 10%}
schedule: "0 6 * * 1"
"""
