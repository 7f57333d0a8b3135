import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.plan import Network
from simflow.world import network
from simflow.world.draws import Draws


def test_preferential_attachment_has_the_degree_distribution_of_barabasi_and_albert():
    n, m = 100_000, 8
    source, target = network.preferential(Draws([3]), n, m)
    degree = np.bincount(source, minlength=n) + np.bincount(target, minlength=n)
    for k in (20, 40, 80):
        expected = m * (m + 1) / (k * (k + 1))
        assert abs((degree >= k).mean() / expected - 1) < 0.03


@pytest.mark.parametrize("rewire", [0.01, 0.1, 0.5])
def test_small_worlds_lose_their_triangles_as_watts_and_strogatz_say(rewire):
    n, links = 4000, 10
    clustering = [_clustering(*network.small_world(Draws([3]), n, links, b), n) for b in (0.0, rewire)]
    assert clustering[0] == pytest.approx(2 / 3, abs=0.01)  # (3 k - 6) / (4 k - 4) of a ring with k = 10
    assert abs(clustering[1] / clustering[0] - (1 - rewire) ** 3) < 0.04


def _clustering(source, target, n):
    """Share of pairs of one's followees of whom the first follows the second."""
    follows = [set() for _ in range(n)]
    for a, b in zip(source.tolist(), target.tolist(), strict=True):
        follows[a].add(b)
    closed = sum(len(follows[a] & follows[b]) for a in range(n) for b in follows[a])
    return closed / sum(len(one) * (len(one) - 1) for one in follows)


def test_blocks_have_the_own_share_that_is_asked_for():
    groups = np.arange(5000) % 4
    source, target = network.stochastic_blocks(Draws([3]), groups, 8, 0.75)
    own = (groups[source] == groups[target]).mean()
    assert abs((1 - own) - own - (1 - 2 * 0.75)) < 0.01  # the E-I index is 1 - 2 h


def test_the_configuration_model_keeps_out_degrees_and_has_a_tail_of_exponent_3():
    n, draws = 100_000, Draws([3])
    outs = network.out_degrees(draws, n, 8)
    source, target = network.configuration(draws, outs, network.in_degrees(draws, n, 8))
    kept = np.bincount(source, minlength=n) == outs
    assert kept.mean() > 0.99
    degree = np.sort(np.bincount(target, minlength=n))[::-1]
    tail = degree[degree >= 40]
    exponent = 1 + len(tail) / np.log(tail / 39.5).sum()  # Clauset, Shalizi & Newman 2009, discrete approximation
    assert 2.8 < exponent < 3.2


@pytest.mark.parametrize("shape", ["small_world", "preferential", "configuration"])
def test_homophily_leads_links_back_to_the_own_group_in_proportion(shape):
    groups = np.arange(3000) % 3

    def own(strength):
        source, target = network.build(Network(shape, 8, 0.1, "x", strength), Draws([5]), 3000, groups)
        return (groups[source] == groups[target]).mean()

    free = own(0.0)
    for strength in (0.4, 0.8):
        assert abs(own(strength) - (free + strength * (1 - free))) < 0.03
    assert own(1.0) == 1.0


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["small_world", "preferential", "blocks", "configuration"]),
    st.integers(1, 60),
    st.integers(0, 12),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 2**32),
)
def test_nobody_follows_itself_or_anybody_twice(shape, count, links, rewire, strength, seed):
    groups = np.arange(count) % 3
    source, target = network.build(Network(shape, links, rewire, "x", strength), Draws([seed]), count, groups)
    assert (source != target).all()
    assert len(set(zip(source.tolist(), target.tolist(), strict=True))) == len(source)
    assert ((source >= 0) & (source < count) & (target >= 0) & (target < count)).all()
    most = links + links // 2 if shape == "configuration" else links
    assert np.bincount(source, minlength=count).max() <= most
