"""Agents that speak, in a society: fixed order, same bytes however a range is cut, nothing invented, mixed populations."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simflow.errors import EndpointFailed
from simflow.llm import acting
from simflow.plan import Clock, Feed, Language, Normal, Persona, Platform, Topic
from simflow.ports import Act, Engine, Remote
from simflow.world.builtin import BuiltinEngine
from simflow.world.spoken import SpokenEngine

ALL = Platform().actions
TABLES = ("agents", "episodes", "exposures", "turns")


class Dice:
    """A speaker that decides by hashing what it is shown: any action, some of them impossible, some turns lost."""

    id = "dice"

    def __init__(self, allowed=(*ALL, "nothing"), lost=0):
        self.allowed, self.lost, self.turns = allowed, lost, []

    def speak(self, turns):
        self.turns += turns
        return [self._one(turn) for turn in turns]

    def _one(self, turn):
        roll = hashlib.sha256(repr(turn).encode()).digest()
        if roll[3] < self.lost:
            return Act("nothing", reason="unreachable")
        kind = self.allowed[roll[0] % len(self.allowed)]
        post = None if kind in {"post", "nothing"} else roll[1] % max(1, len(turn.feed))
        text = f"{kind} by {turn.id} at {turn.tick} ✓" if kind in {"post", "reply", "quote"} else None
        topic = turn.topics[roll[2] % len(turn.topics)] if text and roll[4] % 3 else None
        return Act(kind, post, text, topic, (roll[5] % 5 - 2) / 2 if topic else None, tokens_in=100, tokens_out=10)


def a_world(kit, *, engine="llm", **more):
    given = {
        "personas": (
            Persona("speaker", 6, engine=engine, stance={"water tariff": Normal(-0.5, 0.2)}),
            Persona("listener", 14, engine="builtin"),
        ),
        "clock": Clock(ticks=60, minutes=60, window=60),
    } | more
    return dataclasses.replace(kit.a_cell(), **given)


def whole(step):
    tables = {name: getattr(step, name).to_pydict() for name in TABLES} | {n: t.to_pydict() for n, t in step.truth.items()}
    state = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in step.state.items()}
    return tables, state


def run(cell, cuts, speaker, recall=None):
    engine = SpokenEngine(cell, speaker)
    state, steps = engine.begin(), []
    for low, high in itertools.pairwise(cuts):
        steps.append(engine.advance(state, low, high, recall=recall))
        state = steps[-1].state
    return steps


def test_engine_offers_its_ports(kit):
    engine = SpokenEngine(a_world(kit), Dice())
    assert isinstance(engine, Engine)
    assert isinstance(engine, Remote)
    assert engine.needs_recall
    assert "dice" in engine.id


def test_society_in_which_nobody_speaks_is_the_builtin_one_to_the_byte(kit):
    cell = a_world(kit, engine="builtin")
    builtin = BuiltinEngine(cell)
    a = whole(builtin.advance(builtin.begin(), 0, 60))
    b = whole(run(cell, [0, 60], Dice())[0])
    assert a[0] == b[0]
    assert a[1] == {k: v for k, v in b[1].items() if not k.startswith("spoken_")}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(cuts=st.sets(st.integers(1, 59), max_size=4), lost=st.sampled_from([0, 60]))
def test_cut_of_a_range_changes_no_byte(kit, cuts, lost):
    cell = a_world(kit)

    def recall(agent, tick, situation):
        return f"{agent} {tick} {situation}"

    one = run(cell, [0, 60], Dice(lost=lost), recall)
    many = run(cell, [0, *sorted(cuts), 60], Dice(lost=lost), recall)
    assert whole(one[-1])[1] == whole(many[-1])[1]
    for name in TABLES:
        rows = [row for step in many for row in getattr(step, name).to_pylist()]
        assert rows == getattr(one[0], name).to_pylist()


def test_all_acts_of_the_platform_reach_the_tables(kit):
    speaker = Dice()
    step = run(a_world(kit, clock=Clock(ticks=240, minutes=60, window=240)), [0, 240], speaker)[0]
    outcomes = {o.split(" ")[0] for o in step.turns["outcome"].to_pylist()}
    assert set(ALL) <= outcomes
    speaking = {t.agent for t in speaker.turns}
    mine = step.episodes.filter(pc.is_in(step.episodes["actor"], value_set=pc.unique(step.turns["agent"])))
    assert set(mine["kind"].to_pylist()) == set(ALL)
    acts = sum(not o.startswith("nothing") for o in step.turns["outcome"].to_pylist())
    assert acts == mine.num_rows
    assert speaking == set(step.turns["agent"].to_pylist())
    for row in mine.to_pylist():
        if row["kind"] in {"post", "reply", "quote"}:
            assert row["text"].startswith(f"{row['kind']} by ")
            assert row["text"] in row["sentence"]


def test_words_are_read_by_others_and_shared_as_they_are(kit):
    step = run(a_world(kit, clock=Clock(ticks=300, minutes=60, window=300)), [0, 300], Dice(allowed=("post", "repost")))[0]
    by_id = {e["episode"]: e for e in step.episodes.to_pylist()}
    shared = [e for e in by_id.values() if e["kind"] == "repost" and " by " in (e["text"] or "")]
    assert shared
    for one in shared:
        assert one["text"] == by_id[one["parent"]]["text"]
    builtin_readers = set(step.exposures["reader"].to_pylist()) - set(step.turns["agent"].to_pylist())
    spoken = {e["episode"] for e in by_id.values() if (e["text"] or "").startswith("post by ")}
    seen = {(x["reader"], x["episode"]) for x in step.exposures.to_pylist() if x["episode"] in spoken}
    assert {reader for reader, _ in seen} & builtin_readers


def test_what_an_agent_sees_is_what_its_exposures_say(kit):
    speaker = Dice()
    step = run(a_world(kit), [0, 60], speaker)[0]
    shown = {}
    for x in step.exposures.to_pylist():
        shown.setdefault((x["reader"], x["tick"]), []).append((x["rank"], x["episode"]))
    texts = {e["episode"]: e["text"] for e in step.episodes.to_pylist()}
    assert any(t.feed for t in speaker.turns)
    for turn in speaker.turns:
        assert [s.episode for s in turn.feed] == [e for _, e in sorted(shown.get((turn.agent, turn.tick), []))]
        for seen in turn.feed:
            assert seen.text == texts[seen.episode]
            assert seen.tick < turn.tick


def test_stance_moves_by_declaration_alone_and_the_books_balance(kit):
    cell = a_world(kit)
    step = run(cell, [0, 60], Dice())[0]
    speaking = set(step.turns["agent"].to_pylist())
    rows = [r for r in step.truth["stances"].to_pylist() if r["agent"] in speaking and r["tick"] >= 0]
    assert rows
    assert all(r["contributions"] == 0 and r["clip"] == 0 for r in rows)
    start = SpokenEngine(cell, Dice()).begin()["x"].astype(np.int64)
    for row in step.truth["stances"].to_pylist():
        if row["tick"] >= 0:
            start[row["agent"], row["topic"]] += row["contributions"] + row["self_term"] + row["clip"]
    assert np.array_equal(start, step.state["x"])


@pytest.mark.parametrize(
    "act",
    [
        Act("delete everything"),
        Act("reply", post=99, text="x"),
        Act("reply", post=-1, text="x"),
        Act("reply", text="x"),
        Act("post", text="  "),
        Act("post"),
        Act("unfollow", post=0),
        Act("like"),
    ],
)
def test_impossible_act_is_a_recorded_nothing(kit, act):
    class Stubborn:
        id = "stubborn"

        def speak(self, turns):
            return [act if turn.feed else Act("nothing") for turn in turns]

    cell = a_world(kit, personas=(Persona("speaker", 6, engine="llm"), Persona("listener", 14, engine="builtin")))
    step = run(cell, [0, 60], Stubborn())[0]
    did = step.episodes.filter(pc.is_in(step.episodes["actor"], value_set=pc.unique(step.turns["agent"])))
    if act.kind == "unfollow":  # some of what is shown comes from followees; only strangers cannot be unfollowed
        assert did.num_rows < step.turns.num_rows
    else:
        assert did.num_rows == 0
    assert any(o.startswith("nothing: invalid") for o in step.turns["outcome"].to_pylist())
    assert step.notes["turns_without_act"] > 0


def test_action_that_the_platform_lacks_is_not_offered_and_not_done(kit):
    cell = a_world(kit, platform=Platform(actions=("post", "like"), feed=Feed(posts=3)))
    speaker = Dice()
    step = run(cell, [0, 60], speaker)[0]
    assert {t.actions for t in speaker.turns} == {("post", "like")}
    assert set(step.episodes["kind"].to_pylist()) <= {"post", "like"}
    assert max(len(t.feed) for t in speaker.turns) <= 3


def test_lost_turns_are_counted_and_silence_of_most_ends_the_run(kit):
    step = run(a_world(kit), [0, 60], Dice(lost=60))[0]
    lost = step.turns["outcome"].to_pylist().count("nothing: unreachable")
    assert lost > 0
    assert step.notes["turns_without_act"] >= lost
    with pytest.raises(EndpointFailed, match="no endpoint"):
        run(a_world(kit), [0, 60], Dice(lost=255))


def test_turn_gives_recall_the_post_to_answer_and_keeps_the_block(kit):
    asked = []

    def recall(agent, tick, situation):
        asked.append((agent, tick, situation))
        return f"Remembers {agent}."

    speaker = Dice()
    step = run(a_world(kit), [0, 60], speaker, recall)[0]
    assert [(t.agent, t.tick) for t in speaker.turns] == [(a, t) for a, t, _ in asked]
    first = next(t for t in speaker.turns if t.feed)
    situation = next(s for a, t, s in asked if (a, t) == (first.agent, first.tick))
    assert first.feed[0].text in situation
    assert f"@{first.feed[0].author_id}" in situation
    assert step.turns["block"].to_pylist() == [f"Remembers {a}." for a, _, _ in asked]
    assert all(0 < n < 9 for n in step.turns["block_tokens"].to_pylist())
    assert [t.memory for t in speaker.turns] == step.turns["block"].to_pylist()


def test_persona_may_name_its_own_model(kit):
    speaker = Dice()
    cell = a_world(kit, personas=(Persona("a", 5, engine="llm", model="big"), Persona("b", 5, engine="llm")))
    run(cell, [0, 60], speaker)
    assert {t.model for t in speaker.turns} == {"big", None}


def test_who_speaks_another_language_is_described_and_told_to_write_in_it(kit):
    voice = Persona("speaker", 6, engine="llm", voice="direta", goals=("pagar menos",), stance={"tarifa": Normal(-0.9, 0.05)})
    cell = a_world(kit, personas=(voice, Persona("listener", 14, engine="builtin")), topics=(Topic("tarifa"),), language=Language("pt"))
    speaker, asked = Dice(), []
    run(cell, [0, 30], speaker, lambda _agent, _tick, situation: asked.append(situation) or "")
    who = speaker.turns[0].who
    assert "\nVoz: direta.\nObjetivos: pagar menos.\n" in who
    assert 'opõe-se a "tarifa" com firmeza' in who
    assert any(" escreveu: " in situation or " respondeu" in situation for situation in asked)
    assert not any(" wrote: " in situation or " replied" in situation for situation in asked)
    rules = acting.stable(ALL, ("tarifa",), "pt")
    assert "\nPeople here write in Portuguese, and so do you.\n" in rules
    assert acting.stable(ALL, ("tarifa",), "en") == acting.stable(ALL, ("tarifa",)) == acting.stable(ALL, ("tarifa",), "fr")
    assert set(rules.split("\n")) - set(acting.stable(ALL, ("tarifa",)).split("\n")) == {"People here write in Portuguese, and so do you."}
