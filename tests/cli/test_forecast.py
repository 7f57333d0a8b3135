"""What a plan forecasts is what a run is billed: studies, each forecast, then run on an endpoint that counts tokens itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from simflow.cli.forecast import Figure, forecast
from simflow.cli.stand_in import Rehearsed
from simflow.episode import CLAIMS, EDGES
from simflow.llm.ontology import codes
from simflow.llm.reading import clean, handle
from simflow.llm.room import count
from simflow.llm.scripted import Script, completion, serving
from simflow.memory.distil import distil
from simflow.plan import (
    Cell,
    Clock,
    Entity,
    EntityKind,
    Event,
    Extract,
    Language,
    Limits,
    Memory,
    Models,
    Network,
    Normal,
    Persona,
    RelationKind,
    Topic,
)
from simflow.run import open_cell
from simflow.world.builtin import BuiltinEngine

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


SWINGS = cell(
    personas=(Persona("resident", 40, stance={"water tariff": Normal(-0.6, 0.1), "council trust": Normal(-0.6, 0.1)}),),
    clock=Clock(ticks=132, window=50),
    events=tuple(
        Event(f"{name} {topic.name}", verb="nudge", at=at, every=48, topic=topic.name, amount=by)
        for name, at, by in (("for", 12, 1.4), ("against", 36, -1.4))
        for topic in TOPICS
    ),
    extract=Extract(every=12, audit=0.0),
    models=Models(extractor="llm", embedder="static", model=MODEL),
)
"""Everybody is moved from one side to the other each day: what is said contradicts what the memory holds of the speaker."""


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


def read_how(study: Cell, home) -> Counter:
    data = open_cell("study.yaml", study, home).data()
    return sum((Counter(data.window(n).manifest["notes"]) for n in range(len(data.windows))), Counter())


@pytest.mark.parametrize("name", STUDIES)
def test_a_run_is_billed_what_its_forecast_said_within_15_percent(name, endpoint, tmp_path):
    found = forecast(STUDIES[name])
    assert not endpoint.requests, "a forecast asks nobody"
    actual = billed(STUDIES[name], tmp_path / ".simflow")
    assert 0.85 <= actual / found.tokens.p50 <= 1.15
    assert actual <= found.tokens.p90
    turns = sum('"turn"' in json.dumps(request) for request in endpoint.requests)
    assert turns == sum(p.calls.p50 for p in found.phases if p.name == "act"), "who is awake when is known before"


@pytest.mark.parametrize(
    "extract",
    [
        Extract(every=12),
        Extract(every=12, batch=3, relations=(RelationKind("trust", on="agent"),)),
        Extract(
            every=12,
            relations=(RelationKind("trust", on="agent"), RelationKind("opinion", on="place")),
            entities=(EntityKind("place", "Parts of town.", (Entity("harbour", ("docks", "water")),)),),
        ),
    ],
    ids=["opinions", "people alone", "entities"],
)
def test_the_stand_in_accounts_for_every_line_whatever_can_be_said(extract, endpoint):
    study = cell(personas=(Persona("resident", 30),), clock=Clock(ticks=36), extract=extract, models=Models(extractor="llm", model=MODEL))
    engine, reader = BuiltinEngine(study), Rehearsed(study)
    step = engine.advance(engine.begin(), 0, 36)
    none = {"claims": CLAIMS.empty_table(), "edges": EDGES.empty_table()}
    distil(study, reader, agents=step.agents, episodes=step.episodes, start=0, stop=36, **none)
    counts = reader.guessing.counts
    assert counts["calls"] == sum(r.plain[0] for r in reader.reads) > 0
    assert not {"asked_again", "halved", "parked", "refused_by_guard"} & counts.keys()


class Understanding:
    """A model that reads what was meant: the world's truth of each line, by its author and its words."""

    def __init__(self, study: Cell) -> None:
        engine = BuiltinEngine(study)
        step = engine.advance(engine.begin(), 0, study.clock.ticks)
        ids = dict(zip(step.agents["agent"].to_pylist(), step.agents["id"].to_pylist(), strict=True))
        meant = {r["episode"]: (study.topics[r["topic"]].name, r["stance"]) for r in step.truth["statements"].to_pylist()}
        self.said = {
            (handle(ids[r["actor"]]), clean(r["text"], 1200)): meant[r["episode"]]
            for r in step.episodes.to_pylist()
            if r["text"] and r["episode"] in meant
        }
        self.codes = {(c.kind.name, c.topic): c.number for c in codes(study.extract.relations, study.topics)}

    def __call__(self, request: dict, _: int) -> dict:
        found = []
        for line in request["messages"][-1]["content"].splitlines():
            number, author, words = re.match(r'(\d+) (@\S+?)(?: .*?)?: (".*")$', line).groups()
            topic, stance = self.said[author, json.loads(words)]
            found.append({"e": int(number), "c": self.codes["opinion", topic], "v": round(2 * stance)})
        answer = json.dumps({"r": found, "n": []}, separators=(",", ":"))
        out = count({"messages": [{"content": answer}]}) - count({"messages": [{"content": ""}]})
        return completion(answer, usage=(count(request, schema=False), out))


