"""The small notations: shares, distributions, times, amounts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simflow.plan import Beta, Choice, Constant, Normal, Uniform
from simflow.scenario import values

finite = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 4))


@given(st.integers(0, 10**6))
def test_a_percentage_is_exactly_the_decimal_number(hundredths):
    assert values.number(f"{hundredths / 100:.2f}%") == float(f"{hundredths / 100:.2f}e-2")


@given(finite, finite)
def test_ranges_keep_their_ends(a, b):
    low, high = sorted((a, b))
    assert values.distribution(f"{low}..{high}") == Uniform(low, high)


@given(finite, st.floats(0, 100).map(lambda x: round(x, 3)))
def test_spreads_in_every_spelling_are_the_same(mean, sd):
    for sign in ("±", " ± ", "+-", " +/- "):
        assert values.distribution(f"{mean}{sign}{sd}") == Normal(mean, sd)


@pytest.mark.parametrize(("text", "ticks"), [("36", 36), ("36h", 36), ("10d", 240), ("120min", 2), ("2w", 336), ("1.5d", 36), ("end", 480)])
def test_times_in_ticks_of_an_hour(text, ticks):
    assert values.time(text).ticks(60, 480) == ticks


@pytest.mark.parametrize("text", ["", "soon", "3 fortnights", "-1h", "1h30", "h", "٣"])
def test_other_times_are_refused(text):
    if text == "٣":
        assert values.time(text).amount == 3  # digits of other scripts are digits
        return
    with pytest.raises(values.Unread):
        values.time(text)


@pytest.mark.parametrize(("text", "value"), [("5M", 5e6), ("200k", 2e5), ("1_000", 1000), ("1,000,000", 1e6), ("20", 20), ("1.5G", 1.5e9)])
def test_amounts(text, value):
    assert values.amount(text) == value


@pytest.mark.parametrize("text", ["34..20", "1 ± -2", "1e999", "1e999%"])
def test_impossible_numbers_are_refused(text):
    with pytest.raises(values.Unread):
        values.distribution(text) if "e" not in text else values.number(text)


@given(st.text(max_size=30))
def test_no_text_breaks_a_notation(text):
    for read in (values.number, values.distribution, values.time, values.amount, values.spread, values.call):
        try:
            found = read(text)
        except values.Unread:
            continue
        if isinstance(found, float):
            assert math.isfinite(found)


TRAITS = "population: {personas: {one: {traits: {age: %s}}}}\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.3", Constant(0.3)),
        ("20..34", Uniform(20, 34)),
        ("71 ± 6", Normal(71, 6)),
        ("71+-6", Normal(71, 6)),
        ("{beta: [2, 8]}", Beta(2, 8)),
        ("{a: 60%, b: 40%}", Choice((("a", 0.6), ("b", 0.4)))),
        ("{old town: 0.5, 7: 0.5}", Choice((("old town", 0.5), ("7", 0.5)))),
        ("old town", Choice((("old town", 1.0),))),
        ("10%", Constant(0.1)),
    ],
)
def test_distributions(cell, text, value):
    assert cell(TRAITS % text).personas[0].traits["age"] == value


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("normal(71, 6)", "write 71 ± 6"),
        ("gauss(0, 1)", "write 0 ± 1"),
        ("uniform(20, 34)", "write 20..34"),
        ("beta(2, 8)", "write {beta: [2, 8]}"),
        ("{gauss: [0, 1]}", "write 0 ± 1"),
        ("{normal: [71, 6]}", "write 71 ± 6"),
        ("{a: 60%, b: 50%}", "take away 10 %"),
        ("{a: 60%, b: 30%}", "10 % are missing"),
        ("34..20", "write 20..34"),
    ],
)
def test_other_notations_say_what_to_write(checked, text, hint):
    plan, problems = checked(TRAITS % text)
    assert plan is None
    assert any(hint in (p.hint or "") for p in problems), [p.render() for p in problems]


def test_both_halves_of_a_call_that_yaml_split_are_one_problem(checked):
    _, problems = checked("population: {personas: {one: {stance: {tariff: normal(0.1, 0.2)}}}}\n")
    assert len(problems) == 1
