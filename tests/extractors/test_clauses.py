"""Words that look alike without their endings or accents are told apart where they decide how a text is cut."""

from __future__ import annotations

import pytest

from simflow.memory.extractors import features, model
from simflow.memory.extractors.lexicon import load
from simflow.memory.topics import stem, words


def side(code: str, text: str, topic: str) -> int:
    known = model.load()
    read = features.stance(text, load(code), (topic,), known.book(code, "stance"))
    return int(known.probabilities("stance", read.numbers).argmax()) - 1


@pytest.mark.parametrize(
    ("code", "text", "topic", "said"),
    [
        ("uk", "Я не проти ідеї «тариф на воду».", "тариф на воду", 1),
        ("uk", "Нічого не маю проти тарифу на воду.", "тариф на воду", 1),
        ("uk", "Я проти тарифу на воду.", "тариф на воду", -1),
        ("en", "I do not see why anybody would be against the night buses.", "night buses", 1),
        ("en", "I do not see why anybody would support the night buses.", "night buses", -1),
    ],
)
def test_negation_reaches_the_word_that_it_negates(code, text, topic, said):
    assert side(code, text, topic) == said


@pytest.mark.parametrize(
    ("code", "text", "parts"),
    [
        ("uk", "Я не проти цього", 1),
        ("uk", "Я за це, проте не все так просто", 2),
        ("es", "Esto cuesta más que antes", 1),
        ("es", "Lo apoyo, pero cuesta más", 2),
    ],
)
def test_only_a_contrast_cuts_a_clause(code, text, parts):
    assert len(features.clauses(text, load(code))) == parts


@pytest.mark.parametrize(
    ("code", "text", "conceded"),
    [
        ("en", "I support it, although it costs a lot", [False, True]),
        ("en", "It costs a lot but I support it", [True, False]),
        ("es", "Lo apoyo, aunque cuesta mucho", [False, True]),
        ("uk", "Я за це, хоча це дорого", [False, True]),
        ("uk", "Це дорого та несправедливо", [False]),
    ],
)
def test_what_although_opens_is_conceded_and_not_what_stands_before_it(code, text, conceded):
    assert [given for _, given in features.clauses(text, load(code))] == conceded


def test_not_only_negates_nothing():
    lexicon = load("en")

    def heard(text):
        return [cue.value for cue in lexicon.cues([stem(w) for w, _, _ in words(text)], "judgement")]

    assert heard("it is not only unfair") == heard("it is unfair") != heard("it is not unfair")
