"""A cell survives being stored: canonical values and back."""

from __future__ import annotations

import dataclasses
import json
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from simflow import plan
from simflow.plan import Cell, canonical, revive

FOUND = (Phase.explicit, Phase.reuse, Phase.generate)
"""A whole cell takes minutes to shrink; the difference that pytest prints says which field it is."""
text = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=6)
number = st.floats(-10, 10, allow_nan=False)


def values(kind: Any) -> st.SearchStrategy[Any]:
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return st.one_of(st.none(), st.integers(-5, 5), number, text, st.lists(st.integers(), max_size=2))
    if set(get_args(plan.Distribution)) | {type(None)} == set(inside):
        return st.one_of(st.none(), DISTRIBUTIONS)
    if kind == plan.Distribution:
        # Dependent distributions hold distributions: the strategy is one object that refers to itself.
        return DISTRIBUTIONS
    if origin in {Union, types.UnionType}:
        return st.one_of(*(st.none() if k is type(None) else values(k) for k in inside))
    if origin is Literal:
        return st.sampled_from(inside)
    if origin is tuple:
        if inside[-1] is Ellipsis:
            return st.lists(values(inside[0]), max_size=2).map(tuple)
        return st.tuples(*(values(k) for k in inside))
    if origin is not None:
        return st.dictionaries(text, values(inside[1]), max_size=2)
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{f.name: values(hints[f.name]) for f in dataclasses.fields(kind)})
    return {int: st.integers(-100, 10**6), float: number, str: text, bool: st.booleans()}[kind]


DISTRIBUTIONS: st.SearchStrategy[Any] = st.deferred(lambda: st.one_of(*(values(k) for k in get_args(plan.Distribution))))


@given(values(Cell))
@settings(max_examples=80, deadline=None, phases=FOUND)
def test_a_cell_comes_back_from_its_canonical_form(cell):
    assert revive(canonical(cell)) == cell


@given(values(Cell))
@settings(max_examples=40, deadline=None, phases=FOUND)
def test_a_cell_comes_back_through_json_and_yaml(cell):
    plain = canonical(cell)
    assert revive(json.loads(json.dumps(plain))) == cell
    assert revive(yaml.safe_load(yaml.safe_dump(plain, allow_unicode=True))) == cell


@given(values(Cell), values(Cell))
@settings(max_examples=40, deadline=None, phases=FOUND)
def test_different_cells_have_different_canonical_forms(one, two):
    assert (canonical(one) == canonical(two)) == (one == two)


def test_cells_of_the_examples_come_back(root):
    from simflow.scenario import load

    for name in ("hello", "water-tariff", "tarif-na-vodu"):
        for cell in load(root / f"scenarios/{name}.yaml").cells[:3]:
            assert revive(yaml.safe_load(yaml.safe_dump(canonical(cell)))) == cell
