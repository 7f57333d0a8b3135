"""Materialising scenarios in process."""

from __future__ import annotations

import dataclasses
import os
import time

import dagster as dg
import pytest

from simflow.errors import EndpointFailed, EndpointRefused, RunFailed
from simflow.plan import Outputs
from simflow.runs import Progress, list_runs
from simflow_pipelines.assets import RETRIES, CheckFailed, Inspector, ScenarioAssets
from simflow_pipelines.checks import Verdict
from simflow_pipelines.describe import ASSETS
from simflow_pipelines.instance import open_inline
from simflow_pipelines.materialize import materialize
from simflow_pipelines.partitions import Place


class Silent(Inspector):
    def judge(self, work, number):
        return []

    def preview(self, work, number):
        return None

    def latency(self, work, number):
        return None


KEYS = [dg.AssetKey(["town", name]) for name in ASSETS]


def test_windows_run_in_order_once_and_each_becomes_a_materialisation_of_all_five_assets(tmp_path, fake, plan):
    town = plan("base")
    [made] = materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    assert fake.computed == [("base-s7", n) for n in range(3)]
    assert [r.record.number for r in made.results] == list(range(3))
    with open_inline(tmp_path) as instance:
        for key in KEYS:
            assert instance.get_materialized_partitions(key) == {Place("base-s7", n).key for n in range(3)}
        run = instance.get_run_by_id(made.dagster_run)
        assert run.status == dg.DagsterRunStatus.SUCCESS
        assert {run.tags[f"simflow/{t}"] for t in ("scenario", "variant", "seed", "cell")} == {"town", "base", "7", "base-s7"}


def test_a_materialisation_carries_figures_with_stable_names_and_the_content_address(tmp_path, fake, plan):
    town = plan("base", ticks=20)
    materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    with open_inline(tmp_path) as instance:
        [record] = instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=dg.AssetKey(["town", "edges"]), asset_partitions=["base-s7|001"]), limit=10
        ).records
    event = record.asset_materialization
    assert event.metadata["edges_in_force"].value == 2
    assert event.metadata["stance_mean/tariff"].value == 0.25
    assert event.metadata["from_tick"].value == 10
    assert event.tags["dagster/data_version"] == fake.keys(town.cells[0])[1]


def test_what_was_measured_of_a_window_can_be_plotted_on_its_episodes(tmp_path, fake, plan):
    town = plan("base", ticks=20)
    materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    with open_inline(tmp_path) as instance:
        found = instance.fetch_materializations(dg.AssetRecordsFilter(asset_key=dg.AssetKey(["town", "episodes"])), limit=10).records
    assert [one.asset_materialization.metadata["measure/variance/tariff"] for one in found] == [dg.FloatMetadataValue(0.5)] * 2


def test_variants_share_windows_up_to_the_first_difference(tmp_path, fake, plan, post):
    town = plan("base", "late", changed={"late": post(15)})
    materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    assert fake.computed == [("base-s7", n) for n in range(3)] + [("late-s7", n) for n in (1, 2)]


def test_a_second_run_computes_nothing(tmp_path, fake, plan):
    town = plan("base")
    materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    fake.computed.clear()
    [made] = materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    assert not fake.computed
    assert len(made.results) == 3


def test_a_failed_window_ends_the_run_with_its_own_error_and_keeps_the_windows_before(tmp_path, fake, plan):
    town = plan("base")

    def fail(cell, number):
        if number == 2:
            raise RunFailed("the embedder broke", hint="mend it")

    fake.before = fail
    with pytest.raises(RunFailed, match="the embedder broke"):
        materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    with open_inline(tmp_path) as instance:
        assert instance.get_materialized_partitions(KEYS[0]) == {"base-s7|000", "base-s7|001"}
        [run] = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.FAILURE
        [failure] = [e for e in instance.all_logs(run.run_id) if e.dagster_event and e.dagster_event.is_step_failure]
        assert "the embedder broke" in failure.dagster_event.step_failure_data.user_failure_data.description
    fake.before = None
    materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    assert fake.computed == [("base-s7", n) for n in range(3)]


def test_an_interrupted_run_is_cancelled_and_goes_on_where_it_was(tmp_path, fake, plan):
    town = plan("base")

    def interrupt(cell, number):
        if number == 2:
            raise KeyboardInterrupt

    fake.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    with open_inline(tmp_path) as instance:
        [run] = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.CANCELED
        assert instance.get_materialized_partitions(KEYS[0]) == {"base-s7|000", "base-s7|001"}
    fake.before = None
    materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    assert fake.computed == [("base-s7", n) for n in range(3)]


