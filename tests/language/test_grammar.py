"""What residents write."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_by_one import write

from simflow.errors import BadInput
from simflow.plan import Language, Topic
from simflow.world.language import ASPECTS, CODES, LEVELS, Grammar, level, phrases

TOPICS = {
    "en": (Topic("water tariff", words=("tariff", "water bill")), Topic("council trust", words=("council",)), Topic("remote work")),
    "pt": (Topic("tarifa da água", words=("tarifa",)), Topic("trabalho remoto")),
    "es": (Topic("tarifa del agua", words=("tarifa",)), Topic("teletrabajo")),
    "uk": (Topic("тариф на воду", words=("тариф",)), Topic("дистанційна робота")),
}


def asked(code: str, n: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["post", "reply", "quote"], n, p=[0.55, 0.33, 0.12]).tolist()
    relations = np.where(np.array(kinds) == "post", 2, rng.choice([1, 0, -1], n)).astype(np.int8)
    topics = rng.integers(0, len(TOPICS[code]), n).astype(np.int16)
    return rng.integers(0, 2**62, n), kinds, topics, rng.uniform(-1, 1, n), relations


@pytest.fixture(params=CODES)
def code(request):
    return request.param


@pytest.mark.parametrize("split", ["all", "train", "held_out"])
def test_99_of_100_texts_are_distinct(code, split):
    texts = Grammar(Language(code=code, split=split), TOPICS[code], 7).write(*asked(code, 10_000)).text
    assert len(set(texts)) >= 9_900


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.permutations(range(40)), st.integers(1, 39))
def test_a_text_depends_on_its_own_key_alone(seed, order, cut):
    keys, kinds, topics, stances, relations = asked("en", 40, seed)
    grammar = Grammar(Language(typo=0.3, code_switch=0.2), TOPICS["en"], seed)
    whole = grammar.write(keys, kinds, topics, stances, relations)
    again: dict[int, tuple[str, int, int]] = {}
    for chosen in (order[:cut], order[cut:]):
        part = grammar.write(keys[chosen], [kinds[i] for i in chosen], topics[chosen], stances[chosen], relations[chosen])
        again |= dict(zip(chosen, zip(part.text, part.argument.tolist(), part.side.tolist(), strict=True), strict=True))
    assert [again[i] for i in range(40)] == list(zip(whole.text, whole.argument.tolist(), whole.side.tolist(), strict=True))


AWKWARD = (Topic("The Old Bridge"), Topic("Who pays? All of us do", words=("what?!", "iPads.", "#tag it", "a {x} in a {t}")), Topic("X"))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(CODES),
    st.sampled_from(["all", "train", "held_out"]),
    st.sampled_from(
        [{}, {"typo": 0.3, "code_switch": 0.3}, {"ellipsis": 1.0, "sarcasm": 0.5}, {"negation": 1.0, "hedge": 1.0, "ellipsis": 0.0}]
    ),
    st.integers(0, 2**40),
    st.integers(0, 80),
)
def test_texts_are_those_that_are_written_one_clause_after_the_other(code, split, dials, seed, n):
    rng = np.random.default_rng(seed)
    language, topics = Language(code=code, split=split, **dials), (*TOPICS[code], *AWKWARD)
    kinds = rng.choice(["post", "reply", "quote", "message", "group"], n).tolist()
    stances = rng.choice([-1.0, -0.55, -0.15, 0.0, 0.15, 0.55, rng.uniform(-1, 1)], n)
    asking = (
        rng.integers(0, 2**62, n),
        kinds,
        rng.integers(0, len(topics), n).astype(np.int16),
        stances,
        rng.integers(-1, 3, n).astype(np.int8),
    )
    got = Grammar(language, topics, seed).write(*asking)
    assert list(zip(got.text, got.argument.tolist(), got.side.tolist(), strict=True)) == write(language, topics, seed, *asking)


def test_another_seed_writes_other_texts(code):
    first, second = (Grammar(Language(code=code), TOPICS[code], seed).write(*asked(code, 300)).text for seed in (1, 2))
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 10


def test_no_gap_is_left_open_and_sentences_are_well_formed(code):
    for text in Grammar(Language(code=code, code_switch=0.1), TOPICS[code], 3).write(*asked(code, 4_000)).text:
        assert not re.search(r"[{}]|\s\s|\s[.,;:!?]|[,;:]\.|\.\.", text), text
        assert text[-1] in ".!?", text
        assert text[0] in "#“«¿¡" or text[0].isupper(), text
        assert not any(after.islower() for after in re.findall(r"[.!?] (.)", text)), text


def test_every_text_but_the_elliptical_names_its_topic(code):
    asking = asked(code, 3_000)
    texts = Grammar(Language(code=code, ellipsis=0.0), TOPICS[code], 3).write(*asking).text
    for text, index in zip(texts, asking[2], strict=True):
        topic = TOPICS[code][index]
        names = [topic.name, *topic.words, "#" + "".join(topic.name.split())]
        assert any(name.lower() in text.lower() for name in names), text


def test_ellipsis_leaves_the_topic_of_answers_to_be_understood():
    asking = asked("en", 3_000)
    texts = Grammar(Language(ellipsis=1.0), (Topic("zebra crossing"),), 3).write(*asking[:2], asking[2] * 0, *asking[3:]).text
    named = [("zebra" in text.lower()) for text in texts]
    assert all(named[i] == (asking[1][i] == "post") for i in range(3_000))


def _base(clause: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\{\w+\}", clause)), re.IGNORECASE)


@pytest.mark.parametrize("value", [-0.9, -0.3, 0.0, 0.3, 0.9])
def test_the_stance_clause_has_the_strength_that_was_asked_for(code, value):
    n = 400
    keys = np.arange(n)
    grammar = Grammar(Language(code=code, negation=0, sarcasm=0, hedge=0, split="train"), TOPICS[code], 5)
    texts = grammar.write(keys, ["post"] * n, np.zeros(n, np.int16), np.full(n, value), np.full(n, 2, np.int8)).text
    clauses = [_base(clause) for clause in phrases(code, "train")[f"stance.{LEVELS[level(value)]}"]]
    assert all(any(clause.search(text) for clause in clauses) for text in texts)


def test_truth_names_the_argument_that_was_written(code):
    keys, kinds, topics, stances, relations = asked(code, 1_500)
    out = Grammar(Language(code=code), TOPICS[code], 5).write(keys, kinds, topics, stances, relations)
    tables = {half: phrases(code, half) for half in ("train", "held_out")}
    for text, argument, side in zip(out.text, out.argument, out.side, strict=True):
        if argument < 0:
            assert side == 0
            continue
        table = f"{('open', 'pro', 'con')[side]}.{ASPECTS[argument]}"
        assert any(_base(clause).search(text) for half in tables.values() for clause in half[table]), (text, table)


def test_the_side_of_an_argument_follows_the_stance():
    keys, kinds, topics, stances, relations = asked("en", 2_000)
    out = Grammar(Language(), TOPICS["en"], 5).write(keys, kinds, topics, stances, relations)
    levels = np.array([level(x) for x in stances])
    stated = out.argument >= 0
    assert np.array_equal(out.side[stated], np.sign(levels - 2)[stated])
    assert set(out.argument[stated].tolist()) == set(range(len(ASPECTS)))


def test_halves_share_no_phrase_and_hold_the_same_tables(code):
    train, held_out = phrases(code, "train"), phrases(code, "held_out")
    assert train.keys() == held_out.keys() == phrases("en", "train").keys()
    for name in train.keys() - {"pronouns", "subjects"}:
        assert train[name]
        assert held_out[name]
        assert not set(train[name]) & set(held_out[name]), name
    everything = [p for half in (train, held_out) for name, table in half.items() if name != "pronouns" for p in table]
    assert len(everything) == len(set(everything))


def test_a_split_writes_only_its_own_half(code):
    other = [_base(clause) for name, table in phrases(code, "held_out").items() if name.startswith("stance.") for clause in table]
    own = [_base(clause) for name, table in phrases(code, "train").items() if name.startswith("stance.") for clause in table]
    dials = {"negation": 0, "sarcasm": 0, "ellipsis": 0}
    for text in Grammar(Language(code=code, split="train", **dials), TOPICS[code], 5).write(*asked(code, 500)).text:
        assert any(clause.search(text) for clause in own), text
        assert len([c for c in other if c.search(text)]) == 0 or any(c.search(text) for c in own)


@pytest.mark.parametrize("dial", ["hedge", "negation", "sarcasm", "ellipsis", "typo", "code_switch"])
def test_each_dial_changes_texts_and_a_higher_one_changes_more(code, dial):
    asking = asked(code, 1_000)
    texts = [Grammar(Language(code=code, **{dial: share}), TOPICS[code], 5).write(*asking).text for share in (0.0, 0.3, 1.0)]
    few, many = (sum(a != b for a, b in zip(texts[0], other, strict=True)) for other in texts[1:])
    assert 20 < few < many


def test_typing_errors_spare_tags():
    topics = (Topic("zebra crossing"),)
    asking = asked("en", 3_000)
    texts = Grammar(Language(typo=1.0), topics, 3).write(*asking[:2], asking[2] * 0, *asking[3:]).text
    tags = [word for text in texts for word in text.split() if word.startswith("#")]
    assert tags
    assert all(re.fullmatch(r"#zebracrossing\W*", tag) for tag in tags)


def test_a_topic_of_any_shape_can_be_named():
    topics = (Topic("The Old Bridge"), Topic("Should phones be banned in schools?"), Topic("X"), Topic("the recovery plan"))
    n = 400
    texts = Grammar(Language(), topics, 3).write(
        np.arange(n), ["post"] * n, np.arange(n, dtype=np.int16) % 4, np.full(n, 0.5), np.full(n, 2, np.int8)
    )
    assert not any("the the" in text.lower() or "plan plan" in text.lower() for text in texts.text)
    assert not any(re.search(r"(on|about|for|regarding|of|re) Old Bridge", text) for text in texts.text)


def test_a_long_name_stands_in_one_pair_of_quotation_marks(code):
    n = 600
    topics = (Topic("one two three four five"),)
    texts = Grammar(Language(code=code), topics, 3).write(
        np.arange(n), ["post"] * n, np.zeros(n, np.int16), np.linspace(-1, 1, n), np.full(n, 2)
    )
    named = re.findall(r"([“«]*)one two three four five([”»]*)", "\n".join(texts.text))
    assert len(named) > n / 2
    assert {(len(before), len(after)) for before, after in named} == {(1, 1)}


@pytest.mark.parametrize("half", ["train", "held_out"])
def test_nobody_is_said_to_say_what_only_the_writer_can_know(half):
    """An argument may stand behind "some say that", where an I would be somebody else."""
    said = [p for name, table in phrases("en", half).items() if name.startswith(("pro.", "con.")) for p in table]
    assert not [phrase for phrase in said if re.search(r"\b(I|I'm|my|me)\b", phrase)]


def test_braces_in_a_name_are_only_braces():
    n = 200
    texts = Grammar(Language(), (Topic("{t} or {x}"),), 3).write(
        np.arange(n), ["post"] * n, np.zeros(n, np.int16), np.full(n, 0.4), np.full(n, 2)
    )
    assert any("the {t} or {x} plan" in text for text in texts.text)


def test_an_unknown_topic_or_language_is_refused():
    with pytest.raises(BadInput, match="topic"):
        Grammar(Language(), TOPICS["en"], 1).write(np.arange(1), ["post"], np.array([9], np.int16), np.zeros(1), np.array([2], np.int8))
    with pytest.raises(BadInput, match="writes no 'xx'"):
        Grammar(Language(code="xx"), TOPICS["en"], 1)


def test_nothing_to_write_is_fine():
    out = Grammar(Language(), TOPICS["en"], 1).write(np.empty(0, np.int64), [], np.empty(0, np.int16), np.empty(0), np.empty(0, np.int8))
    assert out.text == []
