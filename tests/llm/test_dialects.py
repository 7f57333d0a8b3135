"""What servers that call themselves compatible really send, over real HTTP: an answer that is there is used, and paid for once."""

from __future__ import annotations

import gzip
import json

import pytest

from simflow.errors import BadInput, EndpointRefused
from simflow.llm.cascade import Cascade
from simflow.llm.completion import MOST, bare
from simflow.llm.endpoint import Endpoint
from simflow.llm.extractor import ModelExtractor
from simflow.llm.ontology import codes, shape
from simflow.llm.scripted import Reply, Script, completion, error, serving


def _said(answer):
    return answer["choices"][0]["message"]["content"]


def _with(answer, content=..., **message):
    found = json.loads(json.dumps(answer))
    found["choices"][0]["message"] |= message if content is ... else {"content": content, **message}
    return found


def _parts(answer):
    words = _said(answer)
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "{hm}"}]}
    return _with(answer, [thinking, {"type": "text", "text": words[:7]}, {"type": "text", "text": words[7:]}])


def _bare(answer):
    return {"choices": [{"message": {"content": _said(answer)}}], "usage": answer["usage"]}


def _finished(reason):
    def put(answer):
        return {**answer, "choices": [{**answer["choices"][0], "finish_reason": reason}]}

    return put


def _strings(answer):
    said = json.loads(_said(answer))
    return _with(answer, json.dumps({"r": [{k: str(v) for k, v in item.items()} for item in said["r"]], "n": [str(n) for n in said["n"]]}))


def _zipped(answer):
    return Reply(gzip.compress(json.dumps(answer).encode()), headers={"Content-Encoding": "gzip"})


DIALECTS = {
    "content in parts, thoughts among them": _parts,
    "thoughts before the answer": lambda a: _with(a, f'<think>\nLet {{me}} see: {{"r": []}}\n</think>\n\n{_said(a)}'),
    "thoughts without their beginning": lambda a: _with(a, f"Well {{x}}\n</think>{_said(a)}"),
    "thoughts beside the answer": lambda a: _with(a, reasoning_content="hm", reasoning="hm", annotations=None, audio=None),
    "a fence": lambda a: _with(a, f"```json\n{_said(a)}\n```"),
    "a preamble and an afterword": lambda a: _with(a, f"Here {{you}} are:\n{_said(a)}\nAnything else?"),
    "a byte order mark": lambda a: _with(a, f"\ufeff{_said(a)}\0"),
    "numbers as strings": _strings,
    "keys twice": lambda a: _with(a, f'{{"r": [], {_said(a)[1:]}'),
    "nothing but the words": _bare,
    "no role": lambda a: _with(a, role=None),
    "no reason for ending": _finished(None),
    "an invented reason for ending": _finished("eos"),
    "an unknown tier": lambda a: {**a, "service_tier": "scale9", "created": 1.5, "system_fingerprint": 7},
    "compressed": _zipped,
    "closing the connection": lambda a: Reply(a, headers={"Connection": "close"}),
}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_answer_in_a_dialect_is_as_good_as_any(dialect, kit):
    batch = kit.passages(8)
    script = Script(lambda request, _: dialect(kit.diligent(request)))
    with serving(script) as url:
        room = kit.room_at(url, concurrency=1)
        result = ModelExtractor(kit.a_cell(), room, size=4).extract(batch)
    assert len(script.requests) == 2
    (used,) = room.usage()
    assert (used.calls, used.failed, used.tokens_in, used.tokens_out) == (2, 0, 400, 112)
    kit.accounted(batch, result)
    # Four lines a batch, against those of an odd number and for the others; see `diligent`.
    sides = {f.episode: f.value for f in result.findings}
    assert sides == {n: -0.5 if n % 2 == 0 else 0.5 for n in range(100, 108)}