def test_an_endpoint_fault_is_tried_again(tmp_path, fake, plan, monkeypatch):
    monkeypatch.setattr("simflow_pipelines.assets.RETRY_SECONDS", 0)
    town, tries = plan("base", ticks=20), []

    def flaky(cell, number):
        if number == 1:
            tries.append(number)
            if len(tries) <= RETRIES:
                raise EndpointFailed("503")

    fake.before = flaky
    [made] = materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    assert len(tries) == RETRIES + 1
    with open_inline(tmp_path) as instance:
        assert instance.get_run_by_id(made.dagster_run).status == dg.DagsterRunStatus.SUCCESS


def test_an_endpoint_that_refuses_is_asked_once(tmp_path, fake, plan):
    town, tries = plan("base", ticks=20), []

    def refusing(cell, number):
        tries.append(number)
        raise EndpointRefused("401: wrong key", hint="is OPENAI_API_KEY set?")

    fake.before = refusing
    with pytest.raises(EndpointFailed, match="401: wrong key") as caught:
        materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Silent())
    assert caught.value.exit_code == 3
    assert tries == [0]


def test_a_failed_check_is_recorded_and_ends_the_run_but_a_warning_does_not(tmp_path, fake, plan):
    town = plan("base")

    class Strict(Silent):
        def judge(self, work, number):
            # As a run that has windows left says of itself.
            work.ledger.progress(Progress("running", number + 1, 3, 0, 60, pid=os.getpid(), heartbeat=time.time()))
            return [
                Verdict("varied_texts", passed=number != 0, words="all the same"),
                Verdict("world_not_silent", passed=number != 1, words="nothing happened"),
            ]

    with pytest.raises(CheckFailed, match=r"base-s7\|001: world_not_silent: nothing happened"):
        materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Strict())
    assert fake.computed == [("base-s7", 0), ("base-s7", 1)]
    with open_inline(tmp_path) as instance:
        [run] = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.FAILURE
        results = {
            e.dagster_event.event_specific_data.check_name: e.dagster_event.event_specific_data
            for e in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
        }
    assert not results["varied_texts"].passed
    assert results["varied_texts"].severity == dg.AssetCheckSeverity.WARN
    assert not results["world_not_silent"].passed
    assert results["world_not_silent"].severity == dg.AssetCheckSeverity.ERROR
    assert results["world_not_silent"].metadata["failed_partitions"].value == ["base-s7|001"]
    [told] = list_runs(tmp_path)
    assert (told.progress().state, told.progress().reason) == ("failed", "base-s7|001: world_not_silent: nothing happened")


def test_what_a_scenario_demands_ends_no_study_but_wrong_data_do(tmp_path, fake, plan):
    class Strict(Silent):
        wrong = "check_share_opposes_tariff"

        def judge(self, work, number):
            return [Verdict(self.wrong, passed=number != 2, words=work.cell.name)]

    town, broken = plan("base", "other"), []
    made = materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Strict(), broken=broken)
    assert [(m.cell.name, len(m.work.record.windows())) for m in made] == [("base-s7", 3), ("other-s7", 3)]
    assert [str(error) for error in broken] == [f"{n}|002: check_share_opposes_tariff: {n}" for n in ("base-s7", "other-s7")]
    Strict.wrong = "unique_episodes"
    with pytest.raises(CheckFailed, match=r"base-s7\|002: unique_episodes"):
        materialize(town, list(town.cells), tmp_path, opener=fake, inspector=Strict(), broken=broken)
    assert len(broken) == 2


def test_the_page_of_a_finished_run_is_told_what_its_checks_found_even_where_one_ends_it(tmp_path, fake, plan):
    told = []

    class Strict(Silent):
        def judge(self, work, number):
            return [Verdict("world_not_silent", passed=number != 2, words="nothing happened")]

        def tell(self, work):
            told.append([(c.check, list(c.failed)) for c in work.record.checks()])

    town = plan("base")
    for outputs in (None, Outputs(report=False), Outputs()):
        cells = [dataclasses.replace(cell, outputs=outputs) for cell in town.cells]
        with pytest.raises(CheckFailed, match=r"base-s7\|002"):
            materialize(dataclasses.replace(town, cells=tuple(cells)), cells, tmp_path, opener=fake, inspector=Strict())
    assert told == [[("world_not_silent", [2])]]


def test_one_partition_asked_for_alone_brings_the_windows_that_it_rests_on(tmp_path, fake, plan):
    town = plan("base", "other")
    scenario = ScenarioAssets(plan=town, home=tmp_path, opener=fake, inspector=Silent())
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize([scenario.observed(), scenario.windows()], partition_key="other-s7|002", instance=instance)
        assert result.success
        assert instance.get_materialized_partitions(KEYS[0]) == {f"other-s7|00{n}" for n in range(3)}
    assert fake.computed == [("other-s7", n) for n in range(3)]
