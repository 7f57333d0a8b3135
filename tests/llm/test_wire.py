"""The wire under servers at their worst, over real HTTP: waiting and reading are bounded, nobody else is sent anything, nothing is paid unseen."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from simflow.errors import EndpointFailed
from simflow.llm import wire
from simflow.llm.extractor import ModelExtractor
from simflow.llm.meter import LimitReached, Meter
from simflow.llm.pace import Halted, Pace
from simflow.llm.scripted import Reply, Script, completion, error, serving
from simflow.llm.speaker import ModelSpeaker
from simflow.llm.wire import Unreachable, retry_after
from simflow.plan import Limits
from simflow.ports import Act, Finding, Turn


def _poison(request):
    return "Remark 105 " in request["messages"][-1]["content"]


def _word(request):
    return len(request["messages"]) == 1


def test_text_that_a_server_fails_on_each_time_is_parked_and_the_others_are_read(kit):
    """One request that is answered with 500 for ever must not end every run at the same place."""
    script = Script(lambda r, _: error(500, "x", "boom") if _poison(r) else completion("1", usage=(1, 1)) if _word(r) else kit.diligent(r))
    batch = kit.passages(8, replies=False)
    with serving(script) as url:
        room = kit.room_at(url, patience=0.05, concurrency=1)
        result = ModelExtractor(kit.a_cell(), room, size=8).extract(batch)
    kit.accounted(batch, result)
    assert list(result.failed) == [105]
    assert result.failed[105].startswith("unanswered: ")
    assert "500" in result.failed[105]
    by_phase = {u.phase: u for u in room.usage()}
    words = sum(map(_word, script.requests))
    assert (by_phase["probe"].calls, by_phase["probe"].tokens_in) == (words, words), "each word asked is paid for"


def test_turn_that_a_server_fails_on_each_time_is_one_that_found_no_endpoint(kit):
    """So that a run in which most turns are such ends, instead of being silent."""
    script = Script(lambda r, _: completion("1", usage=(1, 1)) if _word(r) else error(504, "x", "gateway timeout"))
    turn = Turn(agent=1, tick=1, id="rosa1", who="", feed=(), memory="", actions=("post",), topics=("water tariff",), seed=1, model=None)
    with serving(script) as url:
        speaker = ModelSpeaker(kit.a_cell(), kit.room_at(url, patience=0.05))
        assert speaker.speak([turn]) == [Act("nothing", reason="unreachable")]
    assert speaker.notes()["turns_unreachable"] == 1


@pytest.mark.parametrize("fault", [error(500), error(429, headers={"Retry-After": "60"})], ids=["down", "busy"])
def test_server_that_answers_nobody_is_unreachable(fault, kit):
    with serving(Script(lambda *_: fault)) as url:
        room = kit.room_at(url, patience=0.05)
        with pytest.raises(Unreachable):
            ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(8))


def test_pause_that_is_longer_than_patience_holds_nobody_up(kit):
    """All calls in flight and all that wait give up at once, not after the hour that the endpoint asked for."""
    script = Script(lambda *_: error(429, headers={"Retry-After": "3600"}))
    with serving(script) as url:
        room = kit.room_at(url, concurrency=2)
        asked = [ModelExtractor(kit.a_cell(), room).question(kit.passages(1, first=n)) for n in range(6)]
        answers = room.ask_all(asked)
    assert all(isinstance(a, Unreachable) for a in answers)
    assert len(script.requests) == 6


def test_patience_is_not_used_up_by_waiting_for_ones_turn(kit, monkeypatch):
    """At a low rate the last of many calls waits long before it begins; its one passing fault is still only one."""
    clock = [0.0]
    monkeypatch.setattr(wire, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(Pace, "wait", lambda *_: clock.__setitem__(0, clock[0] + 1000.0))
    script = Script(lambda r, n: error(503) if n == 0 else kit.diligent(r))
    with serving(script) as url:
        room = kit.room_at(url, patience=60.0, requests_per_minute=1)
        result = ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(1))
    assert len(result.findings) == 1
    assert len(script.requests) == 2


@pytest.mark.parametrize("status", [200, 400, 503])
def test_body_that_does_not_end_is_given_up_by_the_deadline_whatever_its_status(status, kit):
    with serving(Script(lambda *_: Reply(b" " * 100_000, status, drip=0.05))) as url:
        room = kit.room_at(url, timeout=0.5, patience=0.1)
        with pytest.raises(Unreachable, match=r"no whole answer within 0\.5 s"):
            ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(1))


@pytest.mark.parametrize("status", [200, 500])
def test_body_without_end_is_read_no_further_than_a_limit(status, kit):
    with serving(Script(lambda *_: Reply(b"[" * 9_000_000, status))) as url:
        room = kit.room_at(url, patience=0.05)
        with pytest.raises(Unreachable, match="more than 8000000 bytes"):
            ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(1))


@pytest.mark.parametrize(
    "body",
    [b"[" * 1_000_000, b"\xff\xfe{}", b'{"choices": 1}', b'{"choices": [{"error": {"code": 502}, "finish_reason": "error"}]}', b"null"],
)
def test_body_that_is_no_completion_is_asked_for_again(body, kit):
    script = Script(lambda r, n: Reply(body) if n == 0 else kit.diligent(r))
    with serving(script) as url:
        result = ModelExtractor(kit.a_cell(), kit.room_at(url), size=4).extract(kit.passages(4))
    assert len(result.findings) == 4
    assert len(script.requests) == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_call_that_is_sent_elsewhere_goes_nowhere_and_the_key_stays(status, kit):
    other = Script(kit.diligent)
    with serving(other) as elsewhere:
        # A name for the same machine is another host.
        script = Script(lambda *_: error(status, headers={"Location": elsewhere.replace("127.0.0.1", "localhost") + "/chat/completions"}))
        with serving(script) as url, pytest.raises(EndpointFailed, match="localhost") as caught:
            ModelExtractor(kit.a_cell(), kit.room_at(url), size=1).extract(kit.passages(1))
    assert "OPENAI_BASE_URL" in caught.value.hint
    assert not other.requests


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 422, 500])
def test_key_that_a_server_sends_back_is_kept_nowhere(status, kit, tmp_path):
    def echo(request, n):
        key = f"Bearer {kit.KEY}"
        if status != 200:
            return error(status, kit.KEY, f"denied for {key}", headers={"X-Echo": key})
        return {**kit.diligent(request), "system_fingerprint": key}

    told = ""
    with serving(Script(echo)) as url:
        room = kit.room_at(url, tmp_path, patience=0.05)
        try:
            told = repr(ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(1)))
        except EndpointFailed as failed:
            told = f"{failed} {failed.hint}"
    assert (status == 200) == ("Finding" in told)
    assert Finding.__name__ in told or "***" in told
    assert kit.KEY not in told
    files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert files or status not in {200, 500}
    for file in files:
        assert kit.KEY not in file.read_text()


def test_answer_that_broke_off_is_paid_for_by_its_prompt_and_counts_against_the_limit(kit, tmp_path):
    """A server that always breaks off bills each try; the tries end at the limit, not at the end of patience."""
    script = Script(lambda r, _: Reply(kit.diligent(r), cut=30))
    with serving(script) as url:
        room = kit.room_at(url, tmp_path, limits=Limits(tokens=2000), concurrency=1, backoff=0.001)
        with pytest.raises(LimitReached):
            ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(1))
    (used,) = room.usage()
    each = used.tokens_in / len(script.requests)
    assert each > 300
    assert 2000 - each < room.meter.spent_tokens < 2000 + 2 * each
    assert Meter(Limits(), tmp_path / "spent" / "cell.jsonl").spent_tokens == room.meter.spent_tokens


def test_account_survives_a_line_that_a_crash_cut(kit, tmp_path):
    ledger = tmp_path / "spent" / "cell.jsonl"
    ledger.parent.mkdir()
    ledger.write_text('{"phase": "act", "model": "m", "tokens": 100, "cost": 0.5}\n{"phase": "act", "mod')
    with serving(Script(kit.diligent)) as url:
        room = kit.room_at(url, tmp_path)
        ModelExtractor(kit.a_cell(), room, size=4).extract(kit.passages(4))
    assert room.meter.spent_tokens == 100 + 4 * 64
    assert Meter(Limits(), ledger).spent_tokens == room.meter.spent_tokens


def test_after_a_fault_of_all_calls_none_is_tried_again(kit):
    """Three calls fail in a way that passes; then one is told that the key is wrong. The others do not go on for their patience."""
    four = threading.Barrier(4, timeout=300)

    def answer(request, n):
        if n < 4:
            four.wait()  # all are in flight
        return error(401, "invalid_api_key", "wrong") if "Remark 0 " in request["messages"][-1]["content"] else error(503)

    script = Script(answer)
    with serving(script) as url:
        room = kit.room_at(url, concurrency=4, backoff=30.0, patience=3000.0)
        asked = [ModelExtractor(kit.a_cell(), room).question(kit.passages(1, first=n)) for n in range(8)]
        with pytest.raises(EndpointFailed, match="wrong"):
            room.ask_all(asked)
    assert len(script.requests) == 4


def test_pace_that_is_halted_lets_nobody_wait_or_begin_until_it_is_resumed():
    pace = Pace(requests_per_minute=1)
    pace.wait(1)
    raised = []

    def waiting() -> None:
        try:
            pace.wait(1)
        except Halted as error:
            raised.append(error)

    thread = threading.Thread(target=waiting)
    thread.start()
    pace.halt()
    thread.join(300)
    assert len(raised) == 1
    with pytest.raises(Halted):
        pace.sleep(0.0)
    pace.resume()
    pace.sleep(0.0)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-5", 0.0),
        ("nan", 0.0),
        ("inf", float("inf")),
        ("1e400", float("inf")),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 99 Oct 99999 07:28:00 GMT", None),
        ("²", None),
    ],
)
def test_every_way_of_saying_when_to_come_back_is_understood_or_ignored(given, seconds):
    assert retry_after({"retry-after": given}) == seconds
    assert retry_after({"retry-after-ms": "250", "retry-after": given}) == 0.25


def test_retry_after_for_ever_is_no_wait(kit):
    script = Script(lambda *_: error(503, headers={"Retry-After": "inf"}))
    with serving(script) as url, pytest.raises(Unreachable):
        ModelExtractor(kit.a_cell(), kit.room_at(url), size=1).extract(kit.passages(1))
    assert len(script.requests) == 2  # and a word, to see whether anybody is there
