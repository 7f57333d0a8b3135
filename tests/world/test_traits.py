"""Traits that depend on other traits, against a naive reading of the cases."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.errors import BadInput
from simflow.plan import Case, Cell, Choice, Clock, Constant, Given, Normal, Person, Persona, Topic, Uniform
from simflow.world.builtin import BuiltinEngine
from simflow.world.draws import Draws
from simflow.world.traits import Traits

AGE = Uniform(18, 90)
HOME = Given("age", (Case(Choice((("rented", 0.8), ("owned", 0.2))), high=34), Case(Choice((("rented", 0.3), ("owned", 0.7))), low=35)))
INCOME = Given("age", (Case(Normal(20, 3), low=18, high=34), Case(Normal(45, 8), low=35, high=64), Case(Normal(18, 2), low=65)))


def drawn(traits, count=4000, own=(), seed=3) -> Traits:
    return Traits(Persona("adult", count, traits=traits), Draws((seed,)), np.arange(count), own)


def test_a_trait_follows_the_distribution_of_its_case():
    found = drawn({"age": AGE, "home": HOME, "income": INCOME})
    age = np.array(found.labels("age"))
    owned = np.array([h == "owned" for h in found.labels("home")])
    income = np.array(found.labels("income"), dtype=float)
    young, middle, old = age <= 34, (age >= 35) & (age <= 64), age >= 65
    assert abs(owned[young].mean() - 0.2) < 0.04
    assert abs(owned[~young].mean() - 0.7) < 0.03
    for group, mean, sd in ((young, 20, 3), (middle, 45, 8), (old, 18, 2)):
        assert abs(income[group].mean() - mean) < 4 * sd / np.sqrt(group.sum())
        assert abs(income[group].std() - sd) < 0.1 * sd + 0.1


edges = st.one_of(st.none(), st.integers(0, 60))
cases = st.lists(st.tuples(edges, edges), min_size=1, max_size=5).map(
    lambda found: [tuple(sorted(pair)) if None not in pair else pair for pair in found if pair != (None, None)]
)


@given(cases, st.booleans(), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_the_first_case_that_fits_counts_and_without_else_the_nearest(ends, has_else, seed):
    if not ends:
        return
    given_age = Given(
        "age",
        tuple(Case(Constant(float(k)), low=low, high=high) for k, (low, high) in enumerate(ends)),
        Constant(99.0) if has_else else None,
    )
    found = drawn({"age": Uniform(0, 60), "group": given_age}, 40, seed=seed)
    for age, group in zip(found.labels("age"), found.labels("group"), strict=True):
        far = [max(0.0 if low is None else low - age, 0.0 if high is None else age - high, 0.0) for low, high in ends]
        expected = 99.0 if has_else and min(far) > 0 else float(far.index(min(far)))
        assert group == expected


def test_what_depends_on_a_trait_does_not_depend_on_who_is_drawn_together():
    traits = {"age": AGE, "home": HOME, "rent": Given("home", (Case(Uniform(5, 9), "rented"),), Constant(0.0))}
    whole = drawn(traits, 50)
    for name in traits:
        alone = [Traits(Persona("adult", 50, traits=traits), Draws((3,)), np.array([a])).labels(name)[0] for a in range(50)]
        assert whole.labels(name) == alone


def test_a_person_of_a_file_is_taken_at_its_word():
    cell = Cell(
        "s",
        "base",
        {},
        1,
        (Topic("tariff"),),
        personas=(Persona("adult", 3, traits={"age": AGE, "band": Given("age", (Case(Constant(1.0), high=17),), Constant(2.0))}),),
        people=(Person("ann", "Ann", "adult", traits={"age": 12}), Person("bea", "Bea", "adult", traits={"band": 7.0})),
        clock=Clock(ticks=1, window=1),
    )
    engine = BuiltinEngine(cell)
    rows = engine.advance(engine.begin(), 0, 1).agents.to_pylist()
    traits = {r["id"]: json.loads(r["traits"]) for r in rows}
    assert traits["ann"] == {"age": 12, "band": 1.0}
    assert traits["bea"]["band"] == 7.0


def test_a_stance_may_depend_on_a_trait():
    stance = {"tariff": Given("age", (Case(Constant(-0.5), high=50),), Constant(0.5))}
    found = drawn({"age": AGE}, 200)
    numbers = found.numbers(stance["tariff"], "stance/tariff", -1.0, 1.0)
    assert numbers.tolist() == [-0.5 if age <= 50 else 0.5 for age in found.labels("age")]


def test_a_word_without_a_case_is_refused_with_its_name():
    found = drawn({"home": Choice((("tent", 1.0),)), "rent": Given("home", (Case(Constant(1.0), "rented"),))}, 5)
    with pytest.raises(BadInput, match="'home' is 'tent'"):
        found.labels("rent")
