"""Generated worlds in phrases that nothing was trained on; bounds lie below what was measured, so that a loss shows."""

from __future__ import annotations

import pytest

from simflow.evaluation.extract import predict, scores
from simflow.evaluation.extract_train import hide, sample
from simflow.evaluation.extract_worlds import labelled
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.memory.extractors.lexicon import load
from simflow.plan import Cell, Language
from simflow.world.language import tables


def test_the_halves_share_no_text():
    train, held = (set(sample(tables.load("en", half), 200, 3).posts) for half in ("train", "held_out"))
    assert not train & held


@pytest.mark.parametrize(
    ("name", "code", "least"),
    [
        ("held_out", "en", 0.92),
        ("held_out", "pt", 0.9),
        ("held_out", "es", 0.89),
        ("held_out", "uk", 0.87),
        ("other_hand", "en", 0.89),
        ("other_hand", "pt", 0.88),
        ("other_hand", "es", 0.85),
        ("other_hand", "uk", 0.89),
    ],
)
def test_relations_in_unknown_phrases_are_read(name, code, least):
    gold, said = [], []
    for kind, one in labelled(code, name, 250).items():
        extractor = BuiltinExtractor(Cell("labelled", "base", {}, 0, one.topics, language=Language(code=code)))
        labels = [item.label for item in one.items]
        guesses = predict(extractor, one.items)
        common = max(set(labels), key=labels.count)
        assert scores(labels, guesses)["macro_f1"] > scores(labels, [common] * len(labels))["macro_f1"], kind
        gold += labels
        said += guesses
    assert scores(gold, said)["relation_f1"] >= least


def test_hiding_words_is_keyed_and_partial():
    whole = load("en")
    thin = hide(whole, 0.4, 1)
    assert 0.4 < len(thin.tables["position"]) / len(whole.tables["position"]) < 0.8
    assert thin.tables == hide(whole, 0.4, 1).tables
