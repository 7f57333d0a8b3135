"""Phrases by other hands: what they may hold, what is learnt from them, and how they become texts and lines of a book."""

from __future__ import annotations

import re

import pytest

from simflow.evaluation import extract_hands as hands
from simflow.evaluation.extract_train import phrases, sample
from simflow.memory.extractors.lexicon import LANGUAGES
from simflow.memory.extractors.wording import HEADINGS
from simflow.world.language import tables

EVERY = [(code, number) for code in LANGUAGES for number in (*hands.learnt(code), hands.UNSEEN)]


@pytest.mark.parametrize(("code", "number"), EVERY)
def test_a_hand_fills_known_tables_with_gaps_that_the_language_has(code, number):
    half = tables.load(code, "train")
    found = hands.hand(code, number)
    assert set(found.phrases) == set(half.phrases)
    gaps = {gap for table in found.phrases.values() for line in table for gap in re.findall(r"\{(\w+)\}", line)}
    assert gaps <= {*half.again, "w", "h", "x", "y", "o"}
    for name, table in found.phrases.items():
        assert len(table) == len(set(table)) > 0, name


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_unseen_hand_is_in_nothing_that_is_learnt(code):
    assert hands.UNSEEN not in hands.learnt(code)
    assert hands.HALF in hands.learnt(code)
    assert len(hands.learnt(code)) >= 4
    unseen = {line for _, line in hands.said(code, hands.UNSEEN)}
    shared = unseen & {line for _, line in phrases(code)}
    assert len(shared) <= 0.12 * len(unseen)  # people who have not met say some things in the same words


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_book_for_one_hand_leaves_out_that_hand_alone(code):
    whole = phrases(code)
    for number in hands.learnt(code):
        rest = phrases(code, without=number)
        assert len(rest) + len(hands.said(code, number)) == len(whole)
        assert {heading for heading, _ in rest} <= set(HEADINGS)


def test_gaps_of_a_book_are_filled_with_a_pronoun_in_its_case():
    said = dict.fromkeys(line for _, line in hands.said("uk", hands.HALF))
    assert "я за неї" in said
    assert "я проти неї" in said
    assert not [line for line in said if "{" in line]


def test_texts_are_written_in_the_words_of_the_hand():
    tables_of = hands.hand("en", hands.UNSEEN)
    posts = sample(tables_of, 200, 1).posts
    neutral = [re.split(r"\{\w+\}", line)[0] for line in tables_of.phrases["stance.neutral"]]
    assert sum(any(words and words.lower() in post.lower() for words in neutral) for post in posts) > 10
