"""Who reads what: repeats once, cheap readings where they are sure and contradict nothing, the model for the rest, an audit by chance."""

from __future__ import annotations

import dataclasses
import json

import pytest

from simflow.llm.cascade import Cascade
from simflow.llm.evenness import at_least, wilson
from simflow.llm.extractor import ModelExtractor
from simflow.llm.scripted import Script, completion, serving
from simflow.plan import Extract
from simflow.ports import Extraction, Extractor, Finding, Held, Remote


class Cheap:
    """Finds an opinion with a confidence and a value that the passage's text names: `sure +1`, `unsure -1`."""

    id = "cheap"

    def __init__(self):
        self.read = []

    def extract(self, batch):
        self.read += batch
        found = []
        for p in batch:
            word, _, value = p.text.partition(" ")
            if word in {"sure", "unsure"}:
                confidence = 0.95 if word == "sure" else 0.5
                found.append(Finding(p.episode, "opinion", p.actor, None, "water tariff", None, float(value.split(" ")[0]), confidence))
        said = {f.episode for f in found}
        return Extraction(tuple(found), tuple(p.episode for p in batch if p.episode not in said))


@pytest.fixture
def cascade(kit):
    """(run(batch, audit, script) -> (result, cascade, requests))."""

    def run(batch, *, audit=0.0, answer=None, size=20):
        cell = kit.a_cell(extract=Extract(audit=audit))
        script = Script(answer or kit.diligent)
        with serving(script) as url:
            room = kit.room_at(url)
            made = Cascade(cell, kit.NoSense(), room=room, cheap=Cheap(), model=ModelExtractor(cell, room, size=size))
            result = made.extract(batch)
        kit.accounted(batch, result)
        return result, made, script.requests

    return run


def says(kit, texts, **more):
    batch = kit.passages(len(texts), replies=False)
    return [dataclasses.replace(p, text=t, **more) for p, t in zip(batch, texts, strict=True)]


def test_cascade_offers_its_ports(kit):
    made = Cascade(kit.a_cell(), kit.NoSense(), room=kit.room_at("http://x/v1"), cheap=Cheap())
    assert isinstance(made, Extractor)
    assert isinstance(made, Remote)
    assert "cheap" in made.id
    assert "gpt-4o-mini" in made.id


def test_only_what_the_cheap_reader_is_unsure_of_reaches_the_model(kit, cascade):
    batch = says(kit, ["sure +1 a", "unsure +1 b", "sure -1 c", "no idea"])
    result, made, requests = cascade(batch)
    asked = "\n".join(r["messages"][1]["content"] for r in requests)
    assert "unsure +1 b" in asked
    assert "no idea" in asked
    assert '"sure' not in asked
    assert {f.episode: f.value for f in result.findings}[batch[0].episode] == 1.0
    assert made.notes()["by_builtin"] == 2


def test_without_doubt_nothing_is_asked(kit, cascade):
    _, _, requests = cascade(says(kit, ["sure +1 a", "sure -1 b"]))
    assert requests == []


def test_contradiction_of_a_held_belief_goes_to_the_model(kit, cascade):
    held = (Held("opinion", None, "water tariff", None, -0.8),)
    batch = says(kit, ["sure +1 a"], held=held) + [
        dataclasses.replace(p, episode=900 + n) for n, p in enumerate(says(kit, ["sure -1 b"], held=held))
    ]
    _, made, requests = cascade(batch)
    assert len(kit.numbers(requests[0])) == 1
    assert "sure +1 a" in requests[0]["messages"][1]["content"]
    assert made.notes()["contradictions"] == 1


def test_half_a_reading_of_an_answer_goes_to_the_model(kit, cascade):
    batch = [dataclasses.replace(p, text="sure +1 x") for p in kit.passages(2)]
    _, _, requests = cascade(batch)
    assert [len(kit.numbers(r)) for r in requests] == [1]


def test_repeats_are_read_once_and_belong_to_whoever_says_them(kit, cascade):
    batch = says(kit, ["the same words"] * 6)
    result, made, requests = cascade(batch)
    assert [len(kit.numbers(r)) for r in requests] == [1]
    assert {f.episode: f.of for f in result.findings} == {p.episode: p.actor for p in batch}
    assert made.notes()["repeats"] == 5


def test_repeated_answer_is_towards_whom_it_answers(kit, cascade):
    batch = [dataclasses.replace(p, text="same", parent_text="x", root_text="x") for p in kit.passages(4)][1:]
    others = [dataclasses.replace(p, episode=p.episode + 500, actor=9, target=8, target_id="rosa8") for p in batch[:1]]

    def towards(request, n):
        asked = kit.numbers(request)
        return completion(json.dumps({"r": [{"e": e, "c": 3, "v": -2} for e in asked], "n": []}))

    result, _, requests = cascade([*batch, *others], answer=towards)
    assert [len(kit.numbers(r)) for r in requests] == [1]
    assert {(f.of, f.on_agent) for f in result.findings} == {(p.actor, p.target) for p in [*batch, *others]}


