"""A changed scenario makes exactly the windows stale whose content changes."""

from __future__ import annotations

import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.definitions.observe import observe
from dagster._core.loader import LoadingContextForTest

from simflow_pipelines.assets import Inspector, ScenarioAssets
from simflow_pipelines.describe import ASSETS
from simflow_pipelines.instance import open_inline
from simflow_pipelines.materialize import materialize
from simflow_pipelines.scenario_definitions import scenario_definitions


class Silent(Inspector):
    def judge(self, work, number):
        return []

    def preview(self, work, number):
        return None

    def latency(self, work, number):
        return None


def stale(home, plan, fake, monkeypatch) -> dict[str, set[str]]:
    """Observe the plan as it is now, as the sensor does, and ask Dagster what is stale."""
    monkeypatch.setattr("simflow_pipelines.assets.plan_versions", lambda p: versions(p, fake))
    scenario = ScenarioAssets(plan=plan, home=home, opener=fake, inspector=Silent())
    defs = scenario_definitions(scenario)
    with open_inline(home) as instance:
        assert observe([scenario.observed()], instance=instance).success
        graph = defs.resolve_asset_graph()
        resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
        found: dict[str, set[str]] = {}
        for name in ASSETS:
            for cell in plan.cells:
                for number in range(len(cell.windows)):
                    key = f"{cell.name}|{number:03d}"
                    if resolver.get_status(scenario.key(name), key) == StaleStatus.STALE:
                        found.setdefault(name, set()).add(key)
        return found


def versions(plan, fake):
    return {f"{c.name}|{n:03d}": key for c in plan.cells for n, key in enumerate(fake.keys(c))}


@pytest.mark.parametrize(("at", "numbers"), [(15, {1, 2}), (0, {0, 1, 2})])
def test_an_event_added_at_a_tick_makes_the_windows_from_there_on_stale(tmp_path, fake, plan, post, monkeypatch, at, numbers):
    before = plan("base", "other")
    materialize(before, list(before.cells), tmp_path, opener=fake, inspector=Silent())
    assert stale(tmp_path, before, fake, monkeypatch) == {}
    after = plan("base", "other", changed={"other": post(at)})
    expected = {f"other-s7|{n:03d}" for n in numbers}
    assert stale(tmp_path, after, fake, monkeypatch) == dict.fromkeys(ASSETS, expected)
    fake.computed.clear()
    materialize(after, list(after.cells), tmp_path, opener=fake, inspector=Silent())
    assert {n for _, n in fake.computed} == numbers
    assert stale(tmp_path, after, fake, monkeypatch) == {}


def test_a_change_taken_back_makes_nothing_stale(tmp_path, fake, plan, post, monkeypatch):
    before = plan("base")
    materialize(before, list(before.cells), tmp_path, opener=fake, inspector=Silent())
    assert stale(tmp_path, plan("base", changed={"base": post(20)}), fake, monkeypatch)
    assert stale(tmp_path, before, fake, monkeypatch) == {}


def test_a_longer_run_makes_nothing_stale(tmp_path, fake, plan, monkeypatch):
    before = plan("base", ticks=20)
    materialize(before, list(before.cells), tmp_path, opener=fake, inspector=Silent())
    assert stale(tmp_path, plan("base", ticks=30), fake, monkeypatch) == {}
