"""A stored cell comes back as it was, and only behaviour enters an address."""

from __future__ import annotations

import dataclasses
import json

from hypothesis import given
from hypothesis import strategies as st

from simflow import plan
from simflow.plan import Cell, Clock, Event, Replay, Topic, canonical, revive, window_key

number = st.floats(-5, 5, allow_nan=False)
text = st.text(max_size=8)
distribution = st.one_of(
    st.builds(plan.Constant, number),
    st.builds(plan.Uniform, number, number),
    st.builds(plan.Normal, number, number),
    st.builds(plan.Beta, number, number),
    st.builds(plan.Choice, st.lists(st.tuples(text, number), max_size=3).map(tuple)),
)
persona = st.builds(
    plan.Persona,
    text,
    st.integers(0, 99),
    goals=st.lists(text, max_size=2).map(tuple),
    traits=st.dictionaries(text, distribution, max_size=2),
    stance=st.dictionaries(text, distribution, max_size=2),
    feed=st.none() | st.builds(plan.Feed, recency=number),
    leaves=st.none() | st.integers(0, 9),
)
person = st.builds(
    plan.Person, text, text, text, traits=st.dictionaries(text, text | number, max_size=2), stance=st.dictionaries(text, number, max_size=2)
)
event = st.builds(
    Event,
    text,
    st.sampled_from(["post", "nudge"]),
    st.integers(0, 100),
    when=st.none() | st.builds(plan.Trigger, text, above=st.none() | number),
    to=st.builds(plan.Audience, personas=st.none() | st.lists(text, max_size=2).map(tuple)),
)
cells = st.builds(
    Cell,
    text,
    text,
    st.dictionaries(text, number | text, max_size=2),
    st.integers(0, 2**31),
    topics=st.lists(st.builds(Topic, text, words=st.lists(text, max_size=2).map(tuple)), max_size=2).map(tuple),
    personas=st.lists(persona, max_size=2).map(tuple),
    people=st.lists(person, max_size=2).map(tuple),
    events=st.lists(event, max_size=2).map(tuple),
    network=st.builds(plan.Network, edges=st.lists(st.tuples(text, text), max_size=2).map(tuple)),
    clock=st.builds(Clock, active=st.none() | st.lists(number, min_size=24, max_size=24).map(tuple)),
    replay=st.none() | st.builds(Replay, text),
    checks=st.lists(st.builds(plan.Check, text, st.dictionaries(text, text, max_size=2)), max_size=2).map(tuple),
)


@given(cells)
def test_a_stored_cell_comes_back_as_it_was(cell):
    assert revive(json.loads(json.dumps(canonical(cell)))) == cell


BASE = Cell("s", "v", {}, 1, topics=(Topic("t"),), clock=Clock(ticks=300, window=100), events=(Event("late", "post", 150, text="x"),))


def keys(cell: Cell) -> list[str]:
    found: list[str] = []
    for n in range(len(cell.windows)):
        found.append(window_key(cell, n, found[-1] if found else None, {"engine": "e/1"}))
    return found


def test_a_longer_run_reuses_every_window():
    assert keys(dataclasses.replace(BASE, clock=Clock(ticks=500, window=100)))[:3] == keys(BASE)


def test_variants_share_windows_up_to_the_first_tick_at_which_they_differ():
    other = dataclasses.replace(BASE, variant="w", events=(Event("late", "post", 150, text="y"),))
    assert keys(other)[0] == keys(BASE)[0]
    assert keys(other)[1] != keys(BASE)[1]
    assert keys(other)[2] != keys(BASE)[2]


def test_what_does_not_shape_behaviour_is_not_in_the_address():
    dressed = dataclasses.replace(
        BASE, about="a", owner="o", schedule="0 0 * * *", limits=plan.Limits(1), ask=(plan.Ask("q", "?", 3),), source={"a": "f:1"}
    )
    assert keys(dressed) == keys(BASE)


def test_where_a_trace_lies_does_not_matter_but_what_it_holds_does():
    here, there = (dataclasses.replace(BASE, replay=Replay(path, sha256="1")) for path in ("/a", "/b"))
    assert keys(here) == keys(there)
    assert keys(dataclasses.replace(BASE, replay=Replay("/a", sha256="2"))) != keys(here)


def test_whatever_shapes_behaviour_is_in_the_address():
    changed = [
        dataclasses.replace(BASE, seed=2),
        dataclasses.replace(BASE, topics=(Topic("u"),)),
        dataclasses.replace(BASE, network=plan.Network(links=9)),
        dataclasses.replace(BASE, memory=plan.Memory(refresh=1)),
        dataclasses.replace(BASE, extract=plan.Extract(every=1)),
        dataclasses.replace(BASE, clock=Clock(ticks=300, window=100, minutes=1)),
        dataclasses.replace(BASE, clock=Clock(ticks=300, window=50)),
    ]
    assert len({keys(c)[0] for c in [BASE, *changed]}) == len(changed) + 1
