"""`simflow ask`: what agents answer, from what is believed of them, and on which words it rests."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from simflow.cli.ask import ask
from simflow.errors import BadInput, NotFound


@pytest.fixture
def put(home):
    def run(*args):
        return CliRunner().invoke(ask, ["small-town", *args, "--home", str(home)])

    return run


def test_an_answer_is_the_opinion_at_that_tick_with_its_words(put, view):
    result = put("--question", "Where do you stand on water?", "--tick", "100", "--json")
    assert result.exit_code == 0, result.exception
    (asked,) = json.loads(result.stdout)
    assert asked["asked"] == 5
    assert {row["topic"] for row in asked["answers"]} == {"water"}
    for row in asked["answers"]:
        found = view.explain(row["agent"], topic="water", tick=99, known_at=100)
        assert row["label"] == (None if found.in_force is None else (found.in_force.value > 0) - (found.in_force.value < 0))
        if row["label"] is not None:
            assert row["last_words"] == view.sentence(int(row["evidence"][-1].removeprefix("e"), 16))
            assert ("support" in row["last_words"]) == (row["label"] > 0)
    assert sum(asked["shares"]["water"].values()) == 5


def test_nothing_of_the_future_is_answered_with(put, view):
    (asked,) = json.loads(put("--question", "And water?", "--tick", "60", "--json").stdout)
    ticks = {r["episode"]: r["tick"] for r in view.run.table("episodes").to_pylist()}
    cited = [int(e.removeprefix("e"), 16) for row in asked["answers"] for e in row["evidence"]]
    assert cited
    assert all(ticks[e] < 60 for e in cited)


def test_only_those_who_are_meant_are_asked(put):
    (asked,) = json.loads(put("--question", "Trains?", "--who", "bob1", "--who", "Cleo Fox", "--json").stdout)
    assert [row["agent"] for row in asked["answers"]] == ["@bob1", "@cleo2"]
    (everybody,) = json.loads(put("--question", "Trains?", "--who", "resident", "--json").stdout)
    assert everybody["asked"] == 5


def test_words_for_people_say_the_shares_first(put):
    lines = put("--question", "Trains?").stdout.splitlines()
    assert lines[0].startswith("question, at tick 160, 5 asked")
    assert lines[1].strip().startswith("trains: ")
    assert "%" in lines[1]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((), NotFound),
        (("acceptance",), NotFound),
        (("--question", "x", "--tick", "999"), BadInput),
        (("--question", "x", "--who", "Zoe"), NotFound),
        (("--question", "x", "--who", "Ann"), BadInput),
    ],
)
def test_what_cannot_be_asked_is_refused(put, args, error):
    result = put(*args)
    assert isinstance(result.exception, error)
    assert result.exception.hint
