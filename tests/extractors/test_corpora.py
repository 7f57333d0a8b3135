"""Labelled text that people wrote."""

from __future__ import annotations

import json

import pytest

from simflow.errors import BadInput
from simflow.evaluation.extract import predict, read, scores
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.plan import Cell, Language, Topic
from simflow.ports import Passage


@pytest.mark.parametrize("name", ["semeval2016t6", "rumoureval2017", "cmv_modes", "covidpol_ptbr", "cic_es", "cic_ca"])
def test_each_set_is_read_whole(corpora, name):
    found = read(corpora / name)
    assert {i.label for i in found.items} == {-1, 0, 1}
    assert len({i.passage.episode for i in found.items}) == len(found.items)


@pytest.mark.parametrize("name", ["semeval2016t6", "rumoureval2017", "cmv_modes", "covidpol_ptbr", "cic_es", "cic_ca"])
def test_what_is_said_of_real_text_is_right_and_more_than_the_commonest_label(corpora, name):
    found = read(corpora / name)
    items = found.items[:: max(1, len(found.items) // 1000)]
    gold = [item.label for item in items]
    extractor = BuiltinExtractor(Cell("labelled", "base", {}, 0, found.topics, language=Language(code=found.language)))
    said = scores(gold, predict(extractor, items))
    common = max(set(gold), key=gold.count)
    assert said["sign_accuracy"]["value"] >= 0.85
    assert said["macro_f1"] > scores(gold, [common] * len(gold))["macro_f1"]


@pytest.mark.parametrize(
    ("text", "target", "found"),
    [
        ("@ana7 Exactly, I agree with you.", "rosa1", False),
        ("@rosa1 Exactly, I agree with you.", "rosa1", True),
        ("There is no trial and no proof of anything.", "rosa1", False),
    ],
)
def test_answer_is_towards_the_one_it_is_addressed_to(text, target, found):
    passage = Passage(2, 6, "reply", 2, "bo2", 1, target, text, 1, "It rains.", 1, "It rains.")
    extractor = BuiltinExtractor(Cell("labelled", "base", {}, 0, (Topic("the matter"),)))
    assert bool(extractor.extract([passage]).findings) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [("Llibertat presos polítics! #JudiciFarsa", 1), ("Los separatistas mienten.", -1), ("Vaya panda de golpistas.", 0), ("Fascistas.", 0)],
)
def test_banners_of_a_camp_are_believed_and_insults_that_all_use_are_not(text, value):
    passage = Passage(1, 5, "post", 1, "author", None, None, text, root=0, root_text="independència de Catalunya", lang="es")
    extractor = BuiltinExtractor(Cell("labelled", "base", {}, 0, (Topic("independència de Catalunya"),), language=Language(code="es")))
    signs = [(f.value > 0) - (f.value < 0) for f in extractor.extract([passage]).findings]
    assert signs == ([value] if value else [])


def test_labels_beside_the_episodes_are_joined(tmp_path):
    (tmp_path / "episodes.jsonl").write_text('{"id": "a", "text": "I support it", "target": "buses", "lang": "en"}\n')
    (tmp_path / "labels.jsonl").write_text('{"id": "a", "labels": {"stance": "favor"}}\n')
    assert [i.label for i in read(tmp_path).items] == [1]


def test_a_bad_line_is_named(tmp_path):
    (tmp_path / "episodes.jsonl").write_text(json.dumps({"id": "a", "text": "x"}) + "\n{broken\n")
    with pytest.raises(BadInput, match=r"episodes\.jsonl:2"):
        read(tmp_path)


def test_scores_by_hand():
    found = scores([1, -1, 0, 1], [1, 1, None, None])
    assert found["sign_accuracy"]["value"] == 0.5
    assert found["coverage"] == 0.5
    assert found["polar_coverage"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["f1_for"] == pytest.approx(0.5)
    assert found["f1_neither"] == pytest.approx(2 / 3, abs=1e-4)


def test_as_of_reads_return_the_stance_valid_at_each_step(corpora, run_switches):
    right, steps, people = run_switches(corpora / "rumoureval2017" / "stance_switches.jsonl")
    assert (right, people) == (people, 71)
    assert steps > people
