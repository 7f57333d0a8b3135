"""Each measure on inputs whose value is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.measures import activity, cascade, network, opinion

RNG = np.random.default_rng(5)
ENDS = np.repeat([-1.0, 1.0], 5_000)
EVEN = np.linspace(-1.0, 1.0, 100_001)
THREE = np.repeat([-1.0, 0.0, 1.0], 3_000)


def test_variance_is_1_for_two_camps_and_a_third_for_a_uniform_spread():
    assert opinion.variance(ENDS) == pytest.approx(1.0)
    assert opinion.variance(EVEN) == pytest.approx(1 / 3, abs=1e-4)
    assert opinion.variance(np.array([0.0, 1.0]), np.array([3.0, 1.0])) == pytest.approx(3 / 16)


def test_bimodality_knows_two_camps_a_uniform_spread_and_a_bell():
    assert opinion.bimodality(ENDS) == pytest.approx(1.0, abs=5e-4)
    assert opinion.bimodality(EVEN) == pytest.approx(5 / 9, abs=5e-4)
    assert opinion.bimodality(RNG.normal(0, 0.2, 400_000)) == pytest.approx(1 / 3, abs=5e-3)
    assert np.isnan(opinion.bimodality(np.zeros(10)))
    assert np.isnan(opinion.bimodality(np.array([0.0, 1.0])))


def test_esteban_ray_is_1_for_two_camps_and_less_for_three_or_all():
    assert opinion.esteban_ray(ENDS) == pytest.approx(1.0)
    assert opinion.esteban_ray(THREE) == pytest.approx(0.525, abs=1e-3)
    assert opinion.esteban_ray(RNG.uniform(-1, 1, 400_000)) == pytest.approx(0.243, abs=2e-3)
    assert opinion.esteban_ray(np.zeros(9)) == 0.0


def test_senses_of_polarisation_on_two_camps():
    group = (ENDS > 0).astype(int)
    assert opinion.spread(ENDS) == 2.0
    assert opinion.dispersion(ENDS) == 1.0
    assert opinion.coverage(ENDS) == pytest.approx(2 / 20)
    assert opinion.coverage(EVEN) == 1.0
    assert opinion.camps(ENDS) == 2
    assert opinion.camps(THREE) == 3
    assert opinion.camps(np.full(50, 0.3)) == 1
    assert opinion.divergence(ENDS, group) == 2.0
    assert opinion.consensus(ENDS, group) == 1.0
    assert opinion.size_parity(group) == pytest.approx(1.0)
    assert opinion.cluster_polarization(ENDS, group) == pytest.approx(1.0)
    assert opinion.cluster_polarization(RNG.uniform(-1, 1, 20_000), RNG.integers(0, 4, 20_000)) == pytest.approx(0.0, abs=2e-3)
    assert opinion.entropy(RNG.uniform(-1, 1, 200_000)) == pytest.approx(1.0, abs=1e-3)
    assert opinion.entropy(np.zeros(5)) == 0.0


def _blocks(n: int, share: float, degree: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random two-block graph: `share` of the ties stay within the block."""
    block = np.arange(n) % 2
    source = np.repeat(np.arange(n), degree)
    same = RNG.random(n * degree) < share
    target = RNG.integers(0, n // 2, n * degree) * 2 + np.where(same, block[source], 1 - block[source])
    return block, source, target


def test_assortativity_of_shuffled_stances_is_about_0_and_of_equal_ends_1():
    block, source, target = _blocks(2_000, 0.5)
    assert abs(network.assortativity(RNG.uniform(-1, 1, 2_000), source, target)) < 3 / np.sqrt(len(source)) * 1.5
    assert network.assortativity(block * 2.0 - 1.0, np.array([0, 1]), np.array([2, 3])) == pytest.approx(1.0)
    assert np.isnan(network.assortativity(np.zeros(3), np.array([0]), np.array([1])))


def test_ei_index_of_two_blocks_is_1_less_twice_the_share_inside():
    block, source, target = _blocks(4_000, 0.75)
    assert network.ei_index(block, source, target) == pytest.approx(-0.5, abs=0.01)


def test_modularity_of_random_labels_is_about_0_and_of_apart_blocks_a_half():
    block, source, target = _blocks(4_000, 1.0)
    assert network.modularity(block, source, target) == pytest.approx(0.5, abs=0.01)
    assert network.modularity(RNG.integers(0, 3, 4_000), source, target) == pytest.approx(0.0, abs=0.01)


def _naive_controversy(side, source, target, top):
    """The absorbing chain solved densely, written apart."""
    n = len(side)
    weights = np.zeros((n, n))
    for a, b in zip(source, target, strict=True):
        if a != b and side[a] and side[b]:
            weights[a, b] += 1
            weights[b, a] += 1
    degree = weights.sum(1)
    ends = {s: sorted((i for i in range(n) if side[i] == s and degree[i]), key=lambda i: (-degree[i], i))[:top] for s in (1, -1)}
    stop = ends[1] + ends[-1]
    go = [i for i in range(n) if degree[i] and i not in stop]
    chances = weights[np.ix_(go, go + stop)] / degree[go][:, None]
    hit = np.linalg.solve(np.eye(len(go)) - chances[:, : len(go)], chances[:, len(go) :])
    reach = np.zeros((n, 2))
    reach[go] = np.stack([hit[:, : len(ends[1])].sum(1), hit[:, len(ends[1]) :].sum(1)], 1)
    reach[ends[1]] = (1, 0)
    reach[ends[-1]] = (0, 1)
    reach = np.divide(weights @ reach, degree[:, None], out=np.zeros((n, 2)), where=degree[:, None] > 0)  # at least one step
    arrive = np.array([reach[[i for i in range(n) if side[i] == s and degree[i]]].mean(0) for s in (1, -1)])
    p = arrive / arrive.sum(0)
    return p[0, 0] * p[1, 1] - p[0, 1] * p[1, 0]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_controversy_equals_the_absorbing_chain_solved_densely(share):
    block, source, target = _blocks(120, share, 4)
    side = block * 2 - 1
    side[::17] = 0
    assert network.controversy(side, source, target) == pytest.approx(_naive_controversy(side, source, target, 10), abs=1e-6)


def test_controversy_rises_with_the_share_of_ties_inside():
    values = []
    for share in (0.5, 0.9, 0.99):
        block, source, target = _blocks(1_000, share)
        values.append(network.controversy(block * 2 - 1, source, target))
    assert values[0] == pytest.approx(0.0, abs=0.06)
    assert values[0] < values[1] < values[2]
    assert values[2] > 0.5


def test_exposure_diversity_and_cross_cutting():
    assert network.exposure_diversity(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2]), 3) == pytest.approx(1.0)
    assert network.exposure_diversity(np.array([0, 0]), np.array([1, 1]), 3) == 0.0
    assert network.cross_cutting(np.array([1, 1, -1, 0]), np.array([-1, 1, 0, 1])) == 0.5


