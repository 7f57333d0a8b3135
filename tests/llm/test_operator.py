"""What an operator gets wrong is told before anything is sent or paid, in words that say what to do; nothing of a key is among them."""

from __future__ import annotations

import errno
import json

import pytest

from simflow.errors import BadInput
from simflow.llm import prices
from simflow.llm.endpoint import VARIABLES, Endpoint
from simflow.llm.meter import LimitReached, Meter
from simflow.llm.prices import Price, price
from simflow.llm.recording import Recording
from simflow.plan import Limits

KEY = "sk-test-0123456789"


def described(**environ):
    return Endpoint.from_environment("gpt-4o-mini", environ)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("SIMFLOW_LLM_BASE_URL", "OPENAI_BASE_URL"),
        ("SIMFLOW_LLM_API_KEY", "OPENAI_API_KEY"),
        ("SIMFLOW_LLM_CONCURENCY", "SIMFLOW_LLM_CONCURRENCY"),
        ("SIMFLOW_LLM_PRICING", "SIMFLOW_LLM_PRICE"),
        ("SIMFLOW_LLM_XYZZY", "SIMFLOW_LLM_MODEL, SIMFLOW_LLM_MODE"),
    ],
)
def test_variable_that_nothing_reads_is_refused_with_the_one_that_is_meant(name, instead):
    with pytest.raises(BadInput, match=f"nothing reads {name}") as caught:
        described(**{name: KEY})
    assert instead in caught.value.hint
    assert KEY not in f"{caught.value} {caught.value.hint}"
    assert described(**{name: ""}), "an empty one is unset"


def test_variables_that_are_read_are_taken():
    values = {"SIMFLOW_LLM_MODE": "auto", "SIMFLOW_LLM_CACHE": "off", "SIMFLOW_LLM_PRICE": "0,0", "OPENAI_BASE_URL": "http://x/v1"}
    assert described(**{name: values.get(name, "7") for name in VARIABLES})


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:8000/v1", "begins with http"),
        ("localhost:8000/v1", "begins with http"),
        ("http:/127.0.0.1/v1", "begins with http"),
        ("http://x/v1/chat/completions", "ends with /chat/completions"),
        ("http://x/v1/chat/completions/", "ends with /chat/completions"),
        ("http://x/v1/embeddings", "ends with /embeddings"),
        (f"http://me:{KEY}@x/v1", "user name or password"),
        (f"http://x/v1?key={KEY}", "more than an address"),
        ("http://x:70000/v1", "no address"),
    ],
)
def test_address_that_cannot_be_right_says_what_is_wrong_with_it(address, words):
    with pytest.raises(BadInput) as caught:
        described(OPENAI_BASE_URL=address)
    said = f"{caught.value} {caught.value.hint}"
    assert words in said
    assert KEY not in said


@pytest.mark.parametrize("address", ["http://x/v1/", "HTTPS://x/v1", " http://x ", "http://[::1]:8000/v1", "http://x/openai/deployments/y"])
def test_address_that_is_only_unusual_is_taken(address):
    assert described(OPENAI_BASE_URL=address).base_url == address.strip()


@pytest.mark.parametrize("key", [f'"{KEY}"', f"'{KEY}'", f"Bearer {KEY}", f"{KEY}\nX-Evil: 1", f"„{KEY}“", "sk-ключ"])
def test_key_that_brought_something_along_is_refused_and_not_shown(key):
    with pytest.raises(BadInput, match="OPENAI_API_KEY holds characters that no key has") as caught:
        described(OPENAI_API_KEY=key)
    assert "0123456789" not in f"{caught.value} {caught.value.hint}"