def test_what_contradicts_a_held_belief_is_forecast_as_it_is_billed(endpoint, tmp_path):
    found = forecast(SWINGS)
    assert not endpoint.requests, "a forecast asks nobody"
    endpoint.answer = Understanding(SWINGS)
    actual, notes = billed(SWINGS, tmp_path / ".simflow"), read_how(SWINGS, tmp_path / ".simflow")
    assert 3 * notes["contradictions"] > notes["by_model"], "the study is about contradictions"
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


def told(capsys, *args: str) -> str:
    from simflow.cli import main

    with pytest.raises(SystemExit) as end:
        main(list(args))
    assert end.value.code == 0
    return capsys.readouterr().out


def test_a_run_says_what_was_forecast_for_it_and_what_it_used(endpoint, tmp_path, capsys, monkeypatch):
    from simflow.cli.spending import spending
    from simflow.scenario import load

    home, path = tmp_path / "state", tmp_path / "study.yaml"
    monkeypatch.setenv("SIMFLOW_HOME", str(home))
    path.write_text(
        "scenario: study\ntopics: {tariff: A rise.}\npopulation: {agents: 20}\nclock: {ticks: 24, window: 12}\n"
        "extract: {every: 12, audit: 50%}\nmodels: {extractor: llm, embedder: static, model: gpt-4o-mini}\n"
    )
    planned = told(capsys, "plan", str(path))
    assert "extract (gpt-4o-mini)" in planned
    assert "limits     none" in planned, "a plan says that nothing would stop it"
    study = load(path).cells[0]
    run = open_cell(path, study, home)
    run.window(0)
    assert spending(run.data())["ratio"] is None, "half a run has used half of its forecast"
    run.window(1)
    spent, used = spending(run.data()), sum(run.data().window(n).manifest["tokens"] for n in (0, 1))
    assert spent["tokens"] == used > 0
    assert spent["ratio"] == round(used / spent["forecast"]["tokens"]["p50"], 3)
    told(capsys, "plan", str(path))
    assert spending(run.data())["forecast"] == spent["forecast"], "what is told after a run is no forecast"
    report = told(capsys, "runs", "study")
    assert f"({spent['ratio']:.2f} of it)" in report
    read = spent["reading"]
    assert read["texts"] == read["repeats"] + read["by_builtin"] + read["by_model"] > 0
    assert f"{read['texts']:,} texts read: {read['by_builtin']:,} by the built-in extractor, {read['by_model']:,} by the model" in report
    low, high = read["audit_interval"]
    assert 0 <= low <= read["audit_errors"] / read["audited"] <= high <= 1
    assert f"disagreed with {read['audit_errors']:,} of {read['audited']:,} sure readings" in report


def test_who_calls_no_model_pays_for_no_forecast(tmp_path, capsys, monkeypatch):
    from simflow.cli.outlook import beyond
    from simflow.cli.spending import spending

    home, path = tmp_path / "state", tmp_path / "study.yaml"
    monkeypatch.setenv("SIMFLOW_HOME", str(home))
    monkeypatch.setattr("simflow.cli.outlook.forecast", lambda _: pytest.fail("nothing is spent"))
    path.write_text("scenario: study\ntopics: {tariff: A rise.}\npopulation: {agents: 5}\nclock: {ticks: 12}\nlimits: {tokens: 5}\n")
    assert "no model is called" in told(capsys, "plan", str(path))
    study = cell(
        personas=(Persona("resident", 5),), clock=Clock(ticks=12, window=12), limits=Limits(tokens=5), models=Models(embedder="static")
    )
    assert beyond([study], home) == []
    run = open_cell(path, study, home)
    run.window(0)
    assert spending(run.data()) == {}
    assert not (home / "cache" / "forecasts").exists()


def test_the_time_to_embed_is_that_of_the_embedder_and_the_language():
    from simflow.cli.outlook import SENTENCES_A_SECOND, _embedded

    texts = Figure(1900, 3800)
    said = {
        (embedder, code): _embedded(
            Cell("a", "base", {}, 1, topics=TOPICS, models=Models(embedder=embedder), language=Language(code)), texts
        )
        for embedder in ("builtin", "static", "of another package")
        for code in ("en", "uk")
    }
    assert {pair for pair, words in said.items() if words} == SENTENCES_A_SECOND.keys() & said.keys()
    assert said["builtin", "uk"] == "; about 100 to 200 s of processor time to embed them"
    assert (
        _embedded(Cell("a", "base", {}, 1, topics=TOPICS), Figure(500_000, 900_000)) == "; about 3 to 5 h of processor time to embed them"
    )
    assert said["builtin", "en"] == "; about 38 to 76 s of processor time to embed them"
