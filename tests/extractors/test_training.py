"""The weights that ship are those that the training command yields."""

from __future__ import annotations

import json
import re
from importlib import resources

import pytest

from simflow.evaluation.extract_train import inputs, known, text
from simflow.memory.extractors import wording
from simflow.memory.extractors.lexicon import LANGUAGES
from simflow.memory.topics import words
from simflow.world.language import tables


def shipped():
    return (resources.files("simflow.memory.extractors") / "model.json").read_text("utf-8")


def test_weights_belong_to_the_lexicons_books_and_phrases_that_are_there():
    model = json.loads(shipped())
    assert model["about"]["inputs"] == inputs()
    assert model["phrases"] == known()


@pytest.mark.slow
def test_training_yields_the_same_bytes():
    assert text() == shipped()


def plain(text):
    return " ".join(w for w, _, _ in words(re.sub(r"\{\w+\}", " ", text)))


@pytest.mark.parametrize("code", LANGUAGES)
def test_nothing_that_is_held_out_is_learnt_or_stands_in_a_book(code):
    held = {plain(p) for table in tables.load(code, "held_out").phrases.values() for p in table}
    again = tables.load(code, "train").again
    held |= {
        plain(re.sub(r"\{(\w+)\}", lambda gap: again.get(gap[1], ""), p)) for t in tables.load(code, "held_out").phrases.values() for p in t
    }
    learnt = {plain(line) for lines in known()[code].values() for line in lines} | {plain(line) for _, line in wording.lines(code)}
    assert len(learnt) > 1000
    assert not held & learnt - {""}


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_books_repeat_nothing_of_the_half_that_is_learnt(code):
    half = {plain(p) for table in tables.load(code, "train").phrases.values() for p in table}
    assert not half & {plain(line) for _, line in wording.lines(code)}


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_heading_of_a_book_is_known_and_filled(code):
    said = {heading for heading, _ in wording.lines(code)}
    assert said == set(wording.HEADINGS)
