"""A record is what a frozen dataclass with slots is, to whoever uses it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simflow.plan import Topic
from simflow.plan.record import Record


@dataclass(frozen=True, slots=True)
class Plain:
    """What a record is compared with."""

    name: str
    size: float = 1.0
    parts: tuple[int, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


class Kept(Record):
    """The same fields."""

    name: str
    size: float = 1.0
    parts: tuple[int, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


given_values = st.fixed_dictionaries(
    {"name": st.text(max_size=2)},
    optional={
        "size": st.sampled_from([0.0, 1.0, float("nan")]),
        "parts": st.lists(st.integers(0, 2), max_size=2).map(tuple),
        "more": st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), max_size=1),
    },
)


@given(given_values, given_values)
def test_a_record_behaves_as_the_dataclass_with_the_same_fields(one, two):
    assert dataclasses.asdict(Kept(**one)) == dataclasses.asdict(Plain(**one))
    assert (Kept(**one) == Kept(**two)) == (Plain(**one) == Plain(**two))
    assert repr(Kept(**one)) == repr(Plain(**one)).replace("Plain", "Kept")
    assert dataclasses.replace(Kept(**one), **two) == Kept(**{**one, **two})
    assert copy.deepcopy(Kept(**one)).parts == Kept(**one).parts
    assert [f.name for f in dataclasses.fields(Kept)] == [f.name for f in dataclasses.fields(Plain)]
    assert [f.type for f in dataclasses.fields(Kept(**one))] == [f.type for f in dataclasses.fields(Plain)]


def test_a_record_is_never_changed_and_has_no_other_fields():
    topic = Topic("tariff")
    with pytest.raises(dataclasses.FrozenInstanceError):
        topic.name = "x"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del topic.name  # type: ignore[misc]
    with pytest.raises(AttributeError):
        _ = topic.__dict__
    assert pickle.loads(pickle.dumps(topic)) == topic
    assert hash(topic) == hash(Topic("tariff"))


@pytest.mark.parametrize(("values", "named"), [((), {}), (("a", 1.0, (), {}, 5), {}), (("a",), {"name": "b"}), (("a",), {"nome": "b"})])
def test_a_record_with_wrong_fields_is_a_type_error(values, named):
    with pytest.raises(TypeError, match="Kept"):
        Kept(*values, **named)


def test_default_maps_are_not_shared():
    one, two = Kept("a"), Kept("b")
    assert one.more == two.more
    assert one.more is not two.more


def test_records_match_by_position():
    match Topic("tariff", "about"):
        case Topic(name, about):
            assert (name, about) == ("tariff", "about")
        case _:
            pytest.fail("a record has no __match_args__")


def test_records_of_two_classes_are_never_equal():
    assert Kept("a") != Plain("a")
    assert Kept("a") != ("a", 1.0, (), {})
