"""The scenario's relation kinds become closed shapes, and an endpoint is asked in the mode that it masters."""

from __future__ import annotations

import json

import jsonschema
import pytest
import toktok
from pydantic import ValidationError

from simflow.errors import EndpointFailed
from simflow.llm import reading
from simflow.llm.extractor import ModelExtractor
from simflow.llm.ontology import codes, shape
from simflow.llm.probe import probe
from simflow.llm.scripted import Script, completion, error, serving
from simflow.plan import DEFAULT_RELATIONS, RelationKind, Topic

TOPICS = (Topic("water tariff"), Topic("council trust"))


def test_everything_declared_can_be_said_and_nothing_else():
    declared = (*DEFAULT_RELATIONS, RelationKind("trust", on="agent"))
    found = codes(declared, TOPICS)
    assert [c.number for c in found] == list(range(1, 8))
    assert [(c.kind.name, c.topic) for c in found] == [
        ("opinion", "water tariff"),
        ("opinion", "council trust"),
        ("attitude", "water tariff"),
        ("attitude", "council trust"),
        ("influence", "water tariff"),
        ("influence", "council trust"),
        ("trust", None),
    ]


@pytest.mark.parametrize("style", ["compact", "full"])
@pytest.mark.parametrize("agents", [0, 3])
def test_schema_closes_every_id_and_is_strict(style, agents):
    schema = shape(codes(DEFAULT_RELATIONS, TOPICS), 5, agents, style).model_json_schema()

    def walk(node):
        if isinstance(node, dict):
            if node.get("type") == "object":
                assert node["additionalProperties"] is False
                assert sorted(node["required"]) == sorted(node["properties"])
            if node.get("type") == "integer":
                assert node["enum"]
            assert not isinstance(node.get("title"), str)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk({k: v for k, v in schema.items() if k != "title"})
    places = json.dumps([1, 2, 3, 4, 5])
    assert places in json.dumps(schema)
    assert ("TowardsPerson" in json.dumps(schema) or '"P"' in json.dumps(schema)) == bool(agents)
    assert json.dumps(schema) == json.dumps(shape(codes(DEFAULT_RELATIONS, TOPICS), 5, agents, style).model_json_schema())


def test_example_answer_in_the_prompt_fits_the_schema(kit):
    for style in ("compact", "full"):
        known = codes(DEFAULT_RELATIONS, TOPICS)
        text = reading.stable(TOPICS, known, style)
        example = text.rsplit("Example answer:\n", 1)[1]
        model = shape(known, 3, 2, style)
        jsonschema.validate(json.loads(example), model.model_json_schema())
        value = model.model_validate_json(example)
        assert len(value.r if style == "compact" else value.relations) >= 2


def test_compact_relation_takes_about_fourteen_tokens():
    said = '{"e":12,"c":1,"v":-2},{"e":13,"c":3,"a":2,"v":2},'
    assert toktok.batch_count([said], "o200k_base")[0] / 2 <= 16


def test_what_is_outside_a_closed_set_is_dropped_alone():
    model = shape(codes(DEFAULT_RELATIONS, TOPICS), 2, 1)
    value = model.model_validate_json('{"r":[{"e":1,"c":1,"v":2},{"e":3,"c":1,"v":2},{"e":1,"c":9,"v":2},"x",null],"n":[2,3]}')
    assert [r.e for r in value.r] == [1]
    assert value.n == [2]
    with pytest.raises(ValidationError):
        model.model_validate_json('{"r":{},"n":[]}')


@pytest.mark.parametrize("mode", ["json_schema", "json", "md_json", "tools"])
def test_extraction_works_in_each_mode(kit, mode):
    def in_mode(request, n):
        said = kit.diligent(request)["choices"][0]["message"]["content"]
        if mode == "tools":
            name = request["tools"][0]["function"]["name"]
            call = {"id": "1", "type": "function", "function": {"name": name, "arguments": said}}
            return completion(None, finish="tool_calls", tool_calls=[call])
        return completion(f"Sure!\n```json\n{said}\n```" if mode == "md_json" else said)

    script = Script(in_mode)
    batch = kit.passages(6)
    with serving(script) as url:
        extractor = ModelExtractor(kit.a_cell(), kit.room_at(url, mode=mode), size=6)
        shown = extractor.room.request(extractor.question(extractor.batches(batch, 6)[0]))
        assert not script.requests, "to show a question asks nobody"
        result = extractor.extract(batch)
    kit.accounted(batch, result)
    assert len(result.findings) == 6
    sent = script.requests[0]
    assert shown == sent
    assert {"json_schema": "response_format", "json": "response_format", "tools": "tools"}.get(mode, "messages") in sent
    if mode == "json_schema":
        assert sent["response_format"]["json_schema"]["strict"] is True


def _masters(*able):
    """An endpoint that gives right answers in some modes only."""

    def answer(request, n):
        mode = "tools" if "tools" in request else request.get("response_format", {}).get("type", "md_json")
        if mode == "json_schema" and mode not in able:
            return error(400, "unsupported", "response_format json_schema is not supported")
        if mode not in able:
            return completion("I think that the first is good.")
        said = json.dumps({"signs": [{"item": 1, "sign": 1}, {"item": 2, "sign": -1}]})
        if mode == "tools":
            call = {"id": "1", "type": "function", "function": {"name": "Signs", "arguments": said}}
            return completion(None, finish="tool_calls", tool_calls=[call])
        return completion(f"```json\n{said}\n```" if mode == "md_json" else said)

    return Script(answer)


@pytest.mark.parametrize(
    ("able", "chosen"),
    [(("json_schema", "json_object"), "json_schema"), (("json_object", "tools"), "json"), (("md_json",), "md_json"), (("tools",), "tools")],
)
def test_probe_finds_what_an_endpoint_can_do(kit, able, chosen):
    with serving(_masters(*able)) as url:
        room = kit.room_at(url, mode="auto")
        found = probe(room)
        assert room.mode() == chosen
    assert not found[chosen]
    assert sum(not fault for fault in found.values()) == len(able)


def test_endpoint_that_can_do_nothing_is_an_error_that_lists_why(kit):
    with serving(_masters()) as url, pytest.raises(EndpointFailed, match="tools"):
        kit.room_at(url, mode="auto").mode()
