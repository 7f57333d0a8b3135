from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.plan import Event, Trigger
from simflow.world.draws import name_key
from simflow.world.timeline import LASTING, Timeline, topic_in

VERBS = ("post", "nudge", "mute", "ban", "feed", "agenda", "join", "leave", "broadcast")

EVENTS = st.lists(
    st.builds(
        lambda verb, at, until, every, when: (verb, at, None if until is None else at + until, every, when),
        st.sampled_from(VERBS),
        st.integers(0, 40),
        st.none() | st.integers(1, 30),
        st.none() | st.integers(1, 9),
        st.booleans(),
    ),
    max_size=6,
).map(
    lambda rows: tuple(
        Event(f"e{k}", verb, at, until, every, Trigger("mean", above=0.0) if when else None)
        for k, (verb, at, until, every, when) in enumerate(rows)
    )
)


def happens(event, tick, start):
    """Naive: what a reader of the scenario would expect."""
    if start is None or tick < start:
        return False
    if event.verb in LASTING:
        return event.until is None or tick < event.until
    if event.every is None:
        return tick == start
    return (tick - start) % event.every == 0 and (event.until is None or tick <= event.until)


@settings(max_examples=200, deadline=None)
@given(EVENTS, st.integers(0, 30), st.integers(1, 40), st.dictionaries(st.integers(0, 5), st.integers(0, 60)))
def test_every_tick_at_which_something_changes_is_known_beforehand(events, start, length, fires):
    timeline = Timeline(events)
    fired = {name_key(f"e{k}"): tick for k, tick in fires.items()}
    changes = timeline.changes(start, start + length, fired)
    for tick in range(start, start + length):
        begins = {e.name: e.at if e.when is None else fired.get(name_key(e.name)) for e in events}
        moments = {e.name for e in events if e.verb not in LASTING and happens(e, tick, begins[e.name])}
        lasting = {e.name for e in events if e.verb in LASTING and happens(e, tick, begins[e.name])}
        before = {e.name for e in events if e.verb in LASTING and happens(e, tick - 1, begins[e.name])}
        assert {e.name for e in timeline.moments(tick, fired)} == moments
        assert {e.name for e in timeline.in_force(tick, fired)} == lasting
        if moments or (tick > start and lasting != before):
            assert tick in changes


WORDS = [("water tariff", "tariff", "water bill", "price rise"), ("council trust", "council", "mayor"), ("parking",)]


def test_the_topic_of_a_text_is_the_one_it_has_most_words_of():
    assert topic_in("From 1 May household water bills rise by 18%.", WORDS) == 0
    assert topic_in("The MAYOR parks where she likes; the council looks away.", WORDS) == 1
    assert topic_in("Parking, parking, parking!", WORDS) == 2
    assert topic_in("Lovely weather.", WORDS) == -1
    assert topic_in("", WORDS) == -1
    assert topic_in("Lovely weather.", WORDS[:1]) == 0
