"""Explanations by the facade, the command, over HTTP, and as a picture: one answer, whoever asks."""

from __future__ import annotations

import dataclasses
import json
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from simflow import memory
from simflow.cli import serve_app
from simflow.cli.explain import explain, words
from simflow.cli.recall import recall
from simflow.cli.serve_app import make_app
from simflow.errors import BadInput, NotFound
from simflow.memory.relations import past_of
from simflow.memory.timeline import svg
from simflow.plan.remembering import Entity, EntityKind, Extract, RelationKind

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def client(home, words, monkeypatch):
    monkeypatch.setattr(serve_app, "open_memory", lambda data, as_of=None: memory.open(data, as_of=as_of, embedder=words))
    return TestClient(make_app(home, rate=10_000))


@pytest.fixture
def command(home, words, monkeypatch):
    monkeypatch.setattr("simflow.memory.facade.load", lambda cell: words)

    def run(what, *args):
        result = CliRunner().invoke(what, ["small-town", *args, "--home", str(home)], catch_exceptions=False)
        assert result.exit_code == 0
        return result

    return run


def as_json(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("tick", [None, 60, 100])
def test_a_belief_is_the_same_by_facade_command_and_http(view, client, command, tick):
    expected = as_json(view.explain("bob1", topic="water", tick=tick).plain())
    given = {} if tick is None else {"tick": tick}
    asked = [] if tick is None else ["--tick", str(tick)]
    assert client.get("/runs/small-town/explain", params={"agent": "bob1", "topic": "water", **given}).json() == expected
    assert json.loads(command(explain, "@bob1", "--topic", "Water", *asked, "--json").stdout) == expected


def test_a_block_is_the_same_by_facade_command_and_http(view, client, command):
    expected = as_json(view.recall("bob1", 99, "water now?").plain())
    assert client.get("/runs/small-town/recall", params={"agent": "bob1", "tick": 99, "about": "water now?"}).json() == expected
    told = json.loads(command(recall, "Bob Ray", "--tick", "99", "--about", "water now?", "--json").stdout)
    assert {k: v for k, v in told.items() if k != "run"} == expected


def test_all_beliefs_are_the_same_by_facade_command_and_http(view, client, command):
    expected = [as_json(e.plain()) for e in view.beliefs("cleo2")]
    assert {e["on"] for e in expected} == {"water", "trains"}
    assert client.get("/runs/small-town/beliefs", params={"agent": "cleo2"}).json() == expected
    assert json.loads(command(explain, "cleo2", "--json").stdout) == [e for e in expected if e["in_force"]]


def test_a_belief_is_walked_down_to_the_raw_events(view):
    found = view.explain("bob1", topic="water", tick=100)
    rows = {r["episode"]: r for r in view.run.table("episodes").to_pylist()}
    assert found.in_force is not None
    assert found.in_force.status == "in force"
    for held in found.edges:
        for source in held.evidence:
            row = rows[int(source.episode["episode"].removeprefix("e"), 16)]
            assert (row["sentence"], row["tick"]) == (source.episode["sentence"], source.episode["tick"])
            assert ("support" in row["text"]) == (source.value > 0)
    assert any(h.status == "superseded" for h in found.edges)
    assert words(found).count("@bob1 wrote") == sum(len(h.evidence) for h in found.edges)


def test_what_had_not_been_learnt_is_not_explained_with(view):
    early = view.explain("bob1", topic="water", tick=100, known_at=60)
    assert all(s.learnt <= 60 for h in early.edges for s in h.evidence)
    assert early != view.explain("bob1", topic="water", tick=100)


def test_the_picture_shows_each_statement_and_stays_within_its_frame(view, command, tmp_path):
    found = view.explain("bob1", topic="water", tick=100)
    root = ET.fromstring(svg(found, 160))
    width, height = map(float, root.get("viewBox").split()[2:])
    dots = list(root.iter(f"{SVG}circle"))
    assert len(dots) == sum(len(h.evidence) for h in found.edges) + len(found.outvoted)
    assert all(0 < float(d.get("cx")) < width and 0 < float(d.get("cy")) < height for d in dots)
    said = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    assert {"supports", "opposes", "asked at tick 100", found.belief} <= set(said)
    long = dataclasses.replace(found, belief="д" * 150)
    (title,) = [t for t in ET.fromstring(svg(long, 160)).iter(f"{SVG}text") if t.text == long.belief]
    assert float(title.get("x")) + 0.6 * float(title.get("font-size")) * 150 < width
    path = tmp_path / "bob.svg"
    command(explain, "bob1", "--topic", "water", "--tick", "100", "--svg", str(path))
    assert path.read_text("utf-8") == svg(found, 160)


def test_what_agents_wrote_is_data_in_a_picture(view):
    found = view.explain("bob1", topic="water")
    edge = found.edges[0]
    source = edge.evidence[0]
    nasty = source.__class__(**{**{f: getattr(source, f) for f in source.__slots__}, "episode": {"sentence": "</svg><script>x</script>"}})
    one = edge.__class__(**{**{f: getattr(edge, f) for f in edge.__slots__}, "evidence": (nasty,)})
    drawn = svg(found.__class__(**{**{f: getattr(found, f) for f in found.__slots__}, "edges": (one,)}))
    assert "<script>" not in drawn
    ET.fromstring(drawn)


def test_a_picture_of_everything_is_refused(home, words, monkeypatch, tmp_path):
    monkeypatch.setattr("simflow.memory.facade.load", lambda cell: words)
    result = CliRunner().invoke(explain, ["small-town", "bob1", "--svg", str(tmp_path / "x.svg"), "--home", str(home)])
    assert isinstance(result.exception, BadInput)


@pytest.mark.parametrize("asked", [{"topic": "moon"}, {"kind": "envy"}, {"kind": "attitude"}, {"kind": "opinion"}])
def test_what_cannot_be_meant_is_refused_with_what_can(view, asked):
    with pytest.raises((BadInput, NotFound)) as refused:
        view.explain("bob1", **asked)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("verb", "past"),
    [
        ("opposes", "opposed"),
        ("supports", "supported"),
        ("is unsure about", "was unsure about"),
        ("carries", "carried"),
        ("pushes for", "pushed for"),
        ("agrees with", "agreed with"),
        ("has doubts about", "had doubts about"),
        ("против", "против"),
    ],
)
def test_what_was_is_told_in_the_past(verb, past):
    assert past_of(verb, "en") == past
    assert past_of(verb, "pt") == verb


