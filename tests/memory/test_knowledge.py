"""What a viewer may know of the graph: as if the claims that it did not witness, or that came later, had never been made."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from simflow.episode import EDGES
from simflow.memory import claims as claiming
from simflow.memory.claims import Claim
from simflow.memory.graph import Graph

PEOPLE = 5


@st.composite
def histories(draw):
    rows = []
    for number in range(draw(st.integers(0, 25))):
        of, on = draw(st.integers(0, PEOPLE - 1)), draw(st.integers(0, PEOPLE - 1))
        topic = draw(st.sampled_from([None, "water"]))
        tick = draw(st.integers(0, 30))
        value, sure = draw(st.sampled_from([-0.8, 0.0, 0.8])), draw(st.sampled_from([0.4, 0.7, 1.0]))
        slot = ("opinion", of, None, "water", None) if topic else ("attitude", of, on, None, None)
        rows.append(Claim(number, *slot, value, sure, tick, tick + draw(st.integers(0, 9)), number // 2, None, "x"))
    return rows


def graph(rows):
    order = pa.table({"episode": np.arange(30), "ordinal": np.arange(30)})
    return Graph(claiming.table(rows), EDGES.empty_table(), order, half_life=10)


@given(rows=histories(), seen=st.sets(st.integers(0, 13)), until=st.integers(0, 35), data=st.data())
def test_a_viewer_believes_what_follows_from_what_it_witnessed_alone(rows, seen, until, data):
    known_at = data.draw(st.none() | st.integers(0, 40))
    about = data.draw(st.lists(st.integers(0, PEOPLE - 1), max_size=2))
    usable = [r for r in rows if r.episode in seen and r.tick < until and (known_at is None or r.learnt <= known_at)]
    asked = {"hops": 2, "until": until, "known_at": known_at}
    found = graph(rows).facts(about, witnessed=np.array(sorted(seen), np.int64), **asked)
    assert _ordered(found) == _ordered(graph(usable).facts(about, **asked))


FIRST = [
    Claim(0, "attitude", 0, 1, None, None, -0.8, 0.4, 1, 1, 0, None, "x"),
    Claim(1, "opinion", 1, None, "water", None, -0.8, 0.4, 0, 0, 0, None, "x"),
]


@given(rows=histories(), until=st.integers(0, 35), about=st.lists(st.integers(0, PEOPLE - 1), max_size=2))
@example(rows=FIRST, until=1, about=[0])
@example(rows=FIRST[::-1], until=1, about=[0])
def test_what_comes_later_changes_nothing_that_is_believed_now(rows, until, about):
    whole, early = graph(rows), graph([r for r in rows if r.tick < until])
    assert _ordered(whole.facts(about, hops=3, until=until)) == _ordered(early.facts(about, hops=3, until=until))


@given(rows=histories(), now=st.integers(0, 30), data=st.data())
def test_knowledge_kept_of_a_viewer_answers_any_tick(rows, now, data):
    whole = graph(rows)
    episodes = np.array(sorted({r.episode for r in rows}), np.int64)
    when = np.array([data.draw(st.integers(0, 30)) for _ in episodes], np.int64)
    kept = whole.knowledge(episodes, when)
    assert whole.facts([0, 1], hops=2, until=now, witnessed=kept.before(now)) == whole.facts(
        [0, 1], hops=2, until=now, witnessed=episodes[when < now]
    )


def _ordered(facts):
    return sorted((f._replace(edge=None) for f in facts), key=lambda f: (f.distance, str(f.slot)))