@pytest.mark.parametrize("arguments", [str, json.loads], ids=["as text", "as an object"])
def test_call_of_a_tool_is_read_whichever_way_its_arguments_come(arguments, kit):
    def calling(request, _):
        plain = kit.diligent(request)
        call = {"id": "c", "type": "function", "function": {"name": "Found", "arguments": arguments(_said(plain))}}
        return _with(plain, None, tool_calls=[call])

    batch = kit.passages(4)
    with serving(Script(calling)) as url:
        result = ModelExtractor(kit.a_cell(), kit.room_at(url, mode="tools"), size=4).extract(batch)
    assert len(result.findings) == 4


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param(..., id="missing"),
        pytest.param(None, id="null"),
        pytest.param([1], id="a list"),
        pytest.param({"prompt_tokens": -5, "completion_tokens": -1}, id="negative"),
        pytest.param({"prompt_tokens": 10**30, "completion_tokens": 10**30}, id="huge"),
        pytest.param({"prompt_tokens": None, "completion_tokens": None}, id="empty"),
        pytest.param({"prompt_tokens": 0, "completion_tokens": 0}, id="zero"),
        pytest.param({"prompt_tokens": "many", "completion_tokens": True}, id="words"),
    ],
)
def test_usage_that_cannot_be_is_counted_instead(usage, kit):
    def answer(request, _):
        found = kit.diligent(request)
        if usage is ...:
            del found["usage"]
        else:
            found["usage"] = usage
        return found

    with serving(Script(answer)) as url:
        room = kit.room_at(url)
        result = ModelExtractor(kit.a_cell(), room, size=4).extract(kit.passages(4))
    assert len(result.findings) == 4
    (used,) = room.usage()
    assert 300 < used.tokens_in < MOST
    assert 20 < used.tokens_out < 200
    assert used.cost > 0


def test_thoughts_that_are_in_the_total_alone_are_paid_for(kit):
    answer = completion('{"r":[],"n":[1]}')
    answer["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 900}
    with serving(Script(lambda *_: answer)) as url:
        room = kit.room_at(url)
        ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(1))
    assert (room.usage()[0].tokens_in, room.usage()[0].tokens_out) == (100, 800)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ('{"a": "</think> {"}', '{"a": "</think> {"}'),
        ('{"a": 1} {"b": 2}', '{"a": 1}'),
        ('{"a": {"b": 1}', '{"a": {"b": 1}'),
        ("<think>{}</think>", ""),
        ("[" * 100_000, "[" * 100_000),
        ('{"a":' * 100_000, '{"a":' * 100_000),
        ("no answer", "no answer"),
    ],
)
def test_object_is_cut_out_of_what_stands_around_it_and_never_out_of_itself(said, kept):
    assert bare(said) == kept


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "refusal": "No. \x1b[31m\ud83d\u202e Never.\n" * 40},
        {"content": '{"r": \x1b[31m \ud800'},
        {"content": '{"r":[{"e":NaN,"c":1,"v":Infinity}],"n":[NaN]}'},
        {"content": '{"r":[],"n":[],"\ud83d":1}'},
        {"content": f'{{"r":[{{"e":1{"0" * 5000},"c":1,"v":1}}],"n":[]}}'},
        {"content": "[" * 200_000},
        None,
    ],
    ids=["refusal with escapes", "escapes", "NaN", "surrogates", "endless number", "endless depth", "no message"],
)
def test_reason_for_parking_is_one_clean_line(message, kit):
    answer = completion("x")
    answer["choices"][0]["message"] = message
    with serving(Script(lambda *_: answer)) as url:
        result = ModelExtractor(kit.a_cell(), kit.room_at(url), size=2).extract(kit.passages(2))
    assert sorted(result.failed) == [100, 101]
    for reason in result.failed.values():
        assert reason.isprintable()
        assert len(reason) < 260
        reason.encode("utf-8")


def test_model_that_never_answers_in_the_asked_shape_ends_the_run_instead_of_an_empty_memory(kit):
    cell = kit.a_cell()
    for count, ends in ((9, False), (10, True)):
        with serving(Script(lambda *_: completion("Certainly!"))) as url:
            room = kit.room_at(url)
            cascade = Cascade(cell, kit.NoSense(), room=room, cheap=_Nothing(), model=ModelExtractor(cell, room))
            if not ends:
                kit.accounted(batch := kit.passages(count), result := cascade.extract(batch))
                assert len(result.failed) == count
                continue
            with pytest.raises(EndpointRefused, match=r"any of 10 texts.*invalid") as caught:
                cascade.extract(kit.passages(count))
        assert "SIMFLOW_LLM_MODE" in caught.value.hint


