"""Words in the scope of a negator are other words, and each stands a little for the other side of the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simflow.memory.extractors import wording
from simflow.memory.extractors.lexicon import LANGUAGES, load
from simflow.memory.topics import stem

AGAINST, FOR = 0, 2


def stems(text):
    return tuple(stem(word) for word in text.split())


@pytest.mark.parametrize(
    ("code", "text", "reached"),
    [
        ("en", "we do not want buses here at night", [False, False, None, True, True, True, True, False]),
        ("en", "not only buses", [False, False, False]),
        ("en", "we want it not", [False, False, False, None]),
        ("uk", "я не проти", [False, None, True]),
    ],
)
def test_a_negator_reaches_the_words_behind_it(code, text, reached):
    assert load(code).reached(stems(text), 4) == reached


def test_what_denies_a_clause_is_found_by_its_end():
    lexicon = load("en")
    assert lexicon.after_raising(stems("i do not think that this helps")) == 4
    assert lexicon.after_raising(stems("this helps")) is None


def test_a_word_learnt_as_praise_speaks_against_once_it_is_negated():
    book = wording.Book([(stems("a splendid idea"), FOR), (stems("a dreadful idea"), AGAINST), (stems("buses run"), 1)] * 3, load("en"))
    plain, negated = (book.read(stems(text)).bayes for text in ("splendid", "not splendid"))
    assert plain.argmax() == FOR
    assert negated.argmax() == AGAINST
    assert book.read(stems("splendid"), (True,)).bayes == pytest.approx(negated, abs=1e-9)
    assert book.read(stems("not splendid"), (True, True)).bayes.argmax() == FOR


words = st.lists(st.sampled_from(["a", "bb", "splendid", "not", "never", "buses", "quickly"]), min_size=1, max_size=8)


@given(words, st.sampled_from(LANGUAGES))
def test_reach_is_that_of_a_naive_reading(said, code):
    lexicon = load(code)
    said = [stem(word) for word in said]
    negators = [
        at for at, word in enumerate(said) if word in lexicon.negators and (at + 1 == len(said) or said[at + 1] not in lexicon.only)
    ]
    naive = [
        None if at in negators else any(0 < at - n <= 4 + sum(n < m < at for m in negators) * 0 for n in negators)
        for at in range(len(said))
    ]
    assert lexicon.reached(said, 4) == naive


@given(st.lists(st.tuples(words, st.integers(0, 3)), min_size=2, max_size=12), words)
def test_a_book_is_a_function_of_its_phrases_whatever_their_order(phrases, said):
    rows = [(tuple(stem(w) for w in line), label) for line, label in phrases]
    one, other = (wording.Book(order, load("en")).read(tuple(said)) for order in (rows, rows[::-1]))
    assert np.allclose(one.bayes, other.bayes)
    assert one.like == pytest.approx(other.like)
