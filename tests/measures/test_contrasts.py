"""Intervals and contrasts over seeds."""

from __future__ import annotations

import numpy as np
import pytest

from simflow.errors import BadInput
from simflow.evaluation import contrasts


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    hits = sum(
        abs(contrasts.interval(y, seed=k).mean) >= 0 and contrasts.interval(y, seed=k).low <= 0 <= contrasts.interval(y, seed=k).high
        for k, y in enumerate(rng.normal(0, 1, (200, 30)))
    )
    assert 178 <= hits <= 199


def test_intervals_of_few_values_cover_as_often_as_they_say():
    rng = np.random.default_rng(5)
    found = [contrasts.interval(y) for y in rng.normal(0, 1, (1000, 4))]
    assert {i.method for i in found} == {"t"}
    assert 930 <= sum(i.low <= 0 <= i.high for i in found) <= 970


def test_an_interval_is_the_same_for_the_same_values():
    values = np.arange(20.0)
    assert contrasts.interval(values) == contrasts.interval(values)
    assert contrasts.interval(values).method == "percentile"


def test_few_skewed_values_get_bca_which_leans_to_the_tail():
    values = np.array([1.0] * 18 + [30.0, 60.0])
    got = contrasts.interval(values)
    assert got.method == "bca"
    plain = np.quantile(np.random.Generator(np.random.Philox(0)).choice(values, (2_000, 20)).mean(axis=1), 0.975)
    assert got.high > plain


def test_pairing_shows_a_small_effect_that_the_runs_alone_would_hide():
    rng = np.random.default_rng(3)
    shared = rng.normal(0, 1, 40)
    a, b = shared + rng.normal(0, 0.05, 40), shared + 0.1 + rng.normal(0, 0.05, 40)
    got = contrasts.paired(a, b)
    assert got.difference.low > 0
    assert got.correlation > 0.99
    assert got.variance_ratio > 100
    d = b - a
    assert got.difference.mean == pytest.approx(d.mean())
    assert got.variance_ratio == pytest.approx((a.var(ddof=1) + b.var(ddof=1)) / d.var(ddof=1))


def test_an_arm_against_itself_differs_by_nothing():
    a = np.random.default_rng(4).normal(0, 1, 25)
    got = contrasts.paired(a, a)
    assert (got.difference.low, got.difference.high, got.deviation) == (0.0, 0.0, 0.0)


def test_seeds_needed_follow_the_formula_and_its_bounds():
    t = contrasts.student(0.975, 29)
    assert contrasts.seeds_needed(1.0, 0.25, 30) == int(np.ceil((t / 0.25) ** 2))
    assert contrasts.seeds_needed(0.001, 1.0, 30) == 20
    assert contrasts.seeds_needed(10.0, 0.1, 30) == 200


def test_students_t_is_near_the_tables():
    for q, df, table in (
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 3, 3.182),
        (0.95, 4, 2.132),
        (0.975, 5, 2.571),
        (0.975, 10, 2.228),
        (0.975, 30, 2.042),
        (0.95, 20, 1.725),
        (0.995, 8, 3.355),
    ):
        assert contrasts.student(q, df) == pytest.approx(table, abs=1e-3)
        assert contrasts.student(1 - q, df) == pytest.approx(-table, abs=1e-3)


def test_power_rises_with_seeds_and_is_the_level_without_an_effect():
    assert contrasts.power(0.0, 1.0, 50) == pytest.approx(0.05)
    assert contrasts.power(0.2, 1.0, 20) < contrasts.power(0.2, 1.0, 200) < 1.0
    assert contrasts.power(0.5, 1.0, 32) == pytest.approx(0.807, abs=0.01)


def test_too_few_or_unpaired_runs_are_refused():
    with pytest.raises(BadInput, match="two finite values"):
        contrasts.interval([1.0])
    with pytest.raises(BadInput, match="same seeds"):
        contrasts.paired([1.0, 2.0], [1.0])