class _Nothing:
    id = "nothing"

    def extract(self, batch):
        from simflow.ports import Extraction

        return Extraction((), tuple(p.episode for p in batch))


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (error(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens"), "rejected", "maximum context length"),
        (error(400, "400", "the request exceeds the available context size", type="exceed_context_size_error"), "rejected", "exceeds"),
        (error(413, "x", "Request too large"), "rejected", "too large"),
        (error(400, "json_validate_failed", "Failed to generate JSON. Please adjust your prompt."), "invalid", "Failed to generate"),
        (error(403, "403", "Your chosen model requires moderation and your input was flagged"), "refused", "moderation"),
        (error(400, "content_filter", "The response was filtered by the content management policy"), "refused", "policy"),
    ],
    ids=["too long", "too long for llama.cpp", "too large", "no JSON made", "moderation", "content filter"],
)
def test_status_that_concerns_one_question_parks_it(fault, kind, words, kit):
    with serving(Script(lambda *_: fault)) as url:
        result = ModelExtractor(kit.a_cell(), kit.room_at(url), size=1).extract(kit.passages(1))
    (reason,) = result.failed.values()
    assert reason.startswith(f"{kind}: ")
    assert words in reason


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (error(400, "x", "Invalid schema for response_format 'Found': In context=(), 'maxSize' is too large"), "SIMFLOW_LLM_MODE"),
        (error(402, "402", "Insufficient credits"), "credit"),
        (Reply({"error": {"error": "Invalid model name passed in model=x"}}, 400), "model's name"),
        (error(400, None, "vendor/x is not a valid model ID"), "model's name"),
        (Reply({"error": "model 'x' not found"}, 400), "model's name"),
        (error(400, None, "No connected db."), "OPENAI_API_KEY"),
        (error(307, "x", "moved", headers={"Location": "http://127.0.0.1:9/v1"}), "OPENAI_BASE_URL"),
        (error(302, "x", "moved", headers={"Location": "/v1/chat/completions"}), "OPENAI_BASE_URL"),
    ],
    ids=[
        "schema that is not taken",
        "no credit",
        "no such model at a proxy",
        "no such model at a router",
        "no such model, in a word",
        "a key that a proxy does not know",
        "sent elsewhere",
        "sent in circles",
    ],
)
def test_status_that_concerns_all_questions_is_told_once(fault, words, kit):
    script = Script(lambda *_: fault)
    with serving(script) as url, pytest.raises(EndpointRefused) as caught:
        ModelExtractor(kit.a_cell(), kit.room_at(url, concurrency=1), size=1).extract(kit.passages(3))
    assert words in caught.value.hint
    assert len(script.requests) == 1


def _refuses_seed(request):
    return "seed" in request and error(
        422, None, '{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}'
    )


def _refuses_system(request):
    return request["messages"][0]["role"] == "system" and error(400, None, "System role not supported")


def _refuses_max_items(request):
    return "maxItems" in json.dumps(request) and error(400, None, "invalid schema for response format: maxItems is not supported")


def _refuses_max_tokens(request):
    hint = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    return "max_tokens" in request and error(400, "unsupported_parameter", hint, param="max_tokens")


@pytest.mark.parametrize("refuses", [_refuses_seed, _refuses_system, _refuses_max_items, _refuses_max_tokens])
def test_what_an_endpoint_says_that_it_does_not_take_is_left_out_from_then_on(refuses, kit, tmp_path):
    script = Script(lambda request, _: refuses(request) or kit.diligent(request))
    with serving(script) as url:
        room = kit.room_at(url, tmp_path, concurrency=1)
        result = ModelExtractor(kit.a_cell(), room, size=4).extract(kit.passages(8))
    assert len(result.findings) == 8
    assert len(script.requests) == 3
    last = script.requests[-1]
    assert "Relations that count" in last["messages"][0]["content"]
    assert last.get("max_tokens") or last["max_completion_tokens"]
    replay = kit.room_at("http://127.0.0.1:9/v1", tmp_path, taping="replay-only")
    assert ModelExtractor(kit.a_cell(), replay, size=4).extract(kit.passages(8)) == result


def test_modes_found_by_asking_are_found_again_in_the_recording(kit, tmp_path):
    def only_json(request, _):
        kind = request.get("response_format", {}).get("type")
        if kind == "json_schema":
            return error(400, "x", "response_format of this type is unavailable")
        if "Give the sign" in request["messages"][0]["content"]:
            return completion('{"signs": [{"item": 1, "sign": 1}]}')
        return kit.diligent(request)

    from simflow.llm import probe

    batch, found = kit.passages(4), []
    with serving(Script(only_json)) as url:
        for where, taping in ((url, "replay"), ("http://127.0.0.1:9/v1", "replay-only")):
            room = kit.room_at(where, tmp_path, mode="auto", taping=taping)
            found.append(ModelExtractor(kit.a_cell(), room, size=4).extract(batch))
            assert probe.best(room) == "json"
    assert found[0] == found[1]
    assert len(found[0].findings) == 4


