"""The phrases of a language on one shelf, and the pieces that a text is put together from: each made once, for all texts that share it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]

_GAP = re.compile(r"\{(\w+)\}")
_FIRST = re.compile(r"([.!?…]\s[^\w#@]*)([^\WA-Z])")
_OPEN = re.compile(r"[.!?…]\s[^\w#@]*\Z")
_BEFORE = ("", ".", ". ")
WITHIN, STOPPED, FRESH = range(3)
"""Where a piece begins: within a sentence, right behind a stop, at the beginning of a sentence."""


class Shelf:
    """Phrases by number, table after table. Tables of a second language stand behind those of the first."""

    def __init__(self, *shelves: Mapping[str, Sequence[str]]) -> None:
        self.phrases: list[str] = []
        self._places: list[dict[str, int]] = []
        first: list[int] = []
        size: list[int] = []
        for tables in shelves:
            self._places.append({name: len(first) + at for at, name in enumerate(tables)})
            for phrases in tables.values():
                first.append(len(self.phrases))
                size.append(len(phrases))
                self.phrases += phrases
        self._first, self._size = np.array(first), np.array(size, dtype=np.uint64)
        self.gaps = np.array([len(_GAP.findall(phrase)) for phrase in self.phrases])

    def tables(self, names: Sequence[str], shelf: int = 0) -> Ints:
        """Numbers of tables by name."""
        return np.array([self._places[shelf][name] for name in names])

    def pick(self, table: Ints | int, draw: Ints) -> Ints:
        """A phrase of each `table`, by draws in 0..2**32 - 1."""
        return self._first[table] + within(draw, self._size[table])


def within(draw: Ints, size: Ints | int) -> Ints:
    """Whole numbers below `size` from draws in 0..2**32 - 1."""
    return ((draw * np.asarray(size, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)


class Pieces:
    """Pieces of one place in a text, by a key that says all about them. make: the piece of a key, before capitals."""

    def __init__(self, make: Callable[[int], str]) -> None:
        self._make = make
        self._kept: tuple[Ints, Ints, Ints] = (np.array([-1]), np.array([""], object), np.zeros(1, np.int64))

    def take(self, keys: Ints, begin: Ints) -> tuple[Ints, Ints]:
        """The piece of each key, and where it leaves the text; `begin` is where it found it. Below 0: no piece."""
        asked = 3 * (keys + 1) + begin
        known, words, ends = self._kept
        at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        missing = asked[known[at] != asked]
        if len(missing):
            # On top of what this call found: another thread may have put something else there meanwhile.
            known, words, ends = self._kept = self._with((known, words, ends), np.unique(missing))
            at = np.searchsorted(known, asked)
        return words[at], ends[at]

    def _with(self, kept: tuple[Ints, Ints, Ints], new: Ints) -> tuple[Ints, Ints, Ints]:
        """(keys, pieces, where they leave the text): those of `kept` and the ones of `new`, by key."""
        known, words, ends = kept
        made = [capitals(self._make(key // 3 - 1) if key >= 3 else "", key % 3) for key in new.tolist()]
        keys = np.concatenate([known, new])
        order = np.argsort(keys, kind="stable")
        fresh = np.array([text for text, _ in made], object)
        return keys[order], np.concatenate([words, fresh])[order], np.concatenate([ends, [end for _, end in made]])[order]


def capitals(text: str, begin: int) -> tuple[str, int]:
    """`text` with a capital after each end of a sentence, but for words that begin with # or @; and where it leaves what follows."""
    before = _BEFORE[begin]
    whole = _FIRST.sub(lambda found: found[1] + found[2].upper(), before + text)
    end = FRESH if _OPEN.search(whole) else STOPPED if whole[-1:] in (".", "!", "?", "…") else WITHIN
    return whole[len(before) :], end


def ended(text: str) -> str:
    """With a stop at the end."""
    return text if text[-1] in ".!?…" else text.rstrip(",:; ") + "."


def fill(phrase: str, forms: Sequence[Mapping[str, str]]) -> str:
    """`phrase` with its gaps filled: the first from the first of `forms`, and so on; the last serves for all that follow."""
    parts = _GAP.split(phrase)
    for at in range(1, len(parts), 2):
        parts[at] = forms[min(at // 2, len(forms) - 1)][parts[at]]
    return "".join(parts)


def split(template: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(what stands around the gaps, the names of the gaps), in reading order."""
    parts = _GAP.split(template)
    return tuple(parts[::2]), tuple(parts[1::2])


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """(the different ones of `keys`, none below 0, ascending; the place of each of `keys` among them)."""
    most = int(keys.max(initial=0))
    if most > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)
    there = np.zeros(most + 1, dtype=bool)
    there[keys] = True
    found = np.flatnonzero(there)
    place = np.empty(most + 1, np.int64)
    place[found] = np.arange(len(found))
    return found, place[keys]
