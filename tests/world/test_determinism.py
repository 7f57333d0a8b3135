"""The same cell gives the same bytes, however the work is cut, and in whatever process."""

import dataclasses
import hashlib
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import difference, make_cell, run

from simflow.plan import Audience, Clock, Dynamics, Event, Feed, Network, Platform, Trigger, Voice
from simflow.world.builtin import BuiltinEngine
from simflow.world.settings import Settings

EVENTS = (
    Event("announcement", "post", 5, text="Water bills rise."),
    Event("weekly", "post", 3, until=90, every=20, by="city council", text="Ask us about the tariff.", topic="water tariff", stance=0.4),
    Event("siren", "broadcast", 11, by="city council", text="Boil your water.", to=Audience(personas=("pensioner",))),
    Event("scare", "nudge", 17, topic="water tariff", amount=-0.3, to=Audience(stance_min=0.0)),
    Event("hush", "mute", 20, until=31, target="city council"),
    Event("out", "ban", 23, until=40, target="city council"),
    Event("more", "join", 25, persona="renter", amount=4),
    Event("exodus", "leave", 33, persona="engineer", amount=3),
    Event("chrono", "feed", 29, until=44, feed=Feed("chronological"), to=Audience(topic="water tariff", stance_max=0.0)),
    Event("hot topic", "agenda", 12, until=37, topic="council trust", amount=4.0),
    Event("reaction", "post", 6, when=Trigger("mean", "water tariff", below=0.5), by="city council", text="We hear you on the tariff."),
    Event("backlash", "nudge", 15, when=Trigger("posts", above=3), topic="council trust", amount=-0.2),
)


def eventful(**changes):
    voices = (Voice("city council", 0.8), Voice("leak watch", 0.15))
    return make_cell(**({"agents": 45, "ticks": 60, "voices": voices, "events": EVENTS, "clock": Clock(ticks=60)} | changes))


@settings(max_examples=12, deadline=None)
@given(st.sets(st.integers(1, 59), max_size=8), st.integers(0, 2**32))
def test_any_cut_into_windows_gives_the_same_bytes(cuts, seed):
    cell = eventful(seed=seed)
    assert difference(run(cell, cuts), run(cell)) is None


def test_one_tick_a_window_gives_the_same_bytes():
    cell = eventful()
    assert difference(run(cell, range(60)), run(cell)) is None


@pytest.mark.parametrize("chunk", [1, 2, 7, 13])
def test_any_number_of_chunks_gives_the_same_bytes(chunk):
    cell = eventful()
    assert difference(run(cell, settings=Settings(chunk=chunk)), run(cell)) is None


def test_a_state_survives_storage():
    cell = eventful()
    engine = BuiltinEngine(cell)
    half = engine.advance(engine.begin(), 0, 30).state
    for name, array in half.items():
        assert isinstance(array, np.ndarray), name
        assert array.dtype != object, name
    kept = pickle.loads(pickle.dumps(half))
    one, other = engine.advance(kept, 30, 60), BuiltinEngine(cell).advance(half, 30, 60)
    assert difference(one, other) is None


def test_advance_leaves_the_state_that_it_is_given_alone():
    engine = BuiltinEngine(eventful())
    state = engine.begin()
    before = {name: array.tobytes() for name, array in state.items()}
    engine.advance(state, 0, 40)
    assert {name: array.tobytes() for name, array in state.items()} == before


def test_how_long_the_run_will_be_does_not_matter():
    engine = BuiltinEngine(eventful(clock=Clock(ticks=60)))
    longer = BuiltinEngine(eventful(clock=Clock(ticks=5000, window=7)))
    assert difference(engine.advance(engine.begin(), 0, 50), longer.advance(longer.begin(), 0, 50)) is None


def test_an_event_changes_nothing_before_it_happens():
    cell = eventful()
    fewer = dataclasses.replace(cell, events=tuple(e for e in cell.events if e.at < 25))
    one, other = BuiltinEngine(cell), BuiltinEngine(fewer)
    assert difference(one.advance(one.begin(), 0, 25), other.advance(other.begin(), 0, 25)) is None


def test_another_seed_is_another_world():
    assert difference(run(eventful(seed=1)), run(eventful(seed=2))) is not None


SCRIPT = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from test_determinism import digest, eventful
print(digest(eventful()))
"""


def digest(cell):
    """One hash over all tables and the state."""
    step = run(cell)
    out = hashlib.sha256()
    for table in (step.agents, step.episodes, step.exposures, *(step.truth[name] for name in sorted(step.truth))):
        out.update(repr(table.to_pydict()).encode())
    for name in sorted(step.state):
        kept = io.BytesIO()
        np.save(kept, step.state[name])
        out.update(kept.getvalue())
    return out.hexdigest()


@pytest.mark.parametrize("environment", [{"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "4711", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"}])
def test_another_process_gives_the_same_digest(environment, request):
    import os

    folder = str(request.path.parent)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, folder],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest(eventful())


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(["bounded_confidence", "social_judgement", "degroot", "friedkin_johnsen"]),
    st.sampled_from(["mix", "chronological", "hot", "interest", "follow_first"]),
    st.sampled_from(["small_world", "preferential", "blocks", "configuration"]),
    st.sampled_from([10, 60, 1440]),
    st.integers(1, 59),
    st.integers(1, 30),
)
def test_every_kind_of_world_can_be_cut(model, feed, shape, minutes, cut, shown):
    cell = eventful(
        agents=30,
        dynamics=Dynamics(model, repulsion=0.2, rate=0.3),
        platform=Platform(feed=Feed(feed, posts=shown, horizon=20)),
        network=Network(shape, links=4, homophily_by="persona", homophily_strength=0.4),
        clock=Clock(ticks=60, minutes=minutes),
    )
    assert difference(run(cell, [cut]), run(cell)) is None