def test_cascade_of_a_star_and_of_a_path():
    star = cascade.cascades(np.r_[-1, np.zeros(19, np.int64)])
    assert (star.size[0], star.depth[0], star.breadth[0]) == (20, 1, 19)
    assert star.virality[0] == pytest.approx(1.9)
    path = cascade.cascades(np.arange(-1, 29))
    assert (path.size[0], path.depth[0], path.breadth[0]) == (30, 29, 1)
    assert path.virality[0] == pytest.approx(31 / 3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1, 10**6), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_cascades_equal_a_naive_walk(raw, random):
    parent = [-1 if i == 0 or raw[i] < 0 or raw[i] % 5 == 0 else raw[i] % i for i in range(len(raw))]
    names = list(range(len(parent)))
    random.shuffle(names)  # rows need not be in order of time
    shuffled = np.full(len(parent), -1)
    for child, above in enumerate(parent):
        shuffled[names[child]] = -1 if above < 0 else names[above]
    found = cascade.cascades(shuffled)
    for row, root in enumerate(found.root.tolist()):

        def distance_up(node, root=root):
            steps = 0
            while node != root and shuffled[node] >= 0:
                node, steps = shuffled[node], steps + 1
            return steps if node == root else None

        depth = {node: distance_up(node) for node in range(len(parent)) if distance_up(node) is not None}
        assert found.size[row] == len(depth)
        assert found.depth[row] == max(depth.values())
        assert found.breadth[row] == max(list(depth.values()).count(d) for d in depth.values())

        def chain(node):
            out = [node]
            while shuffled[out[-1]] >= 0:
                out.append(shuffled[out[-1]])
            return out

        total, n = 0, len(depth)
        for a in depth:
            for b in depth:
                up = chain(a)
                total += next(up.index(c) + steps for steps, c in enumerate(chain(b)) if c in up)
        assert found.virality[row] == pytest.approx(total / (n * (n - 1)) if n > 1 else 0.0)


