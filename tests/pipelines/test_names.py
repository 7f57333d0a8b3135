"""Names of scenarios in any script become names that Dagster takes, told apart."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from simflow_pipelines.describe import identifier, key_part


@given(st.text(min_size=1, max_size=20))
def test_any_name_becomes_one_that_dagster_takes(name):
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", identifier(name))


def test_names_of_one_length_in_another_script_stay_apart():
    assert identifier("тариф") != identifier("школа")
    assert identifier("water-tariff") == "water_tariff"


def test_plain_names_stay_as_they_are_in_asset_keys():
    assert key_part("water-tariff") == "water-tariff"
    assert key_part("small town") == "small_town"
    assert key_part("тариф на воду") == identifier("тариф на воду")
