"""Every key does something: changed, it changes the plan where it says it does; a key that the world reads changes what happens."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simflow.plan import Cell, Models, canonical
from simflow.scenario import source
from simflow.scenario.cells import cells
from simflow.scenario.compose import Composer
from simflow.scenario.keys import every_key
from simflow.scenario.kinds import Distributed, Fields, Flag, Key, ListOf, MapOf, Number, OneOf, Reader, Text, When, Whole
from simflow.scenario.kinds.scalars import Amount
from simflow.scenario.nodes import Entry, Items, Node, Scalar, Table

DATA = Path(__file__).parent / "data"
FILES = ("everything.yaml", "edges.yaml", "small.yaml", "replayed.yaml")
Place = tuple[str | int, ...]

OTHER = {
    # What cannot be made from the kind alone: names that refer to something, files, words of which only some fit.
    "scenario": "another",
    "from": "[]",
    "vars.*": "25%",
    "topics.*.about": "Something else.",
    "topics.*.scale": "[fights, shrugs at, loves]",
    "topics.*.words": "[council]",
    "population.agents": "80",
    "population.people.file": "people2.csv",
    "population.people.format": "agentsociety",
    "population.people.columns": "{name: who, about: age}",
    "population.people.encoding": "cp1252",
    "population.people.persona": "renter",
    "population.personas.*.count": "14",
    "population.personas.*.traits": "{activity: 0.9, district: old town}",
    "population.personas.*.engine": "llm",
    "population.personas.*.model": "gpt-5-mini",
    "population.personas.*.feed.kind": "chronological",
    "population.voices.*.stance": "{water tariff: -0.7}",
    "network.shape": "preferential",
    "network.homophily.by": "persona",
    "network.edges": "edges2.csv",
    "platform.actions": "[post, reply, react]",
    "platform.feed.kind": "chronological",
    "platform.groups.*.personas": "[visitor]",
    "platform.groups.*.agents": "[Bea]",
    "platform.group_size": "2",
    "platform.rates.unfollow": "0",
    "platform.feed.similarity": "100%",
    "dynamics.model": "degroot",
    "dynamics.rejection": "1.3",
    "language.code": "es",
    "clock.ticks": "80",
    "clock.tick": "1h",
    "clock.window": "40",
    "events.*.at": "19",
    "events.*.until": "45",
    "events.*.by": "council",
    "events.*.topic": "council trust",
    "events.*.mute": "council",
    "events.*.ban": "council",
    "events.*.when.topic": "council trust",
    "events.*.when.measure": "support",
    "events.*.when.above": "0.99",
    "events.*.when.below": "-0.99",
    "events.*.to.personas": "[renter]",
    "events.*.to.agents": "[Bea]",
    "events.*.to.topic": "council trust",
    "events.*.nudge.persona": "pensioner",
    "events.*.nudge.agents": "[Bea]",
    "events.*.nudge.topic": "council trust",
    "events.*.join.persona": "pensioner",
    "events.*.leave.persona": "pensioner",
    "events.*.leave.agents": "[Bea]",
    "events.*.agenda.topic": "water tariff",
    "events.*.feed.kind": "hot",
    "extract.relations.*.on": "agent",
    "extract.entities.*.names": "{quay: [dock]}",
    "outputs.tables": "[edges]",
    "replay.topic_by": "thread",
    "models.engine": "builtin",
    "models.extractor": "builtin",
    "models.model": "gpt-5-mini",
    "experiment.variants": "{plain: {}, louder: {platform.feed.posts: 9}}",
    "experiment.sweep": "{events.weekly.every: [10, 11]}",
    "ask.*.who": "renter",
    "ask.*.at": "40",
    "checks.covered.by": "40",
    "checks.covered.topic": "council trust",
    "checks.share.topic": None,
    "checks.share.stance": "welcomes",
    "checks.measure.name": "mean",
    "checks.measure.at": "20",
    "checks.measure.topic": "council trust",
    "checks.share.persona": "renter",
    "checks.measure.persona": "renter",
    "checks.lost_turns.persona": "renter",
    "patterns.measure.name": "mean",
    "patterns.measure.at": "20",
    "patterns.measure.topic": "council trust",
    "patterns.measure.persona": "renter",
    "limits.tokens": "6M",
    "schedule": "0 7 * * 1",
    "replay.file": "trace2.jsonl",
    "replay.time": "tick",
    "replay.tick": "1h",
}
ALONE = {
    "replay.format": "a file has one format; test_recording.py reads each of them",
    "checks.share.topic": "the share of a verb belongs to one topic; only water tariff has these verbs",
}
UNSEEN_HERE = {
    "models.embedder": "one embedder ships",
    "platform.kind": "one kind of platform exists",
    "extract.relations.*.of": "agents hold all relations",
    "extract.relations.*.about": "topics are what relations are about",
}
"""Keys with one possible value so far: there is nothing that they could be changed to."""


@cache
def tree(name: str) -> Table:
    found = Composer([]).load(DATA / name)
    assert found is not None
    return found


def compiled(top: Table) -> list[Cell]:
    reader = Reader()
    made = cells(top, DATA, reader)
    errors = [p for p in reader.problems if p.severity == "error"]
    assert not errors, "\n".join(p.render() for p in errors)
    return made


@cache
def base(name: str) -> list[Cell]:
    return compiled(tree(name))


def places(node: Node, path: Place = ()) -> Iterator[tuple[Place, Node]]:
    if isinstance(node, Table):
        for entry in node:
            yield (*path, entry.name), entry.value
            yield from places(entry.value, (*path, entry.name))
    elif isinstance(node, Items):
        for n, item in enumerate(node.items):
            yield from places(item, (*path, n))


def matches(place: Place, pattern: tuple[str, ...]) -> bool:
    names = [p for p in place if isinstance(p, str)]
    return len(names) == len(pattern) and all(p in {"*", n} for n, p in zip(names, pattern, strict=True))


def written(text: str) -> Node:
    return source.parse(text, "other.yaml", [])[0]


BY_KIND = (
    (Whole, lambda text: str(int(text) + 1)),
    (Number, lambda text: "0.37" if text != "0.37" else "0.41"),
    (When, lambda _: "17"),
    (Amount, lambda _: "21"),
    (Text, lambda text: f'"{text} indeed"'),
    (Distributed, lambda _: "0.11"),
    (Flag, lambda text: "false" if text == "true" else "true"),
)


def other(pattern: str, key: Key, value: Node) -> Node | None:
    if pattern in OTHER:
        return None if OTHER[pattern] is None else written(OTHER[pattern])
    kind = key.kind
    text = value.text if isinstance(value, Scalar) else ""
    if isinstance(kind, OneOf):
        return next((written(o) for o in kind.options if o != text), None)
    if isinstance(kind, ListOf):
        return written("[-0.9, 0.8]" if isinstance(kind.item, Number) else "[something else]")
    if isinstance(kind, MapOf):
        return written("{water tariff: 0.33}")
    return next((written(change(text)) for known, change in BY_KIND if isinstance(kind, known)), None)


def put(node: Node, place: Place, new: Node) -> Node:
    if not place:
        return new
    if isinstance(node, Table):
        entry = node.entries[str(place[0])]
        return dataclasses.replace(node, entries={**node.entries, entry.name: Entry(entry.key, put(entry.value, place[1:], new))})
    assert isinstance(node, Items)
    items = list(node.items)
    items[int(place[0])] = put(items[int(place[0])], place[1:], new)
    return dataclasses.replace(node, items=tuple(items))


def declared(made: list[Cell], to: str) -> Any:
    def pick(value: Any, parts: list[str]) -> Any:
        if isinstance(value, list):
            return [pick(v, parts) for v in value]
        return pick(value.get(parts[0]), parts[1:]) if parts and isinstance(value, dict) else value

    return [pick(canonical(c), to.split(".")) for c in made]


def cases() -> Iterator[Any]:
    for path, key in every_key():
        pattern = ".".join(path)
        if (
            isinstance(key.kind, Fields | MapOf)
            and pattern not in OTHER
            and not (isinstance(key.kind, MapOf) and isinstance(key.kind.item, Distributed))
        ):
            continue
        if isinstance(key.kind, ListOf) and isinstance(key.kind.item, Fields):
            continue
        yield pytest.param(path, key, id=pattern)


def occurrences(path: tuple[str, ...]) -> list[tuple[str, Place, Node]]:
    found = []
    for name in FILES:
        # `from` is resolved when a file is read, so it is looked for in the text itself.
        top = source.parse((DATA / name).read_text("utf-8"), name, [])[0] if path == ("from",) else tree(name)
        found += [(name, place, node) for place, node in places(top) if matches(place, path)]
    return found


@pytest.mark.parametrize(("path", "key"), list(cases()))
def test_a_changed_key_changes_the_plan_where_it_says(path, key):
    pattern = ".".join(path)
    found = occurrences(path)
    assert found, f"no scenario in {DATA} uses {pattern}"
    if pattern in UNSEEN_HERE or pattern in ALONE or pattern == "from":
        return
    before_after = []
    for name, place, node in found:
        new = other(pattern, key, node)
        assert new is not None, f"say in OTHER what {pattern} could be instead"
        before, after = base(name), compiled(put(tree(name), place, new))
        before_after.append((declared(before, key.to), declared(after, key.to)) if key.to else (canonical(before), canonical(after)))
    assert any(a != b for a, b in before_after), f"{pattern} changed, and {key.to or 'the plan'} did not"


def test_a_file_that_from_names_changes_the_plan():
    own = Composer([]).load(DATA / "everything.yaml")
    text = (DATA / "everything.yaml").read_text("utf-8").replace("from: fragment.yaml\n", "")
    without = source.parse(text, "everything.yaml", [])[0]
    assert isinstance(own, Table)
    assert isinstance(without, Table)
    assert compiled(own)[0].owner == "test-team"
    assert compiled(without)[0].owner is None


def test_keys_with_one_possible_value_have_only_one():
    for path, key in every_key():
        if ".".join(path) in UNSEEN_HERE:
            assert not isinstance(key.kind, OneOf) or len(key.kind.options) == 1


# ------------------------------------------------------------------------------------------------------------------- the world


def world(cell: Cell) -> str:
    """What happens in the built-in world of a cell, as a digest of all its tables."""
    from simflow.world.builtin import BuiltinEngine

    personas = tuple(dataclasses.replace(p, engine=None) for p in cell.personas)
    engine = BuiltinEngine(dataclasses.replace(cell, models=Models(), personas=personas))
    step = engine.advance(engine.begin(), 0, cell.clock.ticks)
    digest = hashlib.sha256()
    for table in (step.agents, step.episodes, step.exposures, *(t for _, t in sorted(step.truth.items()))):
        digest.update(repr(table.to_pydict()).encode())
    return digest.hexdigest()


@cache
def world_before(name: str) -> str:
    return world(base(name)[0])


def world_cases() -> Iterator[Any]:
    for param in cases():
        path, key = param.values
        pattern = ".".join(path)
        if any(r.startswith("world: ") and r != "world: replay" for r in key.reads) and pattern not in {*UNSEEN_HERE, "from"}:
            yield param


@pytest.mark.parametrize(("path", "key"), list(world_cases()))
def test_a_key_that_the_world_reads_changes_what_happens(path, key):
    pattern = ".".join(path)
    for name, place, node in occurrences(path):
        new = other(pattern, key, node)
        assert new is not None
        after = compiled(put(tree(name), place, new))[0]
        if world(after) != world_before(name):
            return
    pytest.fail(f"{pattern} changed, and nothing in the world did")


# ------------------------------------------------------------------------------------------------------- the rest of the house


@cache
def attributes_read(root: Path) -> frozenset[str]:
    """Names of attributes that some module outside the language and the plan reads."""
    found: set[str] = set()
    for folder in ("src/simflow", "pipelines/simflow_pipelines", "tui/simflow_tui"):
        for file in (root / folder).rglob("*.py"):
            if {"scenario", "plan"} & set(file.relative_to(root / folder).parts[:1]):
                continue
            tree = ast.parse(file.read_text("utf-8"))
            found |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
            if any(isinstance(n, ast.Name) and n.id == "getattr" for n in ast.walk(tree)):
                found |= {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return frozenset(found)


def test_every_value_of_a_plan_is_read_by_some_room(root):
    from simflow import plan

    kinds = [getattr(plan, n) for n in plan.__all__ if dataclasses.is_dataclass(getattr(plan, n))]
    fields = {(k.__name__, f.name) for k in kinds for f in dataclasses.fields(k)}
    # `Beta(a, b)` is taken apart by a match statement, which names no attribute.
    fields -= {("Beta", "a"), ("Beta", "b")}
    unread = sorted(f"{kind}.{name}" for kind, name in fields if name not in attributes_read(root))
    assert unread == []


def test_every_key_says_what_reads_it_and_what_it_sets():
    for path, key in every_key():
        assert key.reads, path
        assert key.doc.endswith("."), path
        assert key.to or path[0] in {"from", "vars"}, path
