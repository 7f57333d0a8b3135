"""The reference is that of the keys, and each of its examples is a scenario that is read."""

from __future__ import annotations

import jsonschema
import pytest

from simflow.scenario import source
from simflow.scenario.catalogue import scenario
from simflow.scenario.jsonschema import json_schema
from simflow.scenario.keys import every_key
from simflow.scenario.kinds import INVALID, Reader
from simflow.scenario.nodes import plain
from simflow.scenario.reference import explain, find, markdown, nested


def test_the_reference_in_docs_is_that_of_the_keys(root):
    assert (root / "docs/scenario.md").read_text("utf-8") == markdown(), "run: simflow schema --reference > docs/scenario.md"


@pytest.mark.parametrize(("path", "key"), [pytest.param(p, k, id=".".join(p)) for p, k in every_key()])
def test_each_example_is_what_its_key_takes(path, key):
    if not key.example:
        assert path[0] in {"checks", "patterns"}
        return
    text = f"{key.name}: {key.example}"
    if key.example.startswith("${") or ": ${" in text:
        return
    problems = []
    node = source.parse(text, "example.yaml", problems)[0]
    reader = Reader(problems)
    assert key.kind.read(node.entries[key.name].value, reader) is not INVALID
    assert [p.render() for p in problems] == []


def test_each_example_stands_in_the_reference():
    text = markdown()
    for path, key in every_key():
        assert not key.example or f"`{key.example}`".replace("|", "\\|") in text, path


def test_every_key_can_be_explained_by_its_whole_name():
    for path, _ in every_key():
        said = explain(".".join(path))
        assert "read by" in said
        assert find(".".join(path))[0] == path


def test_nested_examples_are_yaml():
    assert plain(source.parse(nested(("memory", "episodes", "top"), "8"), "x", [])[0]) == {"memory": {"episodes": {"top": 8}}}


# ----------------------------------------------------------------------------------------------------------------- the schema


@pytest.fixture(scope="module")
def validator():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def as_editors_read_it(text: str):
    return plain(source.parse(text, "x.yaml", [])[0])


def test_an_editor_finds_nothing_wrong_in_the_scenarios_that_ship(root, validator):
    for path in sorted((root / "scenarios").rglob("*.yaml")):
        found = list(validator.iter_errors(as_editors_read_it(path.read_text("utf-8"))))
        assert [f"{path.name} {e.json_path}: {e.message}" for e in found] == []


def test_an_editor_finds_nothing_wrong_in_a_scenario_with_every_key(root, validator):
    for path in sorted((root / "tests/scenario/data").glob("*.yaml")):
        assert list(validator.iter_errors(as_editors_read_it(path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ("clock: {windw: 250}\n", "$.clock"),
        ("population: {agents: many}\n", "$.population.agents"),
        ("population: {personas: {one: {stanse: {tariff: 0}}}}\n", "$.population.personas.one"),
        ("network: {shape: smallworld}\n", "$.network.shape"),
        ("events: {rise: {at: soon, post: A.}}\n", "$.events.rise.at"),
        ("population: {personas: {one: {stance: {tariff: often}}}}\n", "$.population.personas.one.stance"),
        ("platfrom: {}\n", "$"),
    ],
)
def test_an_editor_marks_what_is_wrong(validator, part, where):
    found = list(validator.iter_errors(as_editors_read_it(scenario(part))))
    assert found
    assert any(e.json_path.startswith(where) for e in found), [e.json_path for e in found]


def test_every_key_has_words_for_completion_and_hover():
    schema = json_schema()

    def walk(node):
        if isinstance(node, dict):
            for name, value in node.get("properties", {}).items():
                if name != "beta":
                    assert value.get("description"), name
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(schema)
    assert set(schema["properties"]) == {p[0] for p, _ in every_key()}
