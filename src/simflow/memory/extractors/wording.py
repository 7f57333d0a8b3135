"""What a clause sounds like: how near it is to phrases that people use for and against a plan, and to each other.

Two plain readings of the same features (stems, pairs of them, beginnings of long ones), made anew from `phrases/*.txt` when a language is first
read: naive Bayes, which weighs every word, and the nearest phrases, which know whole expressions. Nothing is stored and nothing is random.
Sources: McCallum & Nigam 1998 (multinomial event model), Cover & Hart 1967 (nearest neighbours).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


class Wording(NamedTuple):
    """`bayes`: log-odds of -1, 0, +1, centred; `votes`: votes of the nearest phrases, by label; both shape (3,). `like`: the best, 0..1.

    All three are the smaller the likelier it is that the clause is an aside.
    """

    bayes: Vector
    votes: Vector
    like: float


SILENT = Wording(np.zeros(3), np.zeros(3), 0.0)


class Book:
    """The phrases of one part (`stance` or `answer`) in one language, as stems with their labels."""

    def __init__(self, phrases: Sequence[tuple[tuple[str, ...], int]]) -> None:
        rows = [features(stems) for stems, _ in phrases]
        self.labels = np.array([label for _, label in phrases])
        spread = Counter(name for row in rows for name in row)
        self.rarity = {name: math.log((1 + len(rows)) / (1 + n)) + 1 for name, n in spread.items()}
        lengths = [math.sqrt(sum(self.rarity[name] ** 2 for name in row)) for row in rows]
        lists: dict[str, list[int]] = {}
        for at, row in enumerate(rows):
            for name in row:
                lists.setdefault(name, []).append(at)
        self._where = {name: np.array(at) for name, at in lists.items()}
        self._weight = {name: np.array([self.rarity[name] / lengths[i] for i in at]) for name, at in lists.items()}
        counts = {name: np.bincount(self.labels[at], minlength=4) for name, at in self._where.items()}
        totals = np.sum(list(counts.values()), axis=0) + SMOOTHING * len(spread)
        self._odds = {name: np.log((count + SMOOTHING) / totals) for name, count in counts.items()}
        self.read = lru_cache(maxsize=16384)(self._read)

    def _read(self, stems: tuple[str, ...]) -> Wording:
        names = features(stems)
        known = [name for name in names if name in self._odds]
        if not known:
            return SILENT
        bayes = sum((self._odds[name] for name in known), np.zeros(4))
        shares = np.exp((bayes - bayes.max()) / SOBER)
        serious = float(1 - shares[ASIDE] / shares.sum())
        near = np.zeros(len(self.labels))
        for name in known:
            near[self._where[name]] += self._weight[name] * self.rarity[name]
        unknown = math.log(1 + len(self.labels)) + 1
        near /= math.sqrt(sum(self.rarity.get(name, unknown) ** 2 for name in names))
        best = np.argsort(-near, kind="stable")[:NEAREST]
        votes = np.bincount(self.labels[best], weights=near[best] ** SHARP, minlength=4)
        sides = np.clip(bayes[:3] - bayes[:3].mean(), -MOST, MOST)
        like = float(near[best[self.labels[best] != ASIDE]].max(initial=0.0))
        return Wording(sides * serious, np.asarray(votes[:3] * serious, np.float64), like * serious)


def features(stems: Sequence[str]) -> list[str]:
    """Names of what is there: stems, beginnings of longer ones, neighbours, and those with one word between."""
    ends = ["^", *stems, "$"]
    found = [f"1 {a}" for a in stems]
    found += [f"0 {a[:PREFIX]}" for a in stems if len(a) > PREFIX]
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
    return Book([(entry.stems, entry.label) for entry in entries(code, part, more)])


def entries(code: str, part: str, more: Sequence[tuple[str, str]] = ()) -> list[Entry]:
    """What a book is made of, in the order of its file."""
    fillers = lexicon_of(code).fillers
    found = [
        Entry(line, tuple(s for w, _, _ in words(line) if (s := stem(w)) not in fillers), HEADINGS[heading], heading)
        for heading, line in (*lines(code), *more)
        if heading == "aside" or (heading in ANSWERS) == (part == "answer")
    ]
    return [entry for entry in found if entry.stems]


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
