"""Money and answers: limits stop, prices are known, recordings replay, keys stay out of everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from simflow.errors import BadInput, NotFound
from simflow.llm.endpoint import Endpoint
from simflow.llm.extractor import ModelExtractor
from simflow.llm.meter import LimitReached, Meter
from simflow.llm.pace import Pace
from simflow.llm.prices import price, shipped
from simflow.llm.room import Room
from simflow.llm.scripted import Reply, Script, completion, error, serving
from simflow.plan import Cell, Limits, Models, Persona, Topic


def test_unknown_model_is_an_error_that_says_what_to_set(kit):
    with pytest.raises(BadInput, match="costs") as caught:
        price("gpt-4o-minii")
    assert "gpt-4o-mini" in caught.value.hint
    assert "SIMFLOW_LLM_PRICE=" in caught.value.hint


@pytest.mark.parametrize("model", ["small-instruct", "zzzz"])
def test_unknown_model_is_told_how_many_are_known_and_how_to_give_a_price(model, tmp_path):
    with pytest.raises(BadInput, match=f"'{model}' costs") as caught:
        price(model)
    hint = caught.value.hint
    assert hint.startswith(f"{len(shipped())} models have a price")
    assert ("nearest of them: smollm2-135m-instruct, mistral-small-latest" in hint) == (model == "small-instruct")
    table = tmp_path / "prices.yaml"  # of just the keys that the hint says
    table.write_text(f"date: 2026-11-30\nsource: me\nmodels: {{{model}: {{input: 1, output: 2}}}}\n")
    assert "SIMFLOW_LLM_PRICES=FILE, a YAML file of date, source, models: {NAME: {input, output}}" in hint
    assert price(model, Endpoint(model=model, prices=table)).output == 2
    given = Endpoint.from_environment(model, {"SIMFLOW_LLM_PRICE": "0,0"})
    assert price(model, given).output == 0


def test_personas_that_all_have_a_model_need_no_other():
    def room(*models, reads="builtin", named=None):
        personas = tuple(Persona(f"p{n}", 2, engine=engine, model=model) for n, (engine, model) in enumerate(models))
        cell = Cell("s", "base", {}, 0, topics=(Topic("a"),), personas=personas, models=Models(extractor=reads, model=named))
        return Room.of(cell).endpoint.model

    assert room(("builtin", None), ("llm", "b"), ("llm", "a")) == "a"
    assert room(("llm", "b"), named="c") == "c"
    for other in ({"reads": "llm"}, {}):
        with pytest.raises(BadInput, match="no model is named"):
            room(("llm", "b"), *([] if other else [("llm", None)]), **other)


def test_prices_ship_with_date_and_source():
    for row in shipped().values():
        assert "2026" in row.source
        assert row.output >= row.input >= 0
    assert shipped()["gpt-4o-mini"].of(1_000_000, 0, 1_000_000) == pytest.approx(0.75)


def test_own_price_table_is_read_beside_the_one_that_ships(tmp_path, kit):
    table = tmp_path / "prices.yaml"
    table.write_text("date: 2026-11-30\nsource: my contract\nmodels: {mine: {input: 1, output: 2, cached: 0.5}}\n")
    endpoint = Endpoint(model="mine", prices=table)
    assert price("mine", endpoint).of(1_000_000, 1_000_000, 0) == 0.5
    assert price("gpt-4o-mini", endpoint) == shipped()["gpt-4o-mini"]
    table.write_text("models: {mine: free}")
    with pytest.raises(BadInput, match="cannot be used"):
        price("mine", endpoint)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIMFLOW_LLM_MODE", "xml"),
        ("SIMFLOW_LLM_CACHE", "yes"),
        ("SIMFLOW_LLM_TIMEOUT", "long"),
        ("SIMFLOW_LLM_CONCURRENCY", "0"),
        ("SIMFLOW_LLM_PRICE", "cheap"),
        ("SIMFLOW_LLM_PRICE", "-1,2"),
        ("OPENAI_BASE_URL", "localhost:8000"),
        ("OPENAI_BASE_URL", "http://me:secret@localhost:8000/v1"),
    ],
)
def test_bad_setting_is_named(name, value):
    with pytest.raises(BadInput, match=name):
        Endpoint.from_environment("m", {name: value})


@pytest.mark.parametrize("limits", [Limits(tokens=1500), Limits(cost=0.0002)])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_limit_stops_with_at_most_the_calls_in_flight_beyond_it(limits, concurrency, kit, tmp_path):
    paid = []

    def dear(request, n):
        paid.append(n)
        return completion(kit.diligent(request)["choices"][0]["message"]["content"], usage=(400, 100))

    with serving(Script(dear)) as url:
        room = kit.room_at(url, tmp_path, limits=limits, concurrency=concurrency)
        with pytest.raises(LimitReached, match="limit"):
            ModelExtractor(kit.a_cell(), room, size=4).extract(kit.passages(200))
    each_tokens, each_cost = 500, 400 * 0.15e-6 + 100 * 0.6e-6
    if limits.tokens:
        assert room.meter.spent_tokens <= limits.tokens + concurrency * each_tokens
    else:
        assert room.meter.spent_cost <= limits.cost + concurrency * each_cost
    assert room.meter.spent_tokens == each_tokens * len(paid)


def test_limit_holds_over_restarts_and_answers_paid_for_are_not_paid_again(kit, tmp_path):
    batch = kit.passages(40)
    script = Script(lambda r, _: completion(kit.diligent(r)["choices"][0]["message"]["content"], usage=(400, 100)))
    with serving(script) as url:
        for _ in range(3):
            room = kit.room_at(url, tmp_path, limits=Limits(tokens=2500), concurrency=1)
            with pytest.raises(LimitReached):
                ModelExtractor(kit.a_cell(), room, size=4).extract(batch)
        stopped_after = len(script.requests)
        room = kit.room_at(url, tmp_path, limits=Limits(tokens=50_000), concurrency=1)
        result = ModelExtractor(kit.a_cell(), room, size=4).extract(batch)
    kit.accounted(batch, result)
    assert stopped_after <= 5
    assert len(script.requests) == 10


def test_answer_without_usage_is_charged_as_counted(kit):
    answer = completion('{"r":[],"n":[1]}', usage=None)
    with serving(Script(lambda *_: answer)) as url:
        room = kit.room_at(url)
        ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(1))
    spent = room.usage()[0]
    assert spent.tokens_in > 300
    assert spent.tokens_out > 3
    assert spent.cost > 0


def test_tokens_that_the_provider_cached_cost_the_cached_price(kit, tmp_path):
    table = tmp_path / "prices.yaml"
    table.write_text("date: 2026-11-30\nsource: x\nmodels: {gpt-4o-mini: {input: 1, output: 0, cached: 0.1}}\n")
    answer = completion('{"r":[],"n":[1]}')
    answer["usage"] = {"prompt_tokens": 1000, "completion_tokens": 0, "total_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 900}}
    with serving(Script(lambda *_: answer)) as url:
        room = kit.room_at(url, prices=table)
        ModelExtractor(kit.a_cell(), room, size=1).extract(kit.passages(1))
    assert room.usage()[0].tokens_cached == 900
    assert room.usage()[0].cost == pytest.approx((100 * 1 + 900 * 0.1) / 1e6)


def test_recording_replays_without_an_endpoint_to_the_same_result(kit, tmp_path):
    batch = kit.passages(24)

    def patchy(request, n):
        return completion("{") if "Remark 110 " in request["messages"][-1]["content"] else kit.diligent(request)

    with serving(Script(patchy)) as url:
        first = ModelExtractor(kit.a_cell(), kit.room_at(url, tmp_path), size=8).extract(batch)
    room = kit.room_at("http://127.0.0.1:9/v1", tmp_path, taping="replay-only", key=None, concurrency=3)
    again = ModelExtractor(kit.a_cell(), room, size=8).extract(batch)
    assert again == first
    assert list(again.failed) == [110]
    assert room.usage()[0].calls == 0
    assert room.usage()[0].replayed > 3
    assert room.meter.spent_cost == kit.room_at(url, tmp_path).meter.spent_cost


def test_replay_only_without_a_recording_says_so_before_any_work(kit, tmp_path):
    room = kit.room_at("http://127.0.0.1:9/v1", tmp_path / "none", taping="replay-only")
    with pytest.raises(NotFound, match="no recording") as caught:
        room.ready()
    assert caught.value.exit_code == 2
    assert not (tmp_path / "none").exists()


def test_replay_only_names_the_missing_answer(kit, tmp_path):
    with serving(Script(kit.diligent)) as url:
        ModelExtractor(kit.a_cell(), kit.room_at(url, tmp_path), size=8).extract(kit.passages(8))
    room = kit.room_at(url, tmp_path, taping="replay-only")
    room.ready()
    with pytest.raises(NotFound, match="no answer is recorded"):
        ModelExtractor(kit.a_cell(), room, size=8).extract(kit.passages(8, first=900))


def test_recorded_garbage_is_asked_again_once_the_endpoint_is_well(kit, tmp_path):
    batch = kit.passages(4)
    with serving(Script(lambda *_: completion("garbage"))) as url:
        sick = ModelExtractor(kit.a_cell(), kit.room_at(url, tmp_path), size=4).extract(batch)
    assert len(sick.failed) == 4
    with serving(Script(kit.diligent)) as url:
        well = ModelExtractor(kit.a_cell(), kit.room_at(url, tmp_path), size=4).extract(batch)
    assert not well.failed
    assert len(well.findings) == 4


def test_damaged_recording_counts_as_none(kit, tmp_path):
    batch = kit.passages(4)
    with serving(Script(kit.diligent)) as url:
        first = ModelExtractor(kit.a_cell(), kit.room_at(url, tmp_path), size=4).extract(batch)
        for file in tmp_path.glob("??/*.json"):
            file.write_text(file.read_text()[:50])
        again = ModelExtractor(kit.a_cell(), kit.room_at(url, tmp_path), size=4).extract(batch)
    assert again == first


def test_results_do_not_depend_on_concurrency_or_order_of_answers(kit):
    import random

    batch = kit.passages(120)

    def late(request, n):
        return Reply(kit.diligent(request), hang=random.Random(n).uniform(0, 0.05))

    results = []
    for concurrency in (1, 5):
        with serving(Script(late)) as url:
            results.append(ModelExtractor(kit.a_cell(), kit.room_at(url, concurrency=concurrency), size=8).extract(batch))
    assert results[0] == results[1]


def test_no_more_calls_are_in_flight_than_allowed(kit):
    now, most, lock, two = 0, 0, threading.Lock(), threading.Barrier(2, timeout=120)

    class Counting(Script):
        def reply(self, request, headers):
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            two.wait()  # nobody is answered before there are two
            time.sleep(0.03)  # time for a third, which must not come
            found = super().reply(request, headers)
            with lock:
                now -= 1
            return found

    with serving(Counting(kit.diligent)) as url:
        ModelExtractor(kit.a_cell(), kit.room_at(url, concurrency=2), size=4).extract(kit.passages(64))
    assert most == 2


def test_first_part_of_prompts_is_the_same_bytes_for_all_batches(kit):
    script = Script(kit.diligent)
    with serving(script) as url:
        ModelExtractor(kit.a_cell(), kit.room_at(url), size=8).extract(kit.passages(40))
        ModelExtractor(kit.a_cell(), kit.room_at(url), size=8).extract(kit.passages(40, first=1000))
    assert len({r["messages"][0]["content"] for r in script.requests}) == 1
    assert len({json.dumps(r["response_format"]) for r in script.requests}) == 1
    assert len(script.requests) == 10


def test_pace_spaces_requests_and_tokens(monkeypatch):
    from simflow.llm import pace as module

    now = [0.0]  # of this module alone: threads of others sleep meanwhile
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(Pace, "sleep", lambda _, seconds: now.__setitem__(0, now[0] + seconds))
    by_requests = Pace(requests_per_minute=60)
    for _ in range(4):
        by_requests.wait(10)
    assert now[0] == pytest.approx(3.0)
    now[0] = 0.0
    by_tokens = Pace(tokens_per_minute=600)
    for _ in range(3):
        by_tokens.wait(100)
    assert now[0] == pytest.approx(20.0)
    by_tokens.pause(30)
    by_tokens.wait(1)
    assert now[0] == pytest.approx(50.0)


def test_key_is_in_no_file_message_or_output(kit, tmp_path):
    """A whole process that fails and one that works, with a key in its environment: nothing that it leaves holds the key."""
    code = (
        "import logging; logging.basicConfig(level=logging.INFO)\n"
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import conftest as c\n"
        "from simflow.llm.room import Room\n"
        "from simflow.llm.extractor import ModelExtractor\n"
        "room = Room.of(c.a_cell()); print(room.endpoint)\n"
        "print(ModelExtractor(c.a_cell(), room, size=4).extract(c.passages(4)))\n"
    )

    def telling(request, n):
        return error(401, "invalid_api_key", f"Incorrect API key provided: {kit.KEY}") if fail else kit.diligent(request)

    for fail in (False, True):
        script = Script(telling)
        with serving(script) as url:
            env = os.environ | {
                "OPENAI_API_KEY": kit.KEY,
                "OPENAI_BASE_URL": url,
                "SIMFLOW_LLM_MODEL": kit.MODEL,
                "SIMFLOW_HOME": str(tmp_path / "home"),
                "SIMFLOW_LLM_CACHE": "record",
            }
            here = str(Path(__file__).parent)
            done = subprocess.run([sys.executable, "-c", code, here], env=env, capture_output=True, text=True, timeout=500, check=False)
        assert len(script.requests) == 1, done.stderr
        assert ("401" in done.stderr) == fail, done.stderr
        assert kit.KEY not in done.stdout
        assert kit.KEY not in done.stderr
    files = [f for f in (tmp_path / "home").rglob("*") if f.is_file()]
    assert files
    for file in files:
        assert kit.KEY not in file.read_text()


def test_meter_reads_a_ledger_that_a_crash_cut(tmp_path):
    ledger = tmp_path / "cell.jsonl"
    ledger.write_text('{"phase": "act", "model": "m", "tokens": 100, "cost": 0.5}\n{"phase": "act", "mod')
    meter = Meter(Limits(), ledger)
    assert (meter.spent_tokens, meter.spent_cost) == (100, 0.5)


def test_engine_and_extractor_of_a_cell_share_one_account(kit, monkeypatch):
    monkeypatch.setenv("SIMFLOW_LLM_MODEL", kit.MODEL)
    cell = kit.a_cell()
    room = Room.of(cell)
    assert Room.of(kit.a_cell()) is room
    assert Room.of(kit.a_cell(limits=Limits(tokens=5))) is not room
