"""Generated worlds in the half of the phrases that nothing was trained on; bounds lie below what was measured, so that a loss shows."""

from __future__ import annotations

import pytest

from simflow.evaluation.extract import evaluate
from simflow.evaluation.extract_train import hide, sample
from simflow.evaluation.extract_worlds import labelled
from simflow.memory.extractors.lexicon import load


def test_the_halves_share_no_text():
    train, held = (set(sample("en", half, 200, 3).posts) for half in ("train", "held_out"))
    assert not train & held


def test_english_answers_in_unknown_phrases_are_read_rightly_where_it_speaks():
    report = evaluate(labelled("en", "held_out", 400)["attitude"])
    assert report["answers"]["accuracy_where_answered"]["value"] >= 0.95
    assert report["answers"]["relation_f1"] >= 0.8
    assert report["answers"]["macro_f1"] > report["majority"]["macro_f1"]


@pytest.mark.parametrize("code", ["en", "pt", "es", "uk"])
def test_every_language_beats_the_commonest_label_on_unknown_phrases(code):
    for kind, one in labelled(code, "held_out", 250).items():
        report = evaluate(one)
        assert report["answers"]["macro_f1"] > report["majority"]["macro_f1"], kind


def test_hiding_words_is_keyed_and_partial():
    whole = load("en")
    thin = hide(whole, 0.4, 1)
    assert 0.4 < len(thin.tables["position"]) / len(whole.tables["position"]) < 0.8
    assert thin.tables == hide(whole, 0.4, 1).tables