def test_parked_reading_parks_its_repeats_with_the_same_reason(kit, cascade):
    result, _, _ = cascade(
        says(kit, ["awful", "awful", "fine"]),
        answer=lambda r, _: completion("{") if "awful" in r["messages"][1]["content"] else kit.diligent(r),
    )
    assert len(result.failed) == 2
    assert len(set(result.failed.values())) == 1


def test_audit_is_a_share_by_content_and_measures_disagreement(kit, cascade, monkeypatch):
    monkeypatch.setattr("simflow.llm.cascade.TOLERATED", 1.0)
    batch = says(kit, [f"sure {'+1' if n % 4 else '-1'} {n}" for n in range(400)])

    def always_for(request, n):
        return completion(json.dumps({"r": [{"e": e, "c": 1, "v": 2} for e in kit.numbers(request)], "n": []}))

    result, made, requests = cascade(batch, audit=0.25, answer=always_for)
    again, _, requests_again = cascade(list(reversed(batch)), audit=0.25, answer=always_for)
    asked = sorted(
        w
        for r in requests
        for w in r["messages"][1]["content"].splitlines() and [ln.split(": ", 1)[1] for ln in r["messages"][1]["content"].splitlines()]
    )
    asked_again = sorted(ln.split(": ", 1)[1] for r in requests_again for ln in r["messages"][1]["content"].splitlines())
    assert asked == asked_again
    assert 60 <= len(asked) <= 140
    assert sorted(f.episode for f in result.findings) == sorted(f.episode for f in again.findings)
    notes = made.notes()
    assert notes["audited"] == len(asked)
    wrong = sum('"sure -1' in words for words in asked)
    assert notes["audit_errors"] == wrong
    low, high = wilson(wrong, len(asked))
    assert low < 0.25 < high
    assert made.notes() == {}


def test_wilson_interval_has_known_values():
    assert wilson(0, 10) == pytest.approx((0.0, 0.27753), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.23659, 0.76341), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("hits", "of", "low"), [(0, 5, 0.0), (1, 1, 0.025), (1, 3, 0.00840), (2, 2, 0.15811), (3, 41, 0.01535), (10, 100, 0.04900)]
)
def test_exact_interval_begins_at_known_values(hits, of, low):
    assert at_least(hits, of) == pytest.approx(low, abs=1e-5)


def all_for(kit):
    return lambda request, _: completion(json.dumps({"r": [{"e": e, "c": 1, "v": 2} for e in kit.numbers(request)], "n": []}))


def test_batch_whose_audit_fails_is_read_by_the_model_instead(kit, cascade):
    batch = says(kit, [f"sure -1 {n}" for n in range(60)])
    result, made, requests = cascade(batch, audit=0.3, answer=all_for(kit))
    assert {f.value for f in result.findings} == {1.0}
    assert sum(len(kit.numbers(r)) for r in requests) == 60
    assert made.notes()["audit_doubted"] == 60


def test_batch_whose_audit_passes_stays_with_the_cheap_reader(kit, cascade):
    batch = says(kit, [f"sure +1 {n}" for n in range(60)])
    _, made, requests = cascade(batch, audit=0.3, answer=all_for(kit))
    notes = made.notes()
    assert sum(len(kit.numbers(r)) for r in requests) == notes["audited"] < 60
    assert "audit_doubted" not in notes or notes["audit_doubted"] == 0


def test_only_the_less_confident_half_is_doubted_where_the_rest_passes(kit):
    cell = kit.a_cell(extract=Extract(audit=1.0, accept=0.9))
    made = Cascade(cell, kit.NoSense(), room=kit.room_at("http://x/v1"), cheap=Cheap())

    def read(confidence):
        return [Finding(1, "opinion", 1, None, "water tariff", None, 1.0, confidence)]

    accepted = {n: read(0.92 if n < 20 else 0.99) for n in range(40)}
    wrong = {n: n < 20 for n in range(40)}
    assert made._doubted(accepted, wrong) == set(range(20))


def test_one_disagreement_in_a_sample_of_one_says_nothing_of_its_batch(kit):
    made = Cascade(kit.a_cell(), kit.NoSense(), room=kit.room_at("http://x/v1"), cheap=Cheap())
    sure = [Finding(1, "opinion", 1, None, "water tariff", None, 1.0, 0.97)]
    accepted = dict.fromkeys(range(40), sure)
    assert made._doubted(accepted, {3: True}) == set()
    assert made._doubted(accepted, {3: True, 4: True}) == set(range(40))
