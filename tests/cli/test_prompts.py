"""`simflow prompts` shows what a model is sent, to the byte: before anything is asked, and from the recording afterwards."""

from __future__ import annotations

import json
import re

import pytest

from simflow.cli import main
from simflow.cli.prompts import model_of
from simflow.llm.endpoint import Endpoint
from simflow.llm.extractor import ModelExtractor
from simflow.llm.room import Room
from simflow.llm.scripted import Script, completion, error, serving
from simflow.llm.speaker import ModelSpeaker
from simflow.plan import Cell, Models, Persona, Topic

SCENARIO = """\
scenario: study
topics: {tariff: A rise of water bills.}
population:
  agents: 6
  personas: {resident: {share: 100%, voice: blunt}}
  voices: {council: {followers: 100%}}
platform: {feed: {posts: 3}}
network: {links: 3}
clock: {ticks: 12, tick: 1h, window: 6, active: {night: 100%, morning: 100%, day: 100%, evening: 100%}}
events: {news: {at: 0, by: council, post: From May the tariff rises by 18%.}}
extract: {every: 6, accept: 100%}
models: {engine: llm, extractor: llm, model: gpt-4o-mini}
"""


def answer(request, _):
    """Acts say something; lines mean something."""
    shape = json.dumps(request["response_format"])
    asked = [int(line.split(" ", 1)[0]) for line in request["messages"][-1]["content"].splitlines() if re.match(r"\d+ @", line)]
    act = {"turn": {"act": "post", "text": "I am against the tariff.", "topic": 1, "stance": -1}}
    value = json.dumps(act if '"turn"' in shape else {"r": [{"e": n, "c": 1, "v": -1} for n in asked], "n": []})
    return completion(value)


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    for name in ("SIMFLOW_LLM_MODEL", "SIMFLOW_LLM_CACHE", "SIMFLOW_LLM_MODE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("SIMFLOW_LLM_CONCURRENCY", "1")  # questions arrive in the order in which they are asked
    path = tmp_path / "study.yaml"
    path.write_text(SCENARIO)
    return path


def simflow(*words) -> int:
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_first_question_is_sent_exactly_as_it_was_shown(scenario, monkeypatch, capsys):
    script = Script(answer)
    with serving(script) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        first = {}
        for phase in ("act", "extract"):
            assert simflow("prompts", scenario, "--phase", phase, "--json") == 0
            shown = json.loads(capsys.readouterr().out)
            assert (shown["phase"], shown["answer"]) == (phase, None)
            first[phase] = shown["request"]
        assert not script.requests, "to show a question asks nobody"
        assert simflow("run", scenario, "--no-tables", "--quiet") == 0
        capsys.readouterr()
    assert first["extract"] == script.requests[0], "what was announced is read before anybody has a turn"
    assert "What you remember:" in first["act"]["messages"][1]["content"]
    assert first["act"] == next(r for r in script.requests if '"turn"' in json.dumps(r["response_format"]))


def test_recorded_questions_are_those_that_were_asked_with_their_answers(scenario, monkeypatch, capsys):
    script = Script(answer)
    with serving(script) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert simflow("run", scenario, "--no-tables", "--quiet") == 0
        capsys.readouterr()
        assert simflow("prompts", scenario, "--list", "--json") == 0
        asked = json.loads(capsys.readouterr().out)
        assert len(asked) == len(script.requests)
        spoke = next(row for row in asked if row["phase"] == "act" and row["tick"] > 0)
        assert simflow("prompts", scenario, "--agent", f"@{spoke['agent']}", "--tick", spoke["tick"], "--json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["agent"], shown["tick"]) == (spoke["agent"], spoke["tick"])
        assert shown["request"] in script.requests
        assert json.loads(shown["answer"]["choices"][0]["message"]["content"])["turn"]["text"] == "I am against the tariff."
        assert simflow("prompts", scenario, "--phase", "extract") == 0
        text = capsys.readouterr().out
    lines = next(r for r in script.requests if "You read what people wrote" in r["messages"][0]["content"])
    assert lines["messages"][0]["content"] in text
    assert "--- answer (100 tokens in, 20 out)" in text


@pytest.mark.parametrize("later", [None, "another-model"])
def test_a_run_knows_the_model_that_the_environment_named(scenario, monkeypatch, capsys, later):
    scenario.write_text(SCENARIO.replace(", model: gpt-4o-mini", ""))
    monkeypatch.setenv("SIMFLOW_LLM_MODEL", "town/small-8b")
    monkeypatch.setenv("SIMFLOW_LLM_PRICE", "0,0")
    script = Script(answer)
    with serving(script) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert simflow("run", scenario, "--no-tables", "--quiet") == 0
    monkeypatch.delenv("SIMFLOW_LLM_MODEL")
    if later:
        monkeypatch.setenv("SIMFLOW_LLM_MODEL", later)
    capsys.readouterr()
    assert simflow("prompts", "study", "--list", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == len(script.requests) > 0
    assert simflow("prompts", "study", "--phase", "act", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["request"] in script.requests
    assert shown["request"]["model"] == "town/small-8b"
    assert shown["answer"]


@pytest.mark.parametrize("mode", ["json_schema", "auto"])
@pytest.mark.parametrize(
    ("reads", "own", "found"),
    [
        (True, (None,), "town/b+c"),
        (True, ("a", "z"), "town/b+c"),
        (False, (None,), "town/b+c"),
        (False, ("a", None, "z"), "town/b+c"),
        (False, ("town/b+c",), "town/b+c"),
    ],
)
def test_ids_of_a_run_tell_the_model_whoever_speaks_and_reads(mode, reads, own, found):
    personas = tuple(Persona(f"p{n}", 2, engine="llm", model=model) for n, model in enumerate(own))
    cell = Cell("s", "base", {}, 0, topics=(Topic("a"),), personas=personas, models=Models(extractor="llm" if reads else "builtin"))
    room = Room(Endpoint(model="town/b+c", mode=mode, taping="off"))
    ids = {"engine": f"spoken@1(text@1, {ModelSpeaker(cell, room).id})", "extractor": "builtin/1"}
    if reads:
        ids["extractor"] = f"cascade(builtin/1, {ModelExtractor(cell, room).id})@1"
    assert model_of(cell, ids) == found


def test_ids_of_a_run_without_a_model_tell_none():
    cell = Cell("s", "base", {}, 0, topics=(Topic("a"),))
    assert model_of(cell, {"engine": "world@1", "extractor": "builtin/1"}) is None
    assert model_of(cell, {}) is None


def test_agent_that_never_speaks_is_no_question(scenario, capsys):
    assert simflow("prompts", scenario, "--agent", "@nobody99") != 0
    assert "no such question would be asked" in capsys.readouterr().err


def test_probe_says_what_an_endpoint_masters(scenario, monkeypatch, capsys):
    def in_json_only(request, _):
        if request.get("response_format", {}).get("type") != "json_object":
            return error(400, "unsupported", "this server cannot do that")
        return completion(json.dumps({"signs": [{"item": 1, "sign": 1}, {"item": 2, "sign": -1}]}))

    with serving(Script(in_json_only)) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert simflow("prompts", scenario, "--probe") == 0
        assert capsys.readouterr().out.splitlines()[-1] == "set SIMFLOW_LLM_MODE=json"
        assert simflow("prompts", scenario, "--probe", "--json") == 0
        found = json.loads(capsys.readouterr().out)["modes"]
    assert not found["json"]
    assert "cannot do that" in found["tools"]


def test_probe_of_an_endpoint_that_masters_nothing_fails(scenario, monkeypatch, capsys):
    with serving(Script(lambda *_: error(401, "invalid_api_key", "wrong key"))) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert simflow("prompts", scenario, "--probe") == 3
    said = capsys.readouterr()
    assert "wrong key" in said.out
    assert "masters no way of shaping answers" in said.err
