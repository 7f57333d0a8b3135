"""The arm of words, what is left out of a block because it is quoted or told, and the newest words of whom a situation names."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simflow.memory.history import History, segment
from simflow.memory.lexical import K1, B, hashed, rate, terms
from simflow.memory.recall import Scope, episode_arm
from simflow.memory.topics import Gazetteer
from simflow.plan import Memory, Topic

SAID = st.lists(st.sampled_from(["leaks", "pipes", "bills", "buses", "night", "council", "the", "of"]), max_size=12).map(" ".join)


def naive(query, documents):
    """BM25 as it is written down, document by document."""
    said = [Counter(terms(d)) for d in documents]
    mean = sum(sum(c.values()) for c in said) / max(len(said), 1)
    scores = []
    for counts in said:
        total = 0.0
        for term in set(terms(query)):
            holders = sum(term in c for c in said)
            rarity = math.log(1 + (len(said) - holders + 0.5) / (holders + 0.5))
            norm = K1 * (1 - B + B * sum(counts.values()) / mean) if mean else 1.0
            total += rarity * counts[term] * (K1 + 1) / (counts[term] + norm)
        scores.append(total)
    return scores


@given(query=SAID, documents=st.lists(SAID, max_size=8))
def test_words_are_rated_as_bm25_is_written_down(query, documents):
    places, hashes = hashed(documents)
    assert rate(query, len(documents), places.astype(np.int64), hashes) == pytest.approx(naive(query, documents))


@given(documents=st.lists(SAID, min_size=1, max_size=9), cut=st.integers(0, 9), data=st.data())
def test_a_history_gives_back_the_words_of_any_rows(documents, cut, data):
    parts = []
    for at in (documents[:cut], documents[cut:]):
        size = len(at)
        start = len(documents) - size if parts else 0
        zeros = np.zeros(size, np.int32)
        keys = np.arange(start, start + size, dtype=np.int64)
        parts.append(segment(keys, keys.astype(np.int32), zeros, zeros, np.ones((size, 4), np.float32), words=hashed(at)))
    history = History(parts)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(documents) - 1)))), np.int64)
    places, hashes = history.said(rows)
    expected_places, expected = hashed([documents[r] for r in rows])
    assert places.tolist() == expected_places.tolist()
    assert hashes.tolist() == expected.tolist()


def test_what_the_situation_quotes_is_no_memory(view):
    before = view.recall("cleo2", 120, "What of leaks?")
    seen = next(line for line in before.lines if line.kind == "episode")
    after = view.recall("cleo2", 120, f"{view.sentence(seen.episode)} You are about to answer.")
    assert seen.episode in before.episodes
    assert seen.episode not in after.episodes


def test_nothing_is_told_twice(view):
    for about in ("water and leaks", "What is being said about trains now?", "Where does Bob Ray stand on water?"):
        block = view.recall("cleo2", 150, about)
        assert len(block.episodes) == len(set(block.episodes))


def test_the_newest_words_of_whom_the_situation_names_are_told(view):
    block = view.recall("cleo2", 150, "Where does Bob Ray stand on water?")
    seen = set(view.witness.seen(2).before(150).tolist())
    rows = view.run.table("episodes").to_pylist()
    newest = max(r["tick"] for r in rows if r["actor"] == 1 and "water" in r["text"] and r["episode"] in seen)
    assert any(line.tick == newest and "@bob1 wrote" in line.text for line in block.lines)


@pytest.mark.parametrize("text", ["#watertariff is here", "#WaterTariff", "the water tariff", "Water_Tariff!"])
def test_a_topic_is_known_as_a_hashtag_has_it(text):
    topics = Gazetteer([Topic("night buses"), Topic("water tariff")])
    assert [m.topic for m in topics.find(text)] == [1]


def test_words_do_not_pass_over_what_was_not_witnessed(view):
    seen = set(view.witness.seen(0).before(150).tolist())
    block = view.recall("ann0", 150, "I oppose trains, think of garden budget summer mayor")
    assert set(block.episodes) <= seen


def told(texts, about, topics=(), of=()):
    """Rows of a history that the arm of episodes tells, best first. of: (row, topic)."""
    size = len(texts)
    keys, zeros = np.arange(size, dtype=np.int64), np.zeros(size, np.int32)
    pairs = np.array(of, np.int64).reshape(-1, 2)
    part = segment(keys, keys.astype(np.int32), zeros, zeros, np.ones((size, 4), np.float32) / 2, topics=pairs, words=hashed(texts))
    settings = Memory(mode="hybrid", top=size, half_life=1e9)
    scope = Scope(size, None, np.arange(size, dtype=np.int64))
    lines = episode_arm(History([part]), np.ones(4, np.float32) / 2, about, scope, settings, str, lambda row: texts[row], topics=topics)
    return [line.episode for line in lines]


def test_a_sentence_that_several_say_word_for_word_tells_nothing_apart():
    opener = "I walked along the river this morning and thought about everything."
    texts = [
        f"{opener} Buses should run at night.",
        "Old pipes burst in winter.",
        f"{opener} My cat is ill.",
        *(f"Number {n} of many." for n in range(9)),
    ]
    about = f'@ann wrote: "{opener} The pipes of this town are old." You are about to answer.'
    assert told(texts, about)[0] == 1


def test_what_is_on_the_situations_topic_comes_first():
    texts = ["The council met on Monday.", "The council met on Tuesday.", "Nobody came."]
    assert told(texts, "What did the council say?")[-1] == 2
    assert told(texts, "What did the council say?", topics=[7], of=[(2, 7)])[0] == 2
