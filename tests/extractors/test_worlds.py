"""Generated worlds in the half of the phrases that nothing was trained on; bounds lie below what was measured, so that a loss shows."""

from __future__ import annotations

import pytest

from simflow.evaluation.extract import predict, scores
from simflow.evaluation.extract_train import hide, sample
from simflow.evaluation.extract_worlds import labelled
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.memory.extractors.lexicon import load
from simflow.plan import Cell, Language


def test_the_halves_share_no_text():
    train, held = (set(sample("en", half, 200, 3).posts) for half in ("train", "held_out"))
    assert not train & held


@pytest.mark.parametrize(("code", "least"), [("en", 0.9), ("pt", 0.9), ("es", 0.9), ("uk", 0.86)])
def test_relations_in_unknown_phrases_are_read(code, least):
    gold, said = [], []
    for kind, one in labelled(code, "held_out", 250).items():
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
