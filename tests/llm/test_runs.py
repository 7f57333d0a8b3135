"""Whole runs on an endpoint: limits end at a window, a dead endpoint leaves a run that goes on, a recording replays to the same bytes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from simflow.errors import EndpointFailed, NotFound
from simflow.llm import local
from simflow.llm.meter import LimitReached
from simflow.llm.scripted import Script, completion, error, serving
from simflow.plan import Clock, Extract, Limits, Memory, Models, Network, Normal, Persona, Platform
from simflow.run import open_cell


def a_cell(kit, *, model, speakers=0, listeners=20, ticks=80, every=20, window=20, **more):
    personas = [Persona("speaker", speakers, engine="llm", stance={"water tariff": Normal(0.5, 0.2)})] if speakers else []
    personas += [Persona("listener", listeners, engine="builtin")] if listeners else []
    cell = kit.a_cell(
        personas=tuple(personas),
        clock=Clock(ticks=ticks, minutes=60, window=window, active=(1.0,) * 24),
        extract=Extract(every=every, batch=8, accept=1.1),
        models=Models(engine="llm" if speakers else "builtin", extractor="llm", model=model),
        network=Network(links=3),
        **more,
    )
    return dataclasses.replace(cell, memory=Memory(persona_tokens=60, relation_tokens=80, episode_tokens=120))


def everything(run):
    """Digest of every Parquet file of a run, by window and name."""
    data = run.data()
    found = {}
    for window in data.windows:
        for name in ("agents", "episodes", "exposures", "turns", "vectors", "claims", "edges", "personas"):
            path = Path(data.window(window.number).location(name))
            found[window.number, name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def go(run):
    for number in range(len(run.windows)):
        run.window(number)
    return run


@pytest.fixture
def at(kit, monkeypatch, tmp_path):
    """Point the environment at a scripted endpoint."""

    def point(url):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("SIMFLOW_LLM_PATIENCE", "1")
        monkeypatch.setenv("OPENAI_API_KEY", kit.KEY)
        return tmp_path / ".simflow"

    return point


def test_limit_ends_a_run_at_its_last_whole_window_and_more_money_takes_it_on(kit, at):
    script = Script(kit.diligent)
    with serving(script) as url:
        home = at(url)
        free = go(open_cell("free.yaml", a_cell(kit, model=kit.MODEL), home / "other"))
        whole = everything(free)
        bill = [free.data().window(n).manifest["tokens"] for n in range(4)]
        limit = bill[0] + bill[1] + 700
        cell = a_cell(kit, model=kit.MODEL, limits=Limits(tokens=limit))
        run = open_cell("poor.yaml", cell, home)
        with pytest.raises(LimitReached):
            go(run)
        kept = len(run.committed)
        assert 0 < kept < 4
        assert sum(run.data().window(n).manifest["tokens"] for n in range(kept)) <= limit
        assert run.record.progress().state in {"stopped", "failed"}
        assert "limit" in run.record.progress().reason
        before = len(script.requests)
        richer = go(open_cell("poor.yaml", dataclasses.replace(cell, limits=Limits(tokens=10**7)), home))
    assert everything(richer) == whole
    assert len(script.requests) > before


def test_endpoint_that_dies_in_the_middle_leaves_a_run_that_goes_on_and_loses_nothing(kit, at):
    alive = Script(kit.diligent)
    with serving(alive) as url:
        whole = everything(go(open_cell("a.yaml", a_cell(kit, model=kit.MODEL), at(url) / "other")))
    dying = Script(lambda r, n: kit.diligent(r) if n < 5 else error(503))
    with serving(dying) as url:
        home = at(url)
        run = open_cell("a.yaml", a_cell(kit, model=kit.MODEL), home)
        with pytest.raises(EndpointFailed):
            go(run)
        kept = len(run.committed)
        assert kept < 4
        assert "503" in run.record.progress().reason
    with serving(Script(kit.diligent)) as url:
        at(url)
        again = go(open_cell("a.yaml", a_cell(kit, model=kit.MODEL), home))
    assert everything(again) == whole
    episodes = again.data().table("episodes")["episode"].to_pylist()
    assert len(episodes) == len(set(episodes))


def test_replay_only_without_a_recording_commits_and_records_nothing(kit, at, monkeypatch):
    home = at("http://127.0.0.1:9/v1")
    monkeypatch.setenv("SIMFLOW_LLM_CACHE", "replay-only")
    run = open_cell("a.yaml", a_cell(kit, model=kit.MODEL), home)
    with pytest.raises(NotFound, match="no recording"):
        run.window(0)
    assert not (home / "windows").exists() or not any((home / "windows").iterdir())
    assert not (run.record.path / "run.yaml").exists()


def test_turns_and_extraction_replay_to_the_same_bytes(kit, at, monkeypatch):
    def talk(request, n):
        if "What do you do?" not in request["messages"][1]["content"]:
            return kit.diligent(request)
        roll = int(hashlib.sha256(request["messages"][1]["content"].encode()).hexdigest(), 16) + n  # n: no two runs alike
        said = {"act": "post", "text": f"Thought {roll % 1000}", "topic": 1, "stance": roll % 5 - 2}
        return completion(json.dumps({"turn": said if roll % 3 else {"act": "nothing"}}))

    cell = a_cell(kit, model=kit.MODEL, speakers=6, listeners=6)
    with serving(Script(talk)) as url:
        home = at(url)
        first = everything(go(open_cell("a.yaml", cell, home)))
        other = everything(go(open_cell("a.yaml", cell, home / "other")))
    assert first != other
    (home / "windows").rename(home / "before")
    (home / "runs").rename(home / "before-runs")
    monkeypatch.setenv("SIMFLOW_LLM_CACHE", "replay-only")
    assert everything(go(open_cell("a.yaml", cell, home))) == first


@pytest.mark.skipif(local.missing() is not None, reason=f"{local.missing()}: {local.INSTALL}")
def test_real_model_runs_the_whole_line_and_replays_offline(kit, monkeypatch, tmp_path):
    """Wiring, shapes, accounts; of what so small a model says nothing is expected, nor that it is quick."""
    for name, value in {"CONCURRENCY": "1", "TIMEOUT": "550", "PATIENCE": "550"}.items():
        monkeypatch.setenv(f"SIMFLOW_LLM_{name}", value)
    cell = a_cell(
        kit, model=local.MODEL, speakers=4, listeners=0, ticks=8, every=4, window=4, platform=Platform(actions=("post", "reply", "like"))
    )
    home = tmp_path / ".simflow"
    run = go(open_cell("local.yaml", cell, home))
    first, data = everything(run), run.data()
    outcomes = data.table("turns")["outcome"].to_pylist()
    assert outcomes
    assert not any("unreachable" in o for o in outcomes)
    usage = [row for w in data.windows for row in data.window(w.number).manifest["usage"]]
    assert sum(u["calls"] for u in usage if u["phase"] == "act") == len(outcomes)
    assert sum(u["tokens_in"] for u in usage) > 300
    (home / "windows").rename(home / "before")
    (home / "runs").rename(home / "before-runs")
    monkeypatch.setenv("SIMFLOW_LLM_CACHE", "replay-only")
    assert everything(go(open_cell("local.yaml", cell, home))) == first
