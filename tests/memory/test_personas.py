"""Persona states: when they are made, what they may use, how long they get, and that they can be checked."""

from __future__ import annotations

import re

import pytest

from simflow.memory import tokens
from simflow.memory.personas import Line, fit, personas


@pytest.fixture(scope="module")
def states(run):
    return run.table("personas").to_pylist()


def test_each_agent_has_a_state_at_each_refresh(run, states):
    refresh = run.cell.memory.refresh
    assert {s["tick"] for s in states} == set(range(refresh, run.end + 1, refresh))
    assert len(states) == 5 * (run.end // refresh)


def test_a_state_names_the_episodes_it_rests_on_and_none_that_came_later(run, states):
    ticks = {r["episode"]: r["tick"] for r in run.table("episodes").to_pylist()}
    for state in states:
        assert state["evidence"]
        assert all(ticks[e] < state["tick"] for e in state["evidence"])
        assert all(int(t) < state["tick"] for t in re.findall(r"tick (\d+)|last at (\d+)", state["text"]) for t in t if t)


def test_a_state_keeps_within_its_cap_and_counts_itself_rightly(run, states):
    for state in states:
        assert state["tokens"] == tokens.count(state["text"]) <= run.cell.memory.persona_tokens


def test_states_are_the_same_when_they_are_made_again(run, states):
    parts = {name: run.table(name) for name in ("episodes", "edges")}
    made = personas(run.cell, agents=run.agents(), start=0, stop=run.end, previous=run.table("personas").slice(0, 0), **parts)
    assert made.to_pylist() == states


def test_a_short_first_window_gets_states_at_its_end(run):
    parts = {name: run.table(name) for name in ("episodes", "edges")}
    early = personas(run.cell, agents=run.agents(), start=0, stop=10, previous=run.table("personas").slice(0, 0), **parts)
    assert set(early["tick"].to_pylist()) == {10}
    later = personas(run.cell, agents=run.agents(), start=10, stop=20, previous=early, **parts)
    assert later.num_rows == 0


def test_a_change_of_mind_is_told_with_what_was_before(states):
    bob = next(s for s in states if s["agent"] == 1 and s["tick"] == 80)
    assert re.search(r"Supports water since tick \d+ \(said .*\); before, opposed it from tick \d+", bob["text"])


@pytest.mark.parametrize("cap", [3, 20, 60])
def test_what_does_not_fit_is_dropped_from_the_end(cap):
    lines = [Line("Ann Lee (@ann0), resident.", (1,)), Line("Opposes water since tick 3.", (2,)), Line("Mood: calm.", (3,))]
    ((text, size, evidence),) = fit([lines], cap)
    assert size == tokens.count(text) <= cap
    assert "Ann" in text
    assert evidence == tuple(n + 1 for n, line in enumerate(lines) if line.text in text) or cap == 3