def test_choices_of_a_schema_begin_differently_and_nothing_in_it_is_beyond_what_servers_take(kit):
    """OpenAI refuses a choice between objects whose first keys are alike, or a key that is not required; llama.cpp long repetitions."""
    from simflow.llm import acting

    cell = kit.a_cell()
    known = codes(cell.extract.relations, cell.topics)
    shapes = [shape(known, 20, people, style) for people in (0, 1, 3) for style in ("compact", "full")]
    shapes += [acting.shape(cell.platform.actions, posts, 2) for posts in (0, 3)]
    with serving(Script(lambda *_: completion("x"))) as url:
        room = kit.room_at(url)
        for made in shapes:
            _checked(room._strict({"response_format": {"type": "json_schema", "json_schema": {"schema": made.model_json_schema()}}}))


def _checked(request):
    schema = request["response_format"]["json_schema"]["schema"]
    assert request["response_format"]["json_schema"]["strict"] is True
    assert schema["type"] == "object"
    assert "anyOf" not in schema
    definitions = schema.get("$defs", {})

    def walk(at):
        if isinstance(at, list):
            for one in at:
                walk(one)
        if not isinstance(at, dict):
            return
        if "anyOf" in at:
            kinds = [definitions[o["$ref"].rsplit("/", 1)[1]] for o in at["anyOf"]]
            firsts = [json.dumps(next(iter(k["properties"].items()))) for k in kinds]
            assert len(set(firsts)) == len(firsts)
        if at.get("type") == "object":
            assert at["additionalProperties"] is False
            assert at["required"] == list(at["properties"])
        assert not at.keys() & {"minLength", "maxLength", "default", "allOf", "oneOf", "not", "pattern", "uniqueItems"}
        assert at.get("maxItems", 0) < 2000
        for value in at.values():
            walk(value)

    walk(schema)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("http://localhost:8000/v1/\n", "http://localhost:8000/v1/"),
        (" https://example.org/api ", "https://example.org/api"),
    ],
)
def test_address_is_taken_as_people_write_it(given, shown):
    assert Endpoint.from_environment("m", {"OPENAI_BASE_URL": given}).place == shown


@pytest.mark.parametrize(
    "given", ["http://localhost:80a/v1", "http://localhost:99999/v1", "http://[::1/v1", "http:///v1", "http://a b/v1", "http://x/v1?key=1"]
)
def test_address_that_is_none_is_named(given):
    with pytest.raises(BadInput, match="OPENAI_BASE_URL"):
        Endpoint.from_environment("m", {"OPENAI_BASE_URL": given})


def test_key_loses_its_line_end_and_one_that_no_header_can_hold_is_refused_without_being_shown():
    assert Endpoint.from_environment("m", {"OPENAI_API_KEY": " sk-abc\n"}).key == "sk-abc"
    for bad in ("sk-“abc”", "sk-abc\nsk-def", "sk abc"):
        with pytest.raises(BadInput, match="OPENAI_API_KEY") as caught:
            Endpoint.from_environment("m", {"OPENAI_API_KEY": bad})
        assert "abc" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        ({"completion_tokens_details": {"reasoning_tokens": 70}}, {"content": ""}),
        ({}, {"content": None, "reasoning_content": "Let me see"}),
        ({}, {"content": "<think>Let me see"}),
    ],
    ids=["counted", "beside", "aloud"],
)
def test_model_that_thinks_is_given_tokens_for_it_and_says_when_they_are_too_few(usage, message, kit):
    def thinks(request, _):
        if request["max_tokens"] > 1000:
            return kit.diligent(request)
        answer = completion("", finish="length")
        answer["choices"][0]["message"] |= message
        return answer | {"usage": answer["usage"] | usage}

    batch = kit.passages(1)
    with serving(Script(thinks)) as url:
        cut = ModelExtractor(kit.a_cell(), kit.room_at(url), size=1).extract(batch)
        well = ModelExtractor(kit.a_cell(), kit.room_at(url, thinking=1000), size=1).extract(batch)
    assert "SIMFLOW_LLM_THINKING" in cut.failed[100]
    assert len(well.findings) == 1
    assert Endpoint.from_environment("m", {"SIMFLOW_LLM_THINKING": "2000"}).thinking == 2000


def test_kind_of_fault_is_kept_when_its_answer_is_replayed(kit, tmp_path):
    with serving(Script(lambda *_: error(400, "context_length_exceeded", "too long"))) as url:
        first = ModelExtractor(kit.a_cell(), kit.room_at(url, tmp_path), size=1).extract(kit.passages(1))
    replay = kit.room_at("http://127.0.0.1:9/v1", tmp_path, taping="replay-only")
    assert ModelExtractor(kit.a_cell(), replay, size=1).extract(kit.passages(1)) == first
