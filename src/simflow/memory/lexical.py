# ruff: noqa: RUF001 - words of four languages
"""Words: which rows share rare words with a question. BM25 (Robertson & Zaragoza 2009) over postings, exact, in memory."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from simflow.memory.topics import stem, words

K1, B = 1.2, 0.4
"""Saturation and length normalisation; turns of a conversation are short, so length says little."""

_ENGLISH = (
    "a about all also am an and any are as at be been being but by can could did do does doing done for from had has have having he her "
    "here him his how i if in into is it its just like may me might more most must my no not of on only or other our own s same shall she "
    "should so some such t than that the their them then there these they this those to too us very was we were what when where which who "
    "whom whose why will with would yes you your d ll m re ve don didn doesn isn wasn aren won"
)
_IBERIAN = (
    "o os as um uma de do da dos das em no na nos nas e que se por para com não mais como foi é el la los las un una y en del al lo su sus "
    "con una es son qué quién cuándo dónde cómo por más fue"
)
_UKRAINIAN = "і й та в у на з із зі до від за про що як це не чи або але для по хто коли де який яка яке які був була було були"
STOP = frozenset(f"{_ENGLISH} {_IBERIAN} {_UKRAINIAN}".split())
"""Words that tell nothing apart."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def plain_terms(text: str) -> list[str]:
    """Words, case-folded; scripts written without spaces as pairs of characters."""
    return [t for word, _, _ in words(text) for t in _split(word)]


def terms(text: str) -> list[str]:
    """Words without the ones that say nothing, by their stems: "songs" and "song" are one."""
    return [stem(t) for t in plain_terms(text) if t not in STOP]


def _split(word: str) -> Iterable[str]:
    if not _CJK.search(word):
        for part in re.split(r"['’]", word):
            if part:
                yield part
        return
    for run in re.findall(rf"{_CJK.pattern}|[^\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+", word):
        if _CJK.match(run):
            yield from (run[i : i + 2] for i in range(max(len(run) - 1, 1)))
        else:
            yield run


class Lexicon:
    """Postings of documents that are given as lists of terms."""

    def __init__(self, documents: Sequence[Sequence[str]], *, k1: float = K1, b: float = B) -> None:
        self.size = len(documents)
        self.ids: dict[str, int] = {}
        flat = np.fromiter((self.ids.setdefault(t, len(self.ids)) for d in documents for t in d), np.int64)
        lengths = np.fromiter((len(d) for d in documents), np.int64, self.size)
        rows = np.repeat(np.arange(self.size), lengths)
        # One posting for each (term, row), by term.
        keys, counts = np.unique(flat * max(self.size, 1) + rows, return_counts=True)
        self.rows: npt.NDArray[np.int64] = keys % max(self.size, 1)
        self.terms: npt.NDArray[np.int64] = keys // max(self.size, 1)
        self.starts: npt.NDArray[np.int64] = np.searchsorted(self.terms, np.arange(len(self.ids) + 1))
        found = np.diff(self.starts)
        self.idf: npt.NDArray[np.float64] = np.log(1 + (self.size - found + 0.5) / (found + 0.5))
        mean = float(lengths.mean()) if self.size else 0.0
        norm = k1 * (1 - b + b * lengths / mean) if mean else np.ones(self.size)
        self.weights: npt.NDArray[np.float64] = self.idf[self.terms] * counts * (k1 + 1) / (counts + norm[self.rows])

    def scores(self, query: Iterable[str]) -> npt.NDArray[np.float64]:
        """BM25 of each document; a term that is asked twice counts twice."""
        out = np.zeros(self.size)
        for term in query:
            number = self.ids.get(term)
            if number is not None:
                low, high = self.starts[number], self.starts[number + 1]
                out[self.rows[low:high]] += self.weights[low:high]
        return out

    def rarity(self, term: str) -> float:
        """Inverse document frequency of a term; that of a term in no document if it is unknown."""
        number = self.ids.get(term)
        return float(self.idf[number]) if number is not None else math.log(1 + (self.size + 0.5) / 0.5)


def hashed(texts: Sequence[str]) -> npt.NDArray[np.int32]:
    """The place of the text and the hash of a stem of each word that tells something, by place: int32[2, m]."""
    kept: dict[str, int] = {}
    found = [(place, kept.get(t) or kept.setdefault(t, _hash(t))) for place, text in enumerate(texts) for t in terms(text)]
    return np.ascontiguousarray(np.array(found, np.int32).reshape(-1, 2).T)


def rate(query: str, size: int, places: npt.NDArray[np.int64], words: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """BM25 of `size` documents for a query, in which a word counts once. places, words: the document and the hash of each word said.

    Rarity and length are those of these documents, so that whoever has seen only these learns nothing of others.
    """
    asked = np.unique(np.array([_hash(t) for t in terms(query)], np.int32))
    if not size or not len(asked):
        return np.zeros(size)
    at = np.minimum(np.searchsorted(asked, words), len(asked) - 1)
    hit = asked[at] == words
    times = np.bincount(places[hit] * len(asked) + at[hit], minlength=size * len(asked)).reshape(size, len(asked))
    holders = (times > 0).sum(axis=0)
    rarity = np.log(1 + (size - holders + 0.5) / (holders + 0.5))
    lengths = np.bincount(places, minlength=size)
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1e-9))
    scores: npt.NDArray[np.float64] = (rarity * times * (K1 + 1) / (times + norm[:, None])).sum(axis=1)
    return scores


def _hash(term: str) -> int:
    # As int32; two words that share one of the four thousand million hashes only share a little score.
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) - 2**31
