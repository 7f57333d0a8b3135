"""Faults of an endpoint, over real HTTP: nothing is lost or doubled, waiting is bounded, messages say what to do."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from simflow.errors import BadInput, EndpointFailed
from simflow.llm.extractor import ModelExtractor
from simflow.llm.scripted import Reply, Script, completion, error, serving
from simflow.llm.wire import Unreachable, Unusable

GARBAGE = b"<html>bad gateway</html>"


def _once(fault, kit):
    """A script whose first answer is a fault and whose others are right."""
    return Script(lambda request, n: fault if n == 0 else kit.diligent(request))


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(error(429, "rate_limit_exceeded"), id="429"),
        pytest.param(error(429, "rate_limit_exceeded", headers={"Retry-After": "0.2"}), id="429 with Retry-After"),
        pytest.param(error(429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), id="429 with a date that is past"),
        pytest.param(error(429, headers={"Retry-After": "soon"}), id="429 with nonsense"),
        pytest.param(error(500), id="500"),
        pytest.param(error(503), id="503"),
        pytest.param(Reply(GARBAGE, 502), id="502 in HTML"),
        pytest.param(Reply(GARBAGE), id="200 in HTML"),
        pytest.param(Reply({"error": "overloaded"}), id="200 that is no completion"),
        pytest.param(Reply(completion("x"), hang=9.0), id="timeout"),
        pytest.param(Reply(completion("x"), drip=0.05), id="slow stream"),
        pytest.param(Reply(completion("x"), cut=30), id="cut connection"),
        pytest.param(Reply(completion("x"), cut=0), id="cut before the first byte"),
    ],
)
def test_passing_fault_costs_one_retry_and_loses_nothing(fault, kit):
    script = _once(fault, kit)
    batch = kit.passages(8)
    with serving(script) as url:
        slow = fault.hang or fault.drip
        room = kit.room_at(url, timeout=3.0 if slow else 30.0, concurrency=1)
        result = ModelExtractor(kit.a_cell(), room, size=8).extract(batch)
    kit.accounted(batch, result)
    assert len({f.episode for f in result.findings}) == 8
    assert not result.failed
    assert len(script.requests) == 2 or (slow and len(script.requests) > 2)  # a machine may be slower than that deadline once more
    assert [u.calls for u in room.usage()] == [1]


def test_retry_after_is_honoured_and_pauses_the_other_calls(kit):
    script = Script(lambda request, n: error(429, headers={"Retry-After": "0.6"}) if n == 0 else kit.diligent(request))
    batch = kit.passages(16)
    with serving(script) as url:
        room = kit.room_at(url, concurrency=1)
        ModelExtractor(kit.a_cell(), room, size=4).extract(batch)
    waited = script.times[1] - script.times[0]
    assert waited >= 0.6
    assert len(script.requests) == 5


def test_retry_after_beyond_patience_gives_up_at_once(kit):
    script = Script(lambda *_: error(429, headers={"Retry-After": "3600"}))
    with serving(script) as url:
        room = kit.room_at(url)
        with pytest.raises(Unreachable, match="429"):
            ModelExtractor(kit.a_cell(), room).extract(kit.passages(4))
    assert len(script.requests) == 1


@contextmanager
def reserved():
    """A port at which nobody listens and which nobody else is given meanwhile; a scripted endpoint may."""
    with socket.socket() as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(("127.0.0.1", 0))
        yield place.getsockname()[1]


def test_dead_endpoint_ends_with_exit_code_three_and_says_how_to_go_on(kit):
    with reserved() as port:
        room = kit.room_at(f"http://127.0.0.1:{port}/v1", patience=0.3)
        with pytest.raises(EndpointFailed) as caught:
            ModelExtractor(kit.a_cell(), room).extract(kit.passages(4))
    assert caught.value.exit_code == 3
    assert "run again" in caught.value.hint


@pytest.mark.parametrize("away", [1.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_endpoint_that_dies_in_the_middle_and_comes_back_costs_nothing_but_time(kit, tmp_path, away):
    answered = threading.Semaphore(3)
    dying, back = threading.Event(), threading.Event()

    def three_answers(request, _):
        if not answered.acquire(blocking=False):
            dying.set()
            back.wait(500)  # these are in flight when it dies
        return kit.diligent(request)

    first, second = Script(three_answers), Script(kit.diligent)

    def come_and_go() -> None:
        with serving(first, port):
            dying.wait(500)
        time.sleep(away)
        with serving(second, port):
            back.set()
            done.wait(500)

    done = threading.Event()
    batch = kit.passages(40)
    thread = threading.Thread(target=come_and_go)
    with reserved() as port:
        thread.start()
        try:
            room = kit.room_at(f"http://127.0.0.1:{port}/v1", tmp_path, patience=300.0 + 3 * away, backoff=0.05, concurrency=2)
            result = ModelExtractor(kit.a_cell(), room, size=4).extract(batch)
        finally:
            done.set()
            back.set()
            thread.join()
    kit.accounted(batch, result)
    assert len(result.findings) == 40
    assert not result.failed
    assert room.usage()[0].calls == 10  # none paid twice
    assert len(second.requests) == 7, "those that were in flight are asked again"


def test_run_that_an_endpoint_ended_goes_on_without_paying_twice(kit, tmp_path):
    batch = kit.passages(40)
    script = Script(lambda request, n: kit.diligent(request) if n < 6 else error(503))
    with serving(script) as url:
        room = kit.room_at(url, tmp_path, patience=0.2, concurrency=1)
        with pytest.raises(Unreachable):
            ModelExtractor(kit.a_cell(), room, size=4).extract(batch)
    paid = room.usage()[0].calls
    assert paid == 6
    again = Script(kit.diligent)
    with serving(again) as url:
        room = kit.room_at(url, tmp_path, concurrency=1)
        result = ModelExtractor(kit.a_cell(), room, size=4).extract(batch)
    kit.accounted(batch, result)
    assert len(result.findings) == 40
    assert len(again.requests) == 10 - paid


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(error(404, "model_not_found", "The model `x` does not exist"), "model", id="wrong model"),
        pytest.param(
            error(401, "invalid_api_key", "Incorrect API key provided: sk-test-0123456789abcdefghij"), "OPENAI_API_KEY", id="no key"
        ),
        pytest.param(error(429, "insufficient_quota", "You exceeded your current quota"), "credit", id="no credit"),
        pytest.param(error(400, "bad", "response_format is not supported"), "SIMFLOW_LLM_MODE", id="unknown mode"),
    ],
)
def test_fault_of_configuration_is_told_once_with_what_to_do(fault, words, kit):
    script = Script(lambda *_: fault)
    with serving(script) as url:
        room = kit.room_at(url, concurrency=1)
        with pytest.raises(EndpointFailed) as caught:
            ModelExtractor(kit.a_cell(), room).extract(kit.passages(4))
    assert words in caught.value.hint
    assert kit.KEY not in str(caught.value)
    assert len(script.requests) == 1


def test_without_a_key_openai_is_refused_before_any_call(kit, monkeypatch):
    from simflow.llm.room import Room

    monkeypatch.setenv("SIMFLOW_LLM_MODEL", "gpt-4o-mini")
    with pytest.raises(BadInput, match="key"):
        Room.of(kit.a_cell()).ready()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(lambda _: completion("not { json"), "invalid", id="invalid JSON"),
        pytest.param(lambda _: completion('{"relations": "all of them"}'), "invalid", id="valid JSON against the schema"),
        pytest.param(lambda _: completion('{"r":[{"e":1,"c":1', finish="length"), "truncated", id="truncated"),
        pytest.param(lambda _: completion("x") | {"choices": []}, "empty", id="empty choices"),
        pytest.param(lambda _: completion(None), "empty", id="no content"),
        pytest.param(lambda _: completion(None, refusal="I cannot help with that"), "refused", id="refusal"),
        pytest.param(lambda _: completion("x", finish="content_filter"), "refused", id="content filter"),
        pytest.param(lambda _: completion('{"r":[],"n":[]}'), "left it out", id="missing ids"),
        pytest.param(lambda _: completion('{"r":[{"e":99,"c":1,"v":1}],"n":[77]}'), "left it out", id="wrong ids"),
        pytest.param(lambda _: error(400, "context_length_exceeded", "maximum context length"), "rejected", id="too long"),
        pytest.param(lambda _: error(400, "content_filter", "content policy"), "refused", id="policy"),
    ],
)
def test_passage_that_a_model_cannot_read_is_parked_alone_with_its_reason(answer, reason, kit):
    def bad_about_105(request, _):
        return answer(request) if "Remark 105 " in request["messages"][-1]["content"] else kit.diligent(request)

    batch = kit.passages(12, replies=False)
    with serving(Script(bad_about_105)) as url:
        room = kit.room_at(url)
        result = ModelExtractor(kit.a_cell(), room, size=12).extract(batch)
    kit.accounted(batch, result)
    assert list(result.failed) == [105]
    assert reason in result.failed[105]
    assert len(result.findings) == 11


def test_only_missing_lines_are_asked_again(kit):
    def forgets_the_last_two(request, n):
        asked = kit.numbers(request)
        kept = asked[:-2] if n == 0 else asked
        return completion(json.dumps({"r": [{"e": e, "c": 1, "v": 1} for e in kept[1:]], "n": kept[:1]}))

    script = Script(forgets_the_last_two)
    batch = kit.passages(8)
    with serving(script) as url:
        result = ModelExtractor(kit.a_cell(), kit.room_at(url), size=8).extract(batch)
    kit.accounted(batch, result)
    assert [len(kit.numbers(r)) for r in script.requests] == [8, 2]


def test_bad_item_costs_itself_and_not_its_batch(kit):
    def one_bad_item(request, n):
        asked = kit.numbers(request)
        items = [{"e": e, "c": 1, "v": 1} for e in asked]
        if n == 0:
            items[3] = {"e": 4, "c": 1, "v": 17}
        return completion(json.dumps({"r": items, "n": []}))

    script = Script(one_bad_item)
    with serving(script) as url:
        result = ModelExtractor(kit.a_cell(), kit.room_at(url), size=8).extract(kit.passages(8))
    assert len(result.findings) == 8
    assert [len(kit.numbers(r)) for r in script.requests] == [8, 1]


def test_bad_batch_costs_at_most_twice_its_calls_for_the_good_ones(kit):
    batch = kit.passages(16, replies=False)
    script = Script(lambda r, _: completion("{") if "Remark 110 " in r["messages"][-1]["content"] else kit.diligent(r))
    with serving(script) as url:
        result = ModelExtractor(kit.a_cell(), kit.room_at(url), size=16).extract(batch)
    kit.accounted(batch, result)
    assert list(result.failed) == [110]
    read = sum(len(kit.numbers(r)) for r in script.requests)
    assert read <= 16 + 2 * 16 + 2  # the batch, its halves at each level with the bad one, the last attempt


def test_batches_shrink_under_omissions_and_grow_back(kit):
    batch = kit.passages(200, replies=False)
    script = Script(lambda r, _: completion("{") if len(kit.numbers(r)) > 10 else kit.diligent(r))
    with serving(script) as url:
        extractor = ModelExtractor(kit.a_cell(), kit.room_at(url), size=20)
        result = extractor.extract(batch)
    kit.accounted(batch, result)
    assert not result.failed
    assert extractor.counts["shrunk"] >= 4
    sizes = [len(kit.numbers(r)) for r in script.requests]
    assert max(sizes) == 20
    assert sizes.count(20) < len(sizes) / 2


def test_endless_answer_is_cut_off(kit):
    script = Script(lambda *_: Reply(b"[" * 9_000_000))
    with serving(script) as url:
        room = kit.room_at(url, patience=0.2)
        with pytest.raises(Unreachable, match="more than"):
            ModelExtractor(kit.a_cell(), room).extract(kit.passages(2))


def test_parameter_that_a_model_does_not_take_is_dropped_for_good(kit):
    def picky(request, _):
        if "temperature" in request:
            return error(400, "unsupported_value", "temperature", param="temperature")
        if "max_tokens" in request:
            return error(400, "unsupported_parameter", "use max_completion_tokens", param="max_tokens")
        return kit.diligent(request)

    script = Script(picky)
    with serving(script) as url:
        ModelExtractor(kit.a_cell(), kit.room_at(url, concurrency=1), size=4).extract(kit.passages(12))
    assert len(script.requests) == 5
    assert script.requests[-1]["max_completion_tokens"] > 0


def test_unusable_answers_do_not_stop_questions_beside_them(kit):
    from simflow.llm.ontology import codes, shape
    from simflow.llm.room import Question

    cell = kit.a_cell()
    known = codes(cell.extract.relations, cell.topics)
    asked = [Question("test", "s", f'{n} @a: "x"', shape(known, 9, 0), 50) for n in (1, 2, 3)]
    script = Script(lambda r, _: completion("{") if r["messages"][-1]["content"].startswith("2") else kit.diligent(r))
    with serving(script) as url:
        answers = kit.room_at(url).ask_all(asked)
    assert [isinstance(a, Unusable) for a in answers] == [False, True, False]
