"""Names of scenarios in any script become names that Dagster takes, told apart."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from simflow.plan import Cell, Check
from simflow.plan.names import asset_name, identifier
from simflow_pipelines.checks import scenario_checks


@given(st.text(min_size=1, max_size=20))
def test_any_name_becomes_one_that_dagster_takes(name):
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", identifier(name))


def test_names_of_one_length_in_another_script_stay_apart():
    assert identifier("тариф") != identifier("школа")
    assert identifier("water-tariff") == "water_tariff"
    # The same in Latin letters, and not the same.
    assert {name.rpartition("_")[0] for name in map(identifier, ("тариф", "тарифь"))} == {"tarif"}
    assert identifier("тариф") != identifier("тарифь")
    assert re.fullmatch(r"tarifa_da_agua_[0-9a-f]{8}", identifier("tarifa da água"))


def test_plain_names_stay_as_they_are_in_asset_keys():
    assert asset_name("water-tariff") == "water-tariff"
    assert asset_name("small town") == "small_town"
    assert asset_name("тариф на воду") == identifier("тариф на воду")


CHECKS = st.builds(
    Check,
    st.sampled_from(["covered", "share", "measure", "episodes"]),
    st.fixed_dictionaries(
        {}, optional={k: st.sampled_from(["water tariff", "water-tariff", "тариф", "a", "b"]) for k in ("topic", "persona", "name")}
    ),
)


@given(st.lists(CHECKS, max_size=8))
def test_each_check_of_a_scenario_has_a_name_of_its_own_that_dagster_takes(checks):
    names = scenario_checks(Cell("town", "base", {}, 1, topics=(), checks=tuple(checks)), "checks")
    assert len(set(names)) == len(checks)
    assert all(re.fullmatch(r"check_[A-Za-z0-9_]+", name) for name in names)


def test_a_check_keeps_its_name_where_bounds_change_or_another_comes_before_it():
    def names(*checks):
        return scenario_checks(Cell("town", "base", {}, 1, topics=(), checks=checks), "checks")

    mean = Check("measure", {"name": "mean", "topic": "water tariff", "at_most": 0.4})
    assert names(mean) == ("check_measure_mean_water_tariff",)
    assert names(Check("episodes", {"kind": "post", "at_least": 1}), Check("measure", {**mean.args, "at_most": 0.1}))[1] == names(mean)[0]