def test_a_circle_of_parents_is_refused():
    with pytest.raises(ValueError, match="circle"):
        cascade.cascades(np.array([1, 0]))


def test_parents_are_found_by_id_and_strangers_are_not():
    assert cascade.parents(np.array([9, 5, 7]), np.array([-1, 9, 4])).tolist() == [-1, 0, -1]


def test_gini_of_equal_counts_is_0_and_of_one_takes_all_almost_1():
    assert activity.gini([3, 3, 3]) == pytest.approx(0.0)
    assert activity.gini([0, 0, 0, 8]) == pytest.approx(3 / 4)
    assert np.isnan(activity.gini([0, 0]))
    assert activity.top_share([1] * 9 + [91]) == pytest.approx(0.91)


def test_a_flip_needs_the_other_side_not_only_the_middle():
    tick = np.arange(6)
    path = np.array([0.5, 0.1, 0.4, -0.1, -0.3, 0.2])
    assert activity.flips(np.zeros(6, np.int64), tick, path).tolist() == [2]
    assert activity.flips(np.zeros(3, np.int64), tick[:3], np.array([0.1, -0.1, 0.1])).tolist() == [0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.floats(-1, 1)), min_size=1, unique_by=lambda r: r[:2]))
def test_flips_equal_a_naive_count(rows):
    expected = []
    for who in range(max(r[0] for r in rows) + 1):
        state, count = 0, 0
        for _, _, x in sorted(r for r in rows if r[0] == who):
            now = 1 if x > 0.15 else -1 if x < -0.15 else state
            count += state not in (0, now)
            state = now
        expected.append(count)
    agent, tick, x = (np.array(c) for c in zip(*rows, strict=True))
    assert activity.flips(agent, tick, x).tolist() == expected


def test_the_last_value_up_to_a_tick_counts():
    agent, tick = np.array([0, 0, 1, 0]), np.array([-1, 5, 2, 3])
    got = activity.as_of(agent, tick, np.array([10.0, 30.0, 40.0, 20.0]), 4, 3)
    assert got[:2].tolist() == [20.0, 40.0]
    assert np.isnan(got[2])


def test_reach_counts_each_reader_once():
    assert activity.narrative_reach(np.array([0, 0, 1, 2]), np.array([7, 7, 7, 8]), 4) == {7: 0.5, 8: 0.25}


def test_reach_never_falls_as_time_goes_on():
    reader, narrative = RNG.integers(0, 50, 400), RNG.integers(0, 3, 400)
    reaches = [activity.narrative_reach(reader[:k], narrative[:k], 50).get(1, 0.0) for k in range(1, 401)]
    assert all(a <= b for a, b in itertools.pairwise(reaches))


def test_peak_and_half_life_of_a_pulse():
    pulse = [0, 2, 8, 8, 5, 3, 1]
    assert activity.time_to_peak(pulse) == 2
    assert activity.half_life(pulse) == 3
    assert activity.half_life([1, 2, 3]) == -1
    assert activity.time_to_peak([0, 0]) == -1


def test_flat_shares_have_no_volatility():
    flat = np.tile([0.2, 0.3, 0.5], (6, 1))
    assert activity.volatility(flat) == activity.contestedness(flat) == 0.0
    swing = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert activity.volatility(swing) == 2.0
    assert activity.contestedness(swing) == 0.0
    assert activity.dominance(np.array([[0.5, 0.5], [0.7, 0.3]])) == 1
    assert activity.dominance(np.array([[0.5, 0.5]])) == -1


def test_influence_sums_what_each_author_did_to_others():
    assert activity.influence(np.array([0, 2, 0]), np.array([0.1, -0.4, 0.2]), 3).tolist() == pytest.approx([0.3, 0.0, 0.4])


def test_nobody_is_measured_without_a_crash():
    nobody = np.empty(0)
    for measure in (
        opinion.mean,
        opinion.variance,
        opinion.bimodality,
        opinion.esteban_ray,
        opinion.spread,
        opinion.dispersion,
        opinion.coverage,
        opinion.entropy,
    ):
        assert np.isnan(measure(nobody))
    assert opinion.camps(nobody) == 0
    none = np.empty(0, np.int64)
    assert np.isnan(network.assortativity(nobody, none, none))
    assert len(cascade.cascades(none).root) == 0
