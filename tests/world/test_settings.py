"""What a scenario sets is what the engine runs on."""

import dataclasses

import pytest
from small_worlds import difference, make_cell, run

from simflow.plan import Clock, Feed, Platform
from simflow.scenario.keys.platform import ACTIONS, RATES
from simflow.world.settings import Settings


@pytest.mark.parametrize("action", ACTIONS)
def test_a_rate_in_a_scenario_is_the_engines_own_constant(action):
    base = make_cell(agents=45, ticks=40, platform=Platform(actions=ACTIONS))
    told = dataclasses.replace(base, platform=dataclasses.replace(base.platform, rates={action: 0.37}))
    assert difference(run(told), run(base, settings=dataclasses.replace(Settings(), **{action: 0.37}))) is None


def test_sessions_and_fading_in_a_scenario_are_the_engines_own_constants():
    base = make_cell(agents=45, ticks=40)
    often = dataclasses.replace(base, clock=Clock(ticks=40, sessions=14.4))
    assert difference(run(often), run(base, settings=Settings(sessions=0.1))) is None
    slow = dataclasses.replace(base, platform=Platform(feed=Feed(fade=1000)))
    assert difference(run(slow), run(base, settings=Settings(fade_minutes=1000))) is None
    assert difference(run(slow), run(base)) is not None


def test_defaults_that_the_reference_names_are_those_of_the_engine():
    for key in RATES.keys:
        assert float(key.default.rstrip("%")) / 100 == pytest.approx(getattr(Settings(), key.name)), key.name