def test_what_is_held_of_a_declared_entity_is_found_by_its_name_alone(view):
    places = EntityKind("place", entities=(Entity("Harbour", ("docks",)), Entity("square")))
    relations = (RelationKind("opinion"), RelationKind("affinity", on="place"), RelationKind("attitude", on="agent"))
    extract = Extract(relations=relations, entities=(places, EntityKind("office", entities=(Entity("town hall"),))))
    view.cell = dataclasses.replace(view.cell, extract=extract)
    view._record = dataclasses.replace(view._record, cell=view.cell)

    said = [(e["kind"], e["id"]) for e in view.entities() if e["kind"] not in {"agent", "voice", "topic"}]
    assert said == [("place", "Harbour"), ("place", "square"), ("office", "town hall")]
    assert [e["id"] for e in view.entities("at the docks")] == ["Harbour"]
    for asked in ({"topic": "harbour"}, {"towards": "harbour"}, {"topic": "Harbour", "kind": "affinity"}):
        found = view.explain("bob1", **asked)
        assert (found.kind, found.on) == ("affinity", "Harbour")
    assert view.explain("bob1", topic="water").kind == "opinion"
    for asked, said in (
        ({"kind": "affinity"}, r"affinity is on a place"),
        ({"topic": "water", "kind": "affinity"}, r"affinity is on a place, and 'water' is a topic"),
        ({"topic": "square", "kind": "opinion"}, r"opinion is on a topic, and 'square' is a place"),
        ({"topic": "town hall"}, r"'town hall' is an office, and no relation is towards that"),
    ):
        with pytest.raises(BadInput, match=said):
            view.explain("bob1", **asked)
    with pytest.raises(BadInput) as vague:
        view.explain("bob1", kind="affinity")
    assert vague.value.hint == "say which: Harbour, square"
