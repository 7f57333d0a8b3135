from __future__ import annotations

import json

import pytest
from tests.memory.conftest import Reader, Words

from simflow import memory
from simflow.memory.imported import sessions
from simflow.plan import Cell, Clock, Extract, Memory, Models, Replay, Topic
from simflow.run import open_cell, parts
from simflow.world.replay import ReplayEngine


def test_a_session_ends_with_a_pause_and_threads_do_not_mix():
    assert sessions([0, 1, 2, 9, 10, 30], ["a", "b", "a", "a", "b", "b"], 60) == [
        ("a", 0),
        ("b", 0),
        ("a", 0),
        ("a", 1),
        ("b", 1),
        ("b", 2),
    ]
    assert sessions([], [], 60) == []
    assert sessions([0, 1], ["a", "a"], 1440) == [("a", 0), ("a", 0)]


@pytest.fixture
def talk(tmp_path, monkeypatch):
    turns = [
        ("2024-01-01T10:00:00", "ann", "bob", "I bought a piano yesterday"),
        ("2024-01-01T10:01:00", "bob", "ann", "How lovely, what brand?"),
        ("2024-01-01T10:02:00", "ann", "bob", "A Steinway"),
        ("2024-01-03T10:00:00", "cy", "dan", "My secret piano is broken"),
        ("2024-01-05T10:00:00", "bob", "ann", "My garden is full of weeds"),
        ("2024-01-05T10:01:00", "ann", "bob", "Mine too, it rained a lot"),
    ]
    rows = [
        {"id": f"m{i}", "ts": ts, "actor": a, "target_actor": b, "speakers": [a, b], "type": "message", "text": text}
        for i, (ts, a, b, text) in enumerate(turns)
    ]
    trace = tmp_path / "trace.jsonl"
    trace.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    made = {"engine": ReplayEngine, "embedder": Words, "extractor": Reader}
    monkeypatch.setattr(parts, "factory", lambda part, name: made[part])
    cell = Cell(
        "talk",
        "base",
        {},
        1,
        topics=(Topic("piano"),),
        clock=Clock(ticks=120, window=60, minutes=60),
        memory=Memory(top=4),
        extract=Extract(every=60),
        models=Models(engine="replay"),
        replay=Replay(str(trace)),
    )
    run = open_cell(str(trace), cell, tmp_path / ".simflow")
    for number in range(len(run.windows)):
        run.window(number)
    return memory.open(run.data(), embedder=Words())


def test_an_answer_beside_the_turn_that_resembles_the_question_is_recalled(talk):
    told = talk.recall("ann", None, "Which brand is the piano?").text
    assert "A Steinway" in told


def test_a_conversation_of_others_stays_theirs(talk):
    assert "secret" not in talk.recall("ann", None, "whose piano is broken?").text
    assert "secret" in talk.recall("dan", None, "whose piano is broken?").text


def test_before_its_time_a_turn_is_not_recalled(talk):
    assert "garden" not in talk.recall("ann", 40, "garden weeds").text
    assert "garden" in talk.recall("ann", None, "garden weeds").text
