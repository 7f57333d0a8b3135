"""What a plan forecasts is what a run is billed: three studies, each forecast, then run on an endpoint that counts tokens itself."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace

import pytest

from simflow.cli.forecast import forecast
from simflow.llm.room import count
from simflow.llm.scripted import Script, completion, serving
from simflow.plan import Cell, Clock, Extract, Limits, Memory, Models, Network, Persona, Topic
from simflow.run import open_cell

MODEL = "gpt-4o-mini"
SAID = (
    "No.",
    "I would rather see the leaks repaired first.",
    "The council never asks us, and then it wonders why nobody trusts it with our money any more, after all these years of promises.",
)
TOPICS = (
    Topic("water tariff", "Raising household water bills.", words=("tariff", "water bill")),
    Topic("council trust", "Whether the council deserves trust.", words=("council",)),
)


def turn(text: str) -> dict:
    """One in three does nothing, one in five likes, the rest speak, tersely or at length: not what the forecast takes people for."""
    roll = hashlib.sha256(text.encode()).digest()
    act = "nothing" if roll[0] < 90 else "like" if roll[0] < 140 else "reply" if roll[0] < 215 else "post"
    if act in {"like", "reply"} and not re.search(r"^1 @", text, re.MULTILINE):
        act = "post"  # nothing was shown that could be answered
    about = {"post": 1} if act in {"like", "reply"} else {}
    words = {"text": SAID[roll[1] % 3], "topic": 1, "stance": roll[2] % 5 - 2} if act in {"reply", "post"} else {}
    return {"turn": {"act": act, **about, **words}}


def reading(text: str) -> dict:
    """Finds something in four lines of five."""
    asked = [int(line.split(" ", 1)[0]) for line in text.splitlines() if re.match(r"\d+ @", line)]
    return {"r": [{"e": n, "c": 1, "v": 1 if n % 2 else -1} for n in asked if n % 5], "n": [n for n in asked if not n % 5]}


def model(request: dict, _: int) -> dict:
    text = request["messages"][-1]["content"]
    answer = json.dumps(turn(text) if '"turn"' in json.dumps(request) else reading(text))
    out = count({"messages": [{"content": answer}]}) - count({"messages": [{"content": ""}]})
    return completion(answer, usage=(count(request, schema=False), out))


def cell(**parts) -> Cell:
    return Cell("study", "base", {}, 3, TOPICS, **parts)


STUDIES = {
    "a model that reads": cell(
        personas=(Persona("resident", 40),),
        clock=Clock(ticks=72, window=36),
        extract=Extract(every=12, batch=8, accept=1.1),
        models=Models(extractor="llm", model=MODEL),
    ),
    "a model that speaks": cell(
        personas=(Persona("resident", 10, engine="llm", voice="blunt"),),
        clock=Clock(ticks=72, window=36),
        extract=Extract(every=12),
        models=Models(engine="llm", model=MODEL),
        network=Network(links=4),
    ),
    "both, among others, longer than the dry run": cell(
        personas=(Persona("speaker", 3, engine="llm"), Persona("resident", 12, engine="builtin")),
        clock=Clock(ticks=192, window=96),
        extract=Extract(every=24, batch=12, accept=0.95, audit=0.0),
        models=Models(engine="llm", extractor="llm", model=MODEL),
        network=Network(links=5),
        memory=Memory(persona_tokens=80, relation_tokens=120, episode_tokens=200),
    ),
}


@pytest.fixture
def endpoint(monkeypatch, tmp_path):
    for name in ("SIMFLOW_LLM_MODEL", "SIMFLOW_LLM_CACHE", "SIMFLOW_LLM_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    script = Script(model)
    with serving(script) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        yield script


def billed(study: Cell, home) -> int:
    run = open_cell("study.yaml", study, home)
    for number in range(len(run.windows)):
        run.window(number)
    return sum(run.data().window(n).manifest["tokens"] for n in range(len(run.windows)))


@pytest.mark.parametrize("name", STUDIES)
def test_a_run_is_billed_what_its_forecast_said_within_15_percent(name, endpoint, tmp_path):
    found = forecast(STUDIES[name])
    assert not endpoint.requests, "a forecast asks nobody"
    actual = billed(STUDIES[name], tmp_path / ".simflow")
    assert 0.85 <= actual / found.tokens.p50 <= 1.15
    assert actual <= found.tokens.p90


def test_a_run_that_would_go_beyond_its_limits_is_refused_before_anything_is_paid(endpoint, tmp_path, capsys):
    from simflow.cli import main
    from simflow.cli.outlook import beyond

    study = replace(STUDIES["a model that reads"], limits=Limits(tokens=500))
    assert "500" in beyond([study], tmp_path / ".simflow")[0]
    assert beyond([replace(study, limits=Limits())], tmp_path / ".simflow") == []
    path = tmp_path / "study.yaml"
    path.write_text(
        "scenario: study\ntopics: {tariff: A rise.}\npopulation: {agents: 20}\nclock: {ticks: 24, window: 24}\n"
        "extract: {every: 24}\nmodels: {extractor: llm, model: gpt-4o-mini}\nlimits: {tokens: 50}\n"
    )
    with pytest.raises(SystemExit) as end:
        main(["run", str(path), "--home", str(tmp_path / "state"), "--no-tables", "--quiet"])
    assert end.value.code == 2
    assert "beyond the limits" in capsys.readouterr().err
    assert not endpoint.requests
    assert not (tmp_path / "state" / "runs").exists()