def test_number_that_is_none_or_not_whole_is_told_apart():
    with pytest.raises(BadInput, match=r"SIMFLOW_LLM_CONCURRENCY is '4\.5', which is no whole number"):
        described(SIMFLOW_LLM_CONCURRENCY="4.5")
    with pytest.raises(BadInput, match="SIMFLOW_LLM_TIMEOUT is 'long', which is no number"):
        described(SIMFLOW_LLM_TIMEOUT="long")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("date: 2026-01-01\nsource: me\nmodels: {x: {input: -1, output: 2}}", "models.x.input: "),
        ("date: 2026-01-01\nsource: me\nmodels: {x: {input: .inf, output: 2}}", "models.x.input: "),
        ("date: 2026-01-01\nsource: me\nmodels: {x: {input: .nan, output: 2}}", "models.x.input: "),
        ("date: 2026-01-01\nsource: me\nmodels: {x: {in: 1, output: 2}}", "models.x."),
        ("models: {x: {input: 1, output: 2}}", "date: "),
        ("", "all of it: "),
        ("a: [1", "is no YAML"),
    ],
)
def test_price_table_that_cannot_be_used_says_where_in_one_line(table, words, tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text(table)
    with pytest.raises(BadInput, match=r"the price table prices\.yaml") as caught:
        price("x", described(SIMFLOW_LLM_PRICES=str(path)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "http" not in str(caught.value)


def test_model_that_a_table_does_not_know_is_an_error_with_the_nearest(tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text("date: 2026-01-01\nsource: me\nmodels: {my-model-7b: {input: 1, output: 2}}")
    endpoint = described(SIMFLOW_LLM_PRICES=str(path))
    assert price("my-model-7b", endpoint).input == 1
    with pytest.raises(BadInput, match="nobody knows what the model 'my-model-8b' costs") as caught:
        price("my-model-8b", endpoint)
    assert "my-model-7b" in caught.value.hint
    assert prices.shipped()


@pytest.mark.parametrize(
    ("limits", "words"),
    [(Limits(tokens=50), "limit of 50 tokens"), (Limits(tokens=0), "limit of 0 tokens"), (Limits(cost=0.0), "limit of 0.0 USD")],
)
def test_budget_that_is_smaller_than_one_call_says_so_before_it_is_made(limits, words):
    meter = Meter(limits)
    with pytest.raises(LimitReached, match=words) as caught:
        meter.take_off(1_234, Price(1.0, 4.0, 1.0, "test"))
    assert "0 tokens, 0.0000 USD spent, and the next call asks about 1,234 tokens" in str(caught.value)


def test_limit_is_told_as_it_was_written():
    meter = Meter(Limits(tokens=5_000_000))
    with pytest.raises(LimitReached, match="limit of 5,000,000 tokens"):
        meter.take_off(6_000_000, Price(1.0, 4.0, 1.0, "test"))


def test_answer_for_which_the_disk_has_no_room_leaves_nothing_of_itself(tmp_path, monkeypatch):
    recording = Recording(tmp_path, "replay", "account")
    recording.put("ab" * 32, {"model": "x"}, {"response": {"choices": []}})

    def full(path, raw):
        with path.open("wb") as out:
            out.write(raw[:10])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        recording.put("cd" * 32, {"model": "x"}, {"response": {"choices": []}})
    monkeypatch.undo()
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{'ab' * 32}.json"]
    assert recording.get("cd" * 32) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"request": {}}', '"foreign"', "\x00\x00"])
def test_recording_that_is_damaged_counts_as_none_and_is_asked_again(damage, tmp_path):
    recording = Recording(tmp_path, "replay", "account")
    key = "ab" * 32
    recording.put(key, {"model": "x"}, {"response": {"choices": []}})
    assert recording.get(key)
    (tmp_path / key[:2] / f"{key}.json").write_text(damage)
    assert recording.get(key) is None
    recording.put(key, {"model": "x"}, {"response": {"choices": [1]}})
    assert recording.get(key)["response"] == {"choices": [1]}


def test_index_and_account_with_foreign_lines_are_read_as_far_as_they_go(tmp_path):
    recording = Recording(tmp_path, "replay", "account")
    recording.note("ab", "act", {"agent": "rosa1", "tick": 1})
    ledger = tmp_path / "spent.jsonl"
    ledger.write_text(json.dumps({"tokens": 5, "cost": 0.5}) + "\n")
    foreign = '{"key": \n[1, 2]\n"text"\nnull\n7\n{"tokens": "many", "cost": {}}\n{"key": ["x"]}\n\n{"tokens": 9, "cost": NaN}\n{"tokens": -9, "cost": 1}\n{"tokens": 1e999, "cost": 1}\n'
    for path in (recording.index, ledger):
        with path.open("a") as out:
            out.write(foreign)
    recording.note("cd", "act", {"agent": "rosa2", "tick": 2})
    assert {row["key"] for row in recording.asked()} == {"ab", "cd"}
    meter = Meter(None, ledger)
    assert (meter.spent_tokens, meter.spent_cost) == (5, 0.5)
