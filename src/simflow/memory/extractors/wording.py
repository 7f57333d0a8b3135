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
HEADINGS = {
    "for": ("stance", 2), "neutral": ("stance", 1), "against": ("stance", 0),
    "reason for": ("stance", 2), "reason open": ("stance", 1), "reason against": ("stance", 0),
    "agree": ("answer", 2), "mixed": ("answer", 1), "disagree": ("answer", 0),
}  # fmt: skip
"""What the headings of a phrase file mean: the part, and the class (0, 1, 2 for -1, 0, +1)."""
NEAREST, PREFIX, SMOOTHING = 7, 4, 0.3


class Wording(NamedTuple):
    """`bayes`: log-odds of -1, 0, +1, centred; `votes`: squared similarities of the nearest phrases, by label; both shape (3,). `like`: the best, 0..1."""

    bayes: Vector
    votes: Vector
    like: float


SILENT = Wording(np.zeros(3), np.zeros(3), 0.0)


class Book:
    """The phrases of one part (`stance` or `answer`) in one language."""

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
        totals = np.full(3, SMOOTHING * len(spread))
        counts = {name: np.bincount(self.labels[at], minlength=3) for name, at in self._where.items()}
        for count in counts.values():
            totals += count
        self._odds = {name: np.log((count + SMOOTHING) / totals) for name, count in counts.items()}
        self.read = lru_cache(maxsize=16384)(self._read)

    def _read(self, stems: tuple[str, ...]) -> Wording:
        names = [name for name in features(stems) if name in self._odds]
        if not names:
            return SILENT
        bayes = sum((self._odds[name] for name in names), np.zeros(3))
        near = np.zeros(len(self.labels))
        for name in names:
            near[self._where[name]] += self._weight[name] * self.rarity[name]
        unknown = math.log(1 + len(self.labels)) + 1
        near /= math.sqrt(sum(self.rarity.get(name, unknown) ** 2 for name in features(stems)))
        best = np.argsort(-near, kind="stable")[:NEAREST]
        votes = np.bincount(self.labels[best], weights=near[best] ** 2, minlength=3)
        return Wording(bayes - bayes.mean(), votes, float(near[best[0]]))


def features(stems: Sequence[str]) -> list[str]:
    """Names of what is there: stems, beginnings of longer ones, neighbours, and those with one word between."""
    ends = ["^", *stems, "$"]
    found = [f"1 {a}" for a in stems]
    found += [f"0 {a[:PREFIX]}" for a in stems if len(a) > PREFIX]
    found += [f"2 {a} {b}" for a, b in itertools.pairwise(ends)]
    found += [f"3 {a} {b}" for a, b in zip(stems, stems[2:], strict=False)]
    return sorted(set(found))


@cache
def load(code: str, part: str, more: tuple[tuple[str, str], ...] = ()) -> Book:
    """The book of one language that has a lexicon. part: `stance` or `answer`; more: further pairs of heading and phrase."""
    fillers = lexicon_of(code).fillers
    phrases = []
    for heading, line in (*lines(code), *more):
        where, label = HEADINGS[heading]
        if where == part:
            stems = tuple(s for w, _, _ in words(line) if (s := stem(w)) not in fillers)
            phrases.append((stems, label))
    return Book([pair for pair in phrases if pair[0]])


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
