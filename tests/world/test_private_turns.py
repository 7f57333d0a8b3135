"""Residents who speak through a model write messages, post in groups and report, under the same rules as the others."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools

import pytest
from small_worlds import make_cell
from test_invariants import check_exposures, check_identity
from test_private import ALL

from simflow.llm import acting
from simflow.plan import Persona, Platform
from simflow.ports import Act
from simflow.world.spoken import SpokenEngine

CHOSEN = tuple(a for a in ALL if a not in {"search", "trend"})
WORDS = {"post", "reply", "quote", "message", "group"}


class Dice:
    """Decides by hashing what it is shown: any act, some of them impossible."""

    id = "dice"

    def __init__(self):
        self.turns = []

    def speak(self, turns):
        self.turns += turns
        return [self.one(turn) for turn in turns]

    def one(self, turn):
        roll = hashlib.sha256(repr(turn).encode()).digest()
        kind = CHOSEN[roll[0] % len(CHOSEN)]
        post = None if kind in {"post", "group"} else roll[1] % max(1, len(turn.feed))
        text = f"{kind} by {turn.id} at {turn.tick}" if kind in WORDS else None
        return Act(kind, post, text, turn.topics[0] if text else None, (roll[5] % 5 - 2) / 2 if text else None)


def world(cuts):
    personas = (Persona("speaker", 12, engine="llm"), Persona("listener", 18, engine="builtin"))
    rates = {"message": 0.2, "group": 0.2, "search": 0.2, "trend": 0.2, "report": 0.5}
    cell = make_cell(agents=30, ticks=90, platform=Platform(actions=ALL, rates=rates, group_size=5, hide_after=2))
    engine = SpokenEngine(dataclasses.replace(cell, personas=personas), speaker := Dice())
    state, steps = engine.begin(), []
    for low, high in itertools.pairwise([0, *cuts, 90]):
        steps.append(engine.advance(state, low, high))
        state = steps[-1].state
    return steps, speaker


@pytest.fixture(scope="module")
def spoken():
    steps, speaker = world([])
    return steps[0], speaker, {e["episode"]: e for e in steps[0].episodes.to_pylist()}


def test_a_cut_changes_no_byte(spoken):
    steps, _ = world([17, 40, 41])
    assert [r for s in steps for r in s.episodes.to_pylist()] == spoken[0].episodes.to_pylist()
    assert {k: v.tobytes() for k, v in steps[-1].state.items()} == {k: v.tobytes() for k, v in spoken[0].state.items()}


def test_what_was_chosen_is_what_happens_and_what_is_private_stays_so(spoken):
    step, _, episodes = spoken
    check_identity(step)
    check_exposures(step)
    speaking = set(step.turns["agent"].to_pylist())
    kinds = [e["kind"] for e in episodes.values() if e["actor"] in speaking]
    assert {"message", "group", "report", "search", "trend"} <= set(kinds)
    for row in step.exposures.to_pylist():
        one = episodes[row["episode"]]
        assert one["kind"] != "message" or row["reader"] == one["target"]
        assert one["kind"] != "group" or step.state["member"][row["reader"], 0] == step.state["member"][one["actor"], 0]
    for one in episodes.values():
        about = episodes.get(one["parent"])
        if about is not None and about["kind"] in {"message", "group"} and one["kind"] in WORDS | {"repost"}:
            assert one["kind"] == about["kind"] or (one["kind"] == "message" and about["kind"] == "group")


def test_reasons_say_what_could_not_be(spoken):
    reasons = {o for o in spoken[0].turns["outcome"].to_pylist() if o.startswith("nothing: invalid")}
    assert any("is not for everybody" in r for r in reasons)


def test_a_turn_sees_what_a_search_found_and_what_came_in_private(spoken):
    step, speaker, episodes = spoken
    shown = {(r["tick"], r["reader"], r["episode"]) for r in step.exposures.to_pylist()}
    seen = {(t.tick, t.agent, s.episode) for t in speaker.turns for s in t.feed}
    assert seen <= shown
    assert {episodes[e]["kind"] for _, _, e in seen} >= {"message", "group", "post"}


def test_a_model_is_offered_what_it_can_choose():
    offered = acting.stable(ALL, ("water tariff",))
    assert "- message: " in offered
    assert "- search" not in offered
    answer = acting.shape(ALL, 2, 1).model_validate
    assert answer({"turn": {"act": "message", "post": 2, "text": "hello", "topic": 1, "stance": 1}})
    assert answer({"turn": {"act": "group", "text": "hello", "topic": 1, "stance": 1}})
    assert answer({"turn": {"act": "report", "post": 1}})
    with pytest.raises(ValueError, match="search"):
        answer({"turn": {"act": "search", "topic": 1}})
