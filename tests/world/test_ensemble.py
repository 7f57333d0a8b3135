import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import difference, make_cell, run
from test_determinism import eventful

from simflow.errors import BadInput
from simflow.plan import Dynamics, Feed, Network, Platform
from simflow.world.ensemble import Ensemble


def seeds(cell, count):
    return [dataclasses.replace(cell, seed=100 + k) for k in range(count)]


def check(cell, count=3):
    cells = seeds(cell, count)
    for own, stacked in zip(cells, Ensemble(cells).run(cell.clock.ticks), strict=True):
        assert difference(stacked, run(own)) is None


def test_stacked_replicates_are_byte_for_byte_what_single_runs_are():
    check(make_cell(agents=40, ticks=120), 4)


def test_events_triggers_joins_and_newsrooms_stay_in_their_replicate():
    check(eventful())


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from(["bounded_confidence", "social_judgement", "degroot", "friedkin_johnsen"]),
    st.sampled_from(["mix", "chronological", "hot", "interest", "follow_first"]),
    st.sampled_from(["small_world", "preferential", "blocks", "configuration"]),
)
def test_every_kind_of_world_can_be_stacked(model, feed, shape):
    check(
        eventful(
            agents=24,
            dynamics=Dynamics(model, rate=0.3, repulsion=0.3),
            platform=Platform(feed=Feed(feed)),
            network=Network(shape, links=4),
        )
    )


def test_cells_that_differ_in_more_than_the_seed_are_refused():
    one = make_cell()
    with pytest.raises(BadInput, match="more than its seed"):
        Ensemble([one, dataclasses.replace(one, seed=2, dynamics=Dynamics(rate=0.5))])


def test_common_random_numbers_make_a_small_effect_visible():
    """The same seeds with and without a campaign: differences vary far less than runs do."""
    base = make_cell(agents=60, ticks=100, topics=("water tariff",))
    warm = dataclasses.replace(base, dynamics=dataclasses.replace(base.dynamics, rate=0.07))

    def means(cell):
        return [step.state["x"][:60, 0].mean() / 2**32 for step in Ensemble(seeds(cell, 8)).run(100)]

    import numpy as np

    one, other = np.array(means(base)), np.array(means(warm))
    assert (other - one).var() < 0.1 * (one.var() + other.var())
