"""What the books of the extractor say of their own phrases, each read beside the rest without its neighbours: words as new as a reader's are.

Phrases that stand together are often forms of one, so whole blocks are left out together (Stone 1974, cross-validation; Wolpert 1992, stacking).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simflow.memory.extractors import features, wording
from simflow.memory.extractors.lexicon import Lexicon

BLOCK, FOLDS = 8, 5
"""Phrases under one heading that are left out together, and parts that a book is cut into."""


class Unknown(NamedTuple):
    """A phrase, read beside a book that knows neither it nor its block; which fold it was left out in."""

    entry: wording.Entry
    reading: features.Reading
    fold: int

    @property
    def label(self) -> int:
        """0, 1, 2 for -1, 0, +1; an aside says neither."""
        return 1 if self.entry.label == wording.ASIDE else self.entry.label


def folds(code: str, part: str) -> list[tuple[wording.Entry, int]]:
    """Every phrase of a book, and the fold that it is left out in."""
    at: dict[str, int] = {}
    found = []
    for entry in wording.entries(code, part):
        number = at.get(entry.heading, 0)
        at[entry.heading] = number + 1
        found.append((entry, number // BLOCK % FOLDS))
    return found


def unknown(lexicon: Lexicon, part: str) -> Iterator[Unknown]:
    """The phrases of one language's book, each as a text that the book does not know. lexicon: the cues that are heard in them."""
    pairs = folds(lexicon.code, part)
    for left_out in range(FOLDS):
        book = wording.Book([(entry.stems, entry.label) for entry, fold in pairs if fold != left_out])
        for entry, fold in pairs:
            if fold == left_out:
                read = features.stance(entry.line, lexicon, book=book) if part == "stance" else features.answer(entry.line, lexicon, book)
                yield Unknown(entry, read, fold)
