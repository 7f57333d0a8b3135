"""What a clause sounds like: how near it is to phrases that people use for and against a plan, and to each other.

Two plain readings of the same features (stems, pairs of them, beginnings of long ones), made anew from `phrases/*.txt` and from what the model knows
beside them when a language is first read: naive Bayes, which weighs every word, and the nearest phrases, which know whole expressions. Nothing is
random. A word in the scope of a negator is another word, and a little of what each of the two says counts for the other, turned round.
Sources: McCallum & Nigam 1998 (multinomial event model), Cover & Hart 1967 (nearest neighbours), Das & Chen 2001 (negated words).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simflow.memory.extractors.lexicon import Lexicon
from simflow.memory.extractors.lexicon import load as lexicon_of
from simflow.memory.topics import stem, words

Vector = npt.NDArray[np.float64]
ASIDE = 3
"""Label of what says neither: greetings, openings, what people tell of themselves; and, where answers are read, all that is no answer."""
HEADINGS = {
    "for": 2, "neutral": 1, "against": 0, "reason for": 2, "reason open": 1, "reason against": 0, "aside": ASIDE,
    "agree": 2, "mixed": 1, "disagree": 0,
}  # fmt: skip
"""What the headings of a phrase file mean: 0, 1, 2 for -1, 0, +1."""
ANSWERS = frozenset({"agree", "mixed", "disagree"})
NEAREST, SHARP, PREFIX, SMOOTHING, SOBER, MOST = 7, 4, 4, 0.3, 2.0, 4.0
"""Phrases that vote; the power of likeness that they vote with; letters of a beginning; of naive Bayes: the count added, the divisor that makes it less sure of itself, the most one clause can say."""
SCOPE, TURNED = 4, 0.3
"""Words that a negator reaches, and how much of a word's count stands for the word negated, for the other side (and the other way round)."""
_TWINS = {"1": "-1", "-1": "1", "0": "-0", "-0": "0"}


class Wording(NamedTuple):
    """`bayes`: log-odds of -1, 0, +1, centred; `votes`: votes of the nearest phrases, by label; both shape (3,). `like`: the best, 0..1.

    All three are the smaller the likelier it is that the clause is an aside.
    """

    bayes: Vector
    votes: Vector
    like: float


SILENT = Wording(np.zeros(3), np.zeros(3), 0.0)


