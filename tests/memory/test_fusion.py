from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.memory.embedders.sentence import latin
from simflow.memory.fusion import ARMS, HEAD, Conversation, Weights, standard
from simflow.memory.lexical import Lexicon, plain_terms, terms
from simflow.memory.vectors import readable


def conversation(turns, **weights):
    """Turns as (actor, session, text); vectors as counts of letters."""
    texts = [text for _, _, text in turns]
    return Conversation(texts, [a for a, _, _ in turns], [s for _, s, _ in turns], letters(texts), weights=Weights(**weights))


def letters(texts):
    counts = np.array([[t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts], np.float32).reshape(-1, 26)
    return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def ask(talk, question, arm="hybrid", top=10):
    return talk.best(talk.arms(question, letters([question])[0]), arm, top).tolist()


TALK = [
    ("Ann", 1, "I bought a piano yesterday."),
    ("Bob", 1, "How lovely, what brand?"),
    ("Ann", 1, "A Steinway."),
    ("Bob", 2, "My garden is full of weeds."),
    ("Ann", 2, "Mine too, it rained a lot."),
    ("Bob", 3, "I sold my car."),
]


def test_a_turn_beside_the_one_that_resembles_the_question_is_found():
    plain = ask(conversation(TALK, near=0, next=0, session=0, graph=0, speaker=0, spread=0), "Which piano brand did she get?", top=3)
    near = ask(conversation(TALK, spread=0), "Which piano brand did she get?", top=3)
    assert 2 not in plain
    assert 2 in near


def test_whom_the_question_names_counts():
    with_name = ask(conversation(TALK), "What about Bob and the garden weeds rain?", top=2)
    assert TALK[with_name[0]][0] == "Bob"


def test_neighbours_end_at_the_session():
    talk = conversation([("a", 1, "x"), ("a", 1, "y"), ("a", 2, "z")])
    assert talk._shift(np.array([1.0, 2.0, 3.0]), 1).tolist() == [0, 1, 0]
    assert talk._shift(np.array([1.0, 2.0, 3.0]), -1).tolist() == [2, 0, 0]
    assert talk._shift(np.array([1.0, 2.0, 3.0]), 3).tolist() == [0, 0, 0]


def test_sessions_take_turns_among_the_best():
    turns = [("a", 1, f"red apple number {i}") for i in range(6)] + [("a", 2, "apples are eaten"), ("a", 3, "an apple tree")]
    chosen = ask(conversation(turns, spread=100), "red apple", top=3)
    assert {turns[row][1] for row in chosen} == {1, 2, 3}


def test_of_statements_that_answer_about_as_well_the_newest_is_told_first():
    turns = [("a", 1, "I have read 120 pages of the book."), ("a", 2, "Rain today."), ("a", 3, "I have read 200 pages of the book.")]
    assert ask(conversation(turns), "How many pages of the book have I read?")[0] == 2


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(st.tuples(st.sampled_from(["Ann", "Bob", "Cy"]), st.integers(0, 3), st.text("abc de", max_size=12)), max_size=30),
    question=st.text("abc deAnBob", max_size=20),
    top=st.integers(1, 12),
)
def test_each_arm_ranks_each_turn_at_most_once(turns, question, top):
    talk = conversation(turns)
    arms = talk.arms(question, letters([question])[0])
    for arm in ARMS:
        assert np.isfinite(arms[arm]).all()
        ranked = talk.best(arms, arm, top).tolist()
        assert len(ranked) == len(set(ranked)) == min(top, len(turns))


@settings(max_examples=60, deadline=None)
@given(scores=st.lists(st.floats(-5, 5), min_size=1, max_size=40), alike=st.floats(0.1, 0.9))
def test_telling_the_newest_first_keeps_the_best_five(scores, alike):
    talk = conversation([("a", i, "x") for i in range(len(scores))], alike=alike)
    chosen = list(range(len(scores)))
    told = talk._newest_first(chosen, np.array(scores)).tolist()
    assert sorted(told[:HEAD]) == chosen[:HEAD]
    assert told[HEAD:] == chosen[HEAD:]


def test_standard_scores_of_equals_are_zero():
    assert standard(np.ones(3)).tolist() == [0, 0, 0]
    assert standard(np.empty(0)).tolist() == []


def naive_bm25(documents, query, k1, b):
    mean = sum(map(len, documents)) / len(documents)
    out = []
    for document in documents:
        total = 0.0
        for term in query:
            n = sum(term in d for d in documents)
            f = document.count(term)
            if f:
                idf = np.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
                total += idf * f * (k1 + 1) / (f + k1 * (1 - b + b * len(document) / mean))
        out.append(total)
    return out


@settings(max_examples=80, deadline=None)
@given(
    documents=st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=12).filter(any),
    query=st.lists(st.sampled_from("abcdefg"), max_size=6),
    b=st.sampled_from([0.0, 0.4, 0.75]),
)
def test_postings_score_as_the_formula_does(documents, query, b):
    assert Lexicon(documents, b=b).scores(query) == pytest.approx(naive_bm25(documents, query, 1.2, b))


def test_terms_are_stems_without_words_that_say_nothing():
    assert terms("The songs are the song of Ann's pianos") == ["song", "song", "ann", "piano"]
    assert plain_terms("Don't 模型艺术 x") == ["don", "t", "模型", "型艺", "艺术", "x"]


def test_what_an_embedder_cannot_read_is_left_to_the_words():
    talk = conversation(TALK, near=0, next=0, session=0, speaker=0, spread=0)
    misled = letters(["garden weeds full"])[0]  # as an embedder may be by a language that it does not know
    question = "Which piano, a Steinway?"
    read, unread = (talk.best(talk.arms(question, misled, share), "hybrid", 2).tolist() for share in (1.0, 0.0))
    assert 3 in read
    assert set(unread) == {0, 2}


@pytest.mark.parametrize(("text", "share"), [("Olá, mañana", 1.0), ("模型艺术", 0.0), ("так ok", 0.4), ("12!", 1.0)])
def test_the_default_embedder_says_what_it_can_read(text, share):
    assert latin(text) == pytest.approx(share)


def test_an_embedder_that_says_nothing_reads_everything(words):
    assert readable(words, "模型艺术") == 1.0
