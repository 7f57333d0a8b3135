import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.plan import Beta, Choice, Constant, Normal, Uniform
from simflow.world import sampling
from simflow.world.draws import Draws, bell, mixed, name_key


def test_a_draw_depends_on_its_keys_and_on_nothing_drawn_before():
    draws = Draws([7])
    everybody = np.arange(1000)
    whole = draws.bits("act", 5, everybody)
    draws.bits("something else", 5, everybody)
    assert (Draws([7]).bits("act", 5, everybody[400:600]) == whole[400:600]).all()
    assert (draws.bits("act", 5, everybody[::-1])[::-1] == whole).all()


def test_the_stream_is_the_one_that_was_published():
    assert mixed(1) == 6238072747940578789
    assert Draws([7]).bits("act", 3, np.arange(3)).tolist() == GOLDEN
    assert name_key("newsroom") == KEY


GOLDEN = [10599699290982564494, 12985970822329938746, 12326053377652970984]
KEY = 4014847817249003675


@pytest.mark.parametrize("other", [{"seed": 8}, {"purpose": "post"}, {"tick": 6}])
def test_another_seed_purpose_or_tick_gives_unrelated_numbers(other):
    keys = {"seed": 7, "purpose": "act", "tick": 5}
    n = 200_000

    def drawn(seed, purpose, tick):
        return Draws([seed]).unit(purpose, tick, np.arange(n)) - 0.5

    correlation = (drawn(**keys) * drawn(**(keys | other))).mean() * 12
    assert abs(correlation) < 5 / np.sqrt(n)


def test_units_are_uniform_and_neighbours_unrelated():
    n = 400_000
    u = Draws([3]).unit("act", 1, np.arange(n))
    counts = np.bincount((u * 256).astype(int), minlength=256)
    chi = ((counts - n / 256) ** 2 / (n / 256)).sum()
    assert 255 - 6 * np.sqrt(510) < chi < 255 + 6 * np.sqrt(510)
    gap = np.abs(np.sort(u) - (np.arange(n) + 0.5) / n).max()
    assert gap < 1.95 / np.sqrt(n)  # Kolmogorov-Smirnov at 0.1 %
    for lag in (1, 2, 7, 64):
        assert abs(np.corrcoef(u[lag:], u[:-lag])[0, 1]) < 5 / np.sqrt(n)


def test_pairs_are_ordered_and_unrelated_to_their_mirror():
    n = 200_000
    a, b = np.arange(n), np.arange(n)[::-1].copy()
    draws = Draws([3])
    one, mirror = draws.pair_unit("feed", 1, a, b), draws.pair_unit("feed", 1, b, a)
    assert abs(np.corrcoef(one, mirror)[0, 1]) < 5 / np.sqrt(n)
    assert abs(one.mean() - 0.5) < 5 / np.sqrt(12 * n)


def test_each_bit_is_fair():
    bits = Draws([11]).bits("act", 2, np.arange(100_000))
    share = np.array([((bits >> np.uint64(k)) & np.uint64(1)).mean() for k in range(64)])
    assert np.abs(share - 0.5).max() < 5 * 0.5 / np.sqrt(100_000)


def test_several_units_are_the_pairs_with_small_numbers():
    draws = Draws([5])
    agents = np.array([4, 9])
    table = draws.several_units("explore", 3, agents, 4)
    for k in range(4):
        assert (table[:, k] == draws.pair_unit("explore", 3, agents, np.full(2, k))).all()


def test_stacked_seeds_draw_what_single_seeds_draw():
    replicate, local = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 2])
    both = Draws([7, 8], replicate, local).bits("act", 3, np.arange(5))
    assert both[:2].tolist() == Draws([7]).bits("act", 3, np.arange(2)).tolist()
    assert both[2:].tolist() == Draws([8]).bits("act", 3, np.arange(3)).tolist()


def test_the_bell_has_mean_0_and_deviation_1():
    z = bell(Draws([2]).bits("say", 0, np.arange(200_000)))
    assert abs(z.mean()) < 0.01
    assert abs(z.std() - 1) < 0.01
    assert np.abs(z).max() < 3.4642


N = np.arange(40_000)


@pytest.mark.parametrize(
    ("dist", "mean", "sd"),
    [
        (Constant(0.3), 0.3, 0.0),
        (Uniform(20, 34), 27, 14 / np.sqrt(12)),
        (Normal(71, 6), 71, 6),
        (Beta(2, 8), 0.2, np.sqrt(0.2 * 0.8 / 11)),
        (Beta(5, 4), 5 / 9, np.sqrt(20 / 81 / 10)),
        (Beta(60, 140), 0.3, np.sqrt(0.3 * 0.7 / 201)),
    ],
)
def test_distributions_have_their_moments(dist, mean, sd):
    drawn = sampling.numbers(dist, Draws([1]), "trait", N)
    assert abs(drawn.mean() - mean) < 5 * max(sd, 1e-12) / np.sqrt(len(N))
    assert abs(drawn.std() - sd) <= 0.02 * sd


def test_beta_parts_between_whole_parameters_keep_the_mean():
    drawn = sampling.numbers(Beta(2.5, 2.5), Draws([1]), "trait", N)
    assert abs(drawn.mean() - 0.5) < 0.01


def test_choices_come_in_their_shares():
    dist = Choice((("old town", 0.6), ("harbour", 0.4)))
    values = sampling.labels(dist, Draws([1]), "district", N)
    assert abs(values.count("old town") / len(values) - 0.6) < 0.015


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**63 - 1), st.lists(st.integers(0, 2**26), min_size=1, max_size=20, unique=True))
def test_what_one_agent_is_drawn_does_not_depend_on_the_others(seed, agents):
    draws = Draws([seed])
    for dist in (Normal(0, 1), Beta(2, 3), Uniform(0, 1)):
        together = sampling.numbers(dist, draws, "x", np.array(agents))
        alone = [sampling.numbers(dist, draws, "x", np.array([a]))[0] for a in agents]
        assert together.tolist() == alone