class Book:
    """The phrases of one part (`stance` or `answer`) in one language, as stems with their labels. lexicon: knows the negators; None for no language."""

    def __init__(self, phrases: Sequence[tuple[tuple[str, ...], int]], lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon
        self.labels = np.array([label for _, label in phrases], np.int64)
        rows = [self._features(stems) for stems, _ in phrases]
        self._ids = {name: at for at, name in enumerate(dict.fromkeys(itertools.chain.from_iterable(rows)))}
        known = len(self._ids)
        feature = np.array([self._ids[name] for row in rows for name in row], np.int64)
        phrase = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        spread = np.bincount(feature, minlength=known)
        self._rarity = np.log((1 + len(rows)) / (1 + spread)) + 1
        lengths = np.sqrt(np.bincount(phrase, self._rarity[feature] ** 2, minlength=len(rows)))
        # What each feature stands in, one after another: phrases, and its share of their lengths.
        order = np.argsort(feature, kind="stable")
        self._phrase, self._share = phrase[order], (self._rarity[feature] ** 2 / lengths[phrase])[order]
        self._begin = np.concatenate([[0], np.cumsum(spread)])
        counts = np.bincount(4 * feature + self.labels[phrase], minlength=4 * known).reshape(known, 4).astype(np.float64)
        counts = self._turned(counts)
        self._odds = np.log((counts + SMOOTHING) / (counts.sum(axis=0) + SMOOTHING * len(counts)))
        self.read = lru_cache(maxsize=16384)(self._read)

    def _turned(self, counts: Vector) -> Vector:
        # With a share of the counts of each word's twin: for what is negated against is for, and the other way round. Twins get places of their own.
        known = len(counts)
        pairs = [
            (at, self._ids.setdefault(f"{_TWINS[kind]} {word}", len(self._ids)))
            for name, at in list(self._ids.items())
            for kind, _, word in [name.partition(" ")]
            if kind in _TWINS
        ]
        found = np.zeros((len(self._ids), 4))
        found[:known] = counts
        if pairs:
            one, twin = np.array(pairs).T
            # Each name has one twin, so no place is written twice.
            found[twin, :3] += TURNED * counts[one][:, 2::-1]
        return found

    def _features(self, stems: Sequence[str], denied: Sequence[bool] = ()) -> list[str]:
        reached = self._lexicon.reached(stems, SCOPE) if self._lexicon else [False] * len(stems)
        if any(denied):
            reached = [one if one is None else one != other for one, other in zip(reached, denied, strict=True)]
        return features(stems, reached)

    def _read(self, stems: tuple[str, ...], denied: tuple[bool, ...] = ()) -> Wording:
        # denied: of each stem, whether the clause around it was denied as a whole.
        names = self._features(stems, denied)
        known = [at for name in names if (at := self._ids.get(name)) is not None]
        if not known:
            return SILENT
        bayes = self._odds[known].sum(axis=0)
        shares = np.exp((bayes - bayes.max()) / SOBER)
        serious = float(1 - shares[ASIDE] / shares.sum())
        said = [at for at in known if at < len(self._rarity)]
        near = np.zeros(len(self.labels))
        for at in said:
            here = slice(self._begin[at], self._begin[at + 1])
            near[self._phrase[here]] += self._share[here]
        unknown = (math.log(1 + len(self.labels)) + 1) ** 2
        near /= math.sqrt((self._rarity[said] ** 2).sum() + unknown * (len(names) - len(said)))
        best = np.argsort(-near, kind="stable")[:NEAREST]
        votes = np.bincount(self.labels[best], weights=near[best] ** SHARP, minlength=4)
        sides = np.clip(bayes[:3] - bayes[:3].mean(), -MOST, MOST)
        like = float(near[best[self.labels[best] != ASIDE]].max(initial=0.0))
        return Wording(sides * serious, np.asarray(votes[:3] * serious, np.float64), like * serious)


def features(stems: Sequence[str], reached: Sequence[bool | None] = ()) -> list[str]:
    """Names of what is there: stems, beginnings of longer ones, neighbours, and those with one word between.

    reached: of each stem, whether a negator reaches it; None for a negator, which says nothing alone.
    """
    ends = ["^", *stems, "$"]
    found = []
    for word, turned in zip(stems, reached or [False] * len(stems), strict=True):
        if turned is None:
            continue
        sign = "-" if turned else ""
        found.append(f"{sign}1 {word}")
        if len(word) > PREFIX:
            found.append(f"{sign}0 {word[:PREFIX]}")
    found += [f"2 {a} {b}" for a, b in itertools.pairwise(ends)]
    found += [f"3 {a} {b}" for a, b in zip(stems, stems[2:], strict=False)]
    return sorted(set(found))


class Entry(NamedTuple):
    """One phrase of a book: as it is written, its stems, its label, and the heading that it stands under."""

    line: str
    stems: tuple[str, ...]
    label: int
    heading: str


@cache
def load(code: str, part: str, more: tuple[tuple[str, str], ...] = ()) -> Book:
    """The book of one language that has a lexicon. part: `stance` or `answer`; more: further pairs of heading and phrase."""
    return Book([(entry.stems, entry.label) for entry in entries(code, part, more)], lexicon_of(code))


def entries(code: str, part: str, more: Sequence[tuple[str, str]] = ()) -> list[Entry]:
    """What a book is made of, in the order of its file."""
    fillers = lexicon_of(code).fillers
    found = [
        Entry(line, tuple(s for w, _, _ in words(line) if (s := stem(w)) not in fillers), HEADINGS[heading], heading)
        for heading, line in (*lines(code), *more)
        if belongs(heading, part)
    ]
    return [entry for entry in found if entry.stems]


def belongs(heading: str, part: str) -> bool:
    """Whether the phrases under a heading stand in the book of a part; asides stand in both."""
    return heading == "aside" or (heading in ANSWERS) == (part == "answer")


def lines(code: str) -> list[tuple[str, str]]:
    """(heading, phrase) of a language's file."""
    found: list[tuple[str, str]] = []
    heading = ""
    for raw in (resources.files(__package__) / "phrases" / f"{code}.txt").read_text(encoding="utf-8").splitlines():
        line = raw.strip()
        if line.startswith("["):
            heading = line[1:-1]
        elif line and not line.startswith("#"):
            found.append((heading, line))
    return found
