"""Imported conversations: which turns answer a question. Five arms, each a score for every turn, and their fusion.

A question about a conversation names people, uses other words than the answer, and is often answered a turn or two after the turn that it
resembles. So the fusion adds the standard scores of meaning and of words, lets neighbouring turns of a session share theirs, and adds what
the session as a whole and the graph say. All weights are the same for every data set; docs/memory.md has their measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simflow.memory.lexical import Lexicon, terms

Scores = npt.NDArray[np.float64]
HEAD = 5
ARMS = ("vector", "lexical", "recency", "graph", "hybrid")


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the fusion. meaning: of the vectors, against 1 - meaning of the words. near, next: what a turn gets from those 1 and 2 turns away.

    speaker: bonus for turns of somebody whom the question names. session: of the words of the whole session. graph: of the walk.
    spread: what the turns of a session lose, once one of them is among the best. alike: share of
    the best turn's meaning from which a turn answers about as well; among the first five, such turns are told newest first.
    """

    meaning: float = 0.6
    near: float = 0.3
    next: float = 0.15
    speaker: float = 0.6
    session: float = 0.2
    graph: float = 0.2
    spread: float = 2.5
    alike: float = 0.45


class Conversation:
    """The turns of one conversation, or of whatever was imported together, in order of time.

    texts: what was said. actors: who said it. sessions: any label; turns of one session are neighbours where they follow each other.
    vectors: float32[n, d] of unit length.
    """

    def __init__(
        self,
        texts: Sequence[str],
        actors: Sequence[str],
        sessions: Sequence[object],
        vectors: npt.NDArray[np.float32],
        *,
        weights: Weights | None = None,
    ) -> None:
        self.size = len(texts)
        self.weights = weights or Weights()
        self.vectors = vectors
        said = [terms(f"{actor} {text}") for actor, text in zip(actors, texts, strict=True)]
        self.lexicon = Lexicon(said)
        numbers: dict[object, int] = {}
        self.session: npt.NDArray[np.int64] = np.fromiter((numbers.setdefault(s, len(numbers)) for s in sessions), np.int64, self.size)
        whole: list[list[str]] = [[] for _ in numbers]
        for number, turn in zip(self.session.tolist(), said, strict=True):
            whole[number] += turn
        self._sessions = Lexicon(whole, b=0.75)
        self._speakers = {actor: frozenset(terms(actor)) for actor in dict.fromkeys(actors)}
        self._actors = np.array(list(actors), object)

    def arms(self, question: str, vector: npt.NDArray[np.float32], readable: float = 1.0) -> dict[str, Scores]:
        """Scores of every turn by arm. vector: the question's, of unit length.

        readable: how much of the question the embedder can read, 0..1: what it cannot read is left to the words.
        """
        asked = terms(question)
        meaning = (self.vectors @ vector).astype(np.float64)
        words = self.lexicon.scores(asked)
        walk = self._walk(asked, meaning, readable)
        return {
            "vector": meaning,
            "lexical": words,
            "recency": np.arange(self.size, dtype=np.float64),
            "graph": walk,
            "hybrid": self._fuse(asked, meaning, words, walk, readable),
            "alike": readable * _top(meaning) + (1 - readable) * _top(words),
        }

    def best(self, arms: Mapping[str, Scores], arm: str, top: int) -> npt.NDArray[np.int64]:
        """The `top` turns of an arm, best first; the fusion spreads them over sessions and tells the newest of what is the same first."""
        scores = arms[arm]
        if arm != "hybrid":
            return np.lexsort((-np.arange(self.size), -scores))[:top]
        return self._newest_first(self._spread(scores, top), arms["alike"])

    def _fuse(self, asked: Sequence[str], meaning: Scores, words: Scores, walk: Scores, readable: float) -> Scores:
        w = self.weights
        share = w.meaning * readable
        own = share * standard(meaning) + (1 - share) * standard(words)
        total = own + w.near * (self._shift(own, 1) + self._shift(own, -1)) + w.next * (self._shift(own, 2) + self._shift(own, -2))
        named = [actor for actor, words_of in self._speakers.items() if words_of and words_of <= set(asked)]
        if named and len(named) < len(self._speakers):
            total = total + w.speaker * np.isin(self._actors, named)
        session = standard(self._sessions.scores(asked)[self.session]) if self.size else words
        fused: Scores = total + w.session * session + w.graph * standard(np.log(walk + 1e-6))
        return fused

    def _shift(self, scores: Scores, by: int) -> Scores:
        out = np.zeros_like(scores)
        if self.size > abs(by):
            here, there = (slice(by, None), slice(None, -by)) if by > 0 else (slice(None, by), slice(-by, None))
            out[here] = np.where(self.session[here] == self.session[there], scores[there], 0.0)
        return out

    def _walk(self, asked: Sequence[str], meaning: Scores, readable: float, steps: int = 8) -> Scores:
        # A walk with restart over turns, the words they share, and the turns beside them: what is reached over a second hop.
        lexicon = self.lexicon
        rare = np.zeros(len(lexicon.ids))
        for term in set(asked):
            if term in lexicon.ids:
                rare[lexicon.ids[term]] = lexicon.rarity(term)
        seed = (1 - 0.4 * readable) * _share(self._said(_share(rare)))
        nearest = np.zeros(self.size)
        if self.size:
            top = np.argsort(-meaning, kind="stable")[:10]
            nearest[top] = np.maximum(meaning[top], 0)
        seed = seed + 0.4 * readable * _share(nearest)
        at = seed
        for _ in range(steps):
            shared = self._said(self._words(at))
            beside = (self._shift(at, 1) + self._shift(at, -1)) / 2
            at = 0.5 * seed + 0.5 * (0.6 * shared + 0.4 * beside)
        return at

    def _words(self, turns: Scores) -> Scores:
        # Each turn hands what it has to its words, rare ones first.
        lexicon = self.lexicon
        weight = lexicon.idf[lexicon.terms]
        total = np.bincount(lexicon.rows, weight, self.size)
        handed = turns[lexicon.rows] * weight / np.maximum(total[lexicon.rows], 1e-12)
        out: Scores = np.bincount(lexicon.terms, handed, len(lexicon.ids)).astype(np.float64)
        return out

    def _said(self, words: Scores) -> Scores:
        # Each word hands what it has to the turns that say it, in equal parts.
        lexicon = self.lexicon
        handed = (words / np.maximum(np.diff(lexicon.starts), 1))[lexicon.terms]
        out: Scores = np.bincount(lexicon.rows, handed, self.size).astype(np.float64)
        return out

    def _spread(self, scores: Scores, top: int) -> list[int]:
        left = list(np.lexsort((-np.arange(self.size), -scores))[: 10 * top])
        met: set[int] = set()
        chosen: list[int] = []
        while left and len(chosen) < top:
            best = max(left, key=lambda row: scores[row] - self.weights.spread * (int(self.session[row]) in met))
            left.remove(best)
            chosen.append(int(best))
            met.add(int(self.session[best]))
        return chosen

    def _newest_first(self, chosen: list[int], alike: Scores) -> npt.NDArray[np.int64]:
        # Of several statements that answer about as well, the newest is what holds. Only the head is put in order, so that what is
        # among the best five or ten stays among them.
        rows = np.array(chosen, np.int64)
        head = rows[:HEAD]
        if len(head):
            fitting = np.flatnonzero(alike[head] >= self.weights.alike * alike[head].max())
            rows[fitting] = np.sort(head[fitting])[::-1]
        return rows


def standard(scores: Scores) -> Scores:
    """Scores with mean 0 and standard deviation 1; zeros where they are all the same."""
    spread = float(scores.std()) if len(scores) else 0.0
    out: Scores = (scores - scores.mean()) / spread if spread > 1e-12 else np.zeros_like(scores)
    return out


def _top(scores: Scores) -> Scores:
    best = float(scores.max(initial=0.0))
    return scores / best if best > 0 else np.zeros_like(scores)


def _share(scores: Scores) -> Scores:
    total = float(scores.sum())
    return scores / total if total > 0 else scores
