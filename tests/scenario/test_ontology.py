"""What a scenario declares under `extract` is what is looked for: entities that relations are towards, and codes that a model may answer with."""

from __future__ import annotations

import itertools
import json

import pytest

from simflow.llm.ontology import codes, shape
from simflow.llm.reading import stable
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.ports import Passage

ONTOLOGY = """extract:
  entities:
    place: [harbour, old town]
    organisation:
      about: Who runs things.
      names: {water company: [utility], town hall: []}
  relations:
    opinion: {on: topic, newest: wins}
    affinity: {on: place, newest: wins}
    trust: {on: organisation, newest: adds}
"""


def post(text):
    return Passage(1, 5, "post", 1, "rosa1", None, None, text)


def found(cell, text):
    return {(f.kind, f.on_topic): f.value for f in BuiltinExtractor(cell).extract([post(text)]).findings}


def test_entities_of_a_scenario_are_found_by_their_names_and_other_words(cell):
    made = cell(ONTOLOGY)
    said = found(made, "I love the harbour. The utility is terrible, I am strongly against it.")
    assert said["affinity", "harbour"] > 0
    assert said["trust", "water company"] < 0
    assert not {on for _, on in said} & {"old town", "town hall"}


def test_nothing_but_what_is_declared_is_found(cell):
    text = "I love the harbour. The utility is terrible, I am strongly against it."
    without = cell(ONTOLOGY.replace("    affinity: {on: place, newest: wins}\n", ""))
    assert {kind for kind, _ in found(without, text)} <= {"opinion", "trust"}
    assert not {"affinity", "trust"} & {kind for kind, _ in found(cell("about: None.\n"), text)}


def test_every_relation_towards_every_entity_has_a_code_and_no_other_can_be_answered(cell):
    made = cell(ONTOLOGY)
    known = codes(made.extract.relations, made.topics, made.extract.entities)
    expected = [("opinion", t.name) for t in made.topics]
    expected += [("affinity", n) for n in ("harbour", "old town")] + [("trust", n) for n in ("water company", "town hall")]
    assert [(c.kind.name, c.topic) for c in known] == expected
    model = shape(known, 2, 0)
    numbers = [c.number for c in known]
    enums = json.dumps(model.model_json_schema())
    assert json.dumps(numbers) in enums
    assert json.dumps([*numbers, len(numbers) + 1]) not in enums


def test_a_model_is_told_the_entities_of_the_scenario_and_what_they_are_called(cell):
    made = cell(ONTOLOGY)
    told = stable(made.topics, codes(made.extract.relations, made.topics, made.extract.entities), "compact", made.extract.entities)
    for name in ("harbour", "old town", "water company", "utility", "town hall", "Who runs things."):
        assert name in told


def test_two_scenarios_with_other_entities_ask_for_other_codes(cell):
    parts = [ONTOLOGY, ONTOLOGY.replace("old town", "station"), "about: None.\n"]
    asked = []
    for part in parts:
        made = cell(part)
        asked.append([(c.kind.name, c.topic) for c in codes(made.extract.relations, made.topics, made.extract.entities)])
    assert all(a != b for a, b in itertools.combinations(asked, 2))


@pytest.mark.parametrize("on", ["plaice", "things"])
def test_a_relation_towards_a_kind_that_is_not_declared_is_a_problem(checked, on):
    plan, problems = checked(ONTOLOGY.replace("on: place", f"on: {on}"))
    assert plan is None
    assert [p.span.source.strip().split(":")[0] for p in problems if p.severity == "error"] == ["affinity"]
