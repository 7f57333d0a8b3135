"""What is learnt from phrases that a book does not know, and what a view of a sentence model adds to them."""

from __future__ import annotations

import numpy as np
import pytest

from simflow.evaluation import extract_hands as hands
from simflow.evaluation.extract import Item
from simflow.evaluation.extract_train import fit, phrases
from simflow.evaluation.extract_views import heard, unknown
from simflow.evaluation.extract_worlds import interval
from simflow.memory.extractors import wording
from simflow.ports import Passage


@pytest.mark.parametrize("part", ["stance", "answer"])
def test_each_phrase_is_read_once_beside_a_book_that_does_not_know_its_hand(monkeypatch, part):
    known = []
    whole = wording.load
    monkeypatch.setattr(wording, "load", lambda code, part, more=(): known.append(more) or whole(code, part, more))
    found = list(unknown("en", part))
    lines = [[line for heading, line in hands.said("en", number) if wording.belongs(heading, part)] for number in hands.learnt("en")]
    assert [one.line for one in found] == [line for table in lines for line in table]
    assert known == [tuple(phrases("en", without=number)) for number in hands.learnt("en")]


def test_what_is_fitted_tells_kinds_apart():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400)
    inputs = np.eye(4)[labels] + rng.normal(0, 0.1, (400, 4))
    table = fit(inputs, labels, kinds=4)
    assert table.shape == (5, 4)
    assert ((inputs @ table[:-1] + table[-1]).argmax(1) == labels).mean() == 1.0


def items(labels):
    return [Item(Passage(at, 0, "post", 1, "a", None, None, "x"), "opinion", "t", label) for at, label in enumerate(labels)]


def test_interval_of_what_is_all_right_is_one_and_of_chance_is_around_it():
    gold = [1, -1, 0, 1] * 50
    assert interval(items(gold), gold) == [1.0, 1.0]
    low, high = interval(items(gold), [1] * 200)
    assert low < 0.5 < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 200), abs=0.03)


def test_texts_with_two_findings_stay_together_in_the_interval():
    gold, said = [1, -1] * 100, [1] * 200
    alone = interval(items(gold), said)
    pairs = [Item(Passage(at // 2, 0, "post", 1, "a", None, None, "x"), "opinion", "t", label) for at, label in enumerate(gold)]
    assert interval(pairs, said) == [0.5, 0.5] != alone


def test_a_view_that_knows_the_label_is_heard_and_one_of_noise_is_not():
    rng = np.random.default_rng(1)
    kinds, fold = rng.integers(0, 4, 300), np.arange(300) % 5
    knows = heard(np.eye(4)[kinds], kinds, fold)
    guesses = heard(rng.normal(0, 0.1, (300, 4)), kinds, fold)
    real = kinds < 3
    assert (knows[real, 3:].argmax(1) == kinds[real]).all()
    assert np.abs(knows[~real, :3]).max() < 0.2
    assert (guesses[real, 3:].argmax(1) == kinds[real]).mean() < 0.6
