"""Everything that was said, in order of time, with its vectors: exact search under score = cosine x 0.5 ** (age / half_life).

Rows are visited newest first, in blocks. A block is rated with int8 codes whose error is known, rows that could still be among the best are
rated exactly, and the search ends once no older row can win, because decay bounds every score. So the answer is that of a full scan, and its
cost does not grow with history. Ranking by similarity first and decaying the best of those afterwards loses the right answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

BLOCK = 1024
"""Rows rated at once: few enough that the linear algebra library does not wake a second thread, which costs fifty times the product."""
FIRST = 256
"""Rows rated first where they lie apart; each next block is twice as large, up to BLOCK."""
_SLACK = 2e-5  # rounding of float32 products, well above what was observed (2e-7)

ROW = np.dtype([("episode", "<i8"), ("tick", "<i4"), ("ordinal", "<i4"), ("actor", "<i4"), ("scale", "<f4"), ("error", "<f4")])
"""One row of a segment; `codes x scale` is its vector up to a distance of `error`."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of rows sorted by time. Arrays may be memory-mapped.

    rows: ROW[n]. codes: int8[n, d]. exact: float32[n, d]. topics: int32[m, 2], pairs (row, index of a topic it is about), by row.
    words: int32[2, m], the row and the hash of a stem of each word said, by row.
    """

    rows: npt.NDArray[Any]
    codes: npt.NDArray[np.int8]
    exact: npt.NDArray[np.float32]
    topics: npt.NDArray[np.int32]
    words: npt.NDArray[np.int32]


class Hits(NamedTuple):
    """Rows by falling score, newer first among equals; `scanned` rows were looked at."""

    rows: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    scanned: int


def segment(
    episode: npt.NDArray[np.int64],
    tick: npt.NDArray[np.int32],
    ordinal: npt.NDArray[np.int32],
    actor: npt.NDArray[np.int32],
    vectors: npt.NDArray[np.float32],
    topics: npt.NDArray[np.int32] | None = None,
    words: npt.NDArray[np.int32] | None = None,
) -> Segment:
    """Rows that are already sorted by (tick, ordinal, episode), with their codes."""
    codes, scale, error = quantise(vectors)
    rows = np.empty(len(episode), ROW)
    for name, column in (("episode", episode), ("tick", tick), ("ordinal", ordinal), ("actor", actor), ("scale", scale), ("error", error)):
        rows[name] = column
    topics = np.empty((0, 2), np.int32) if topics is None else topics
    return Segment(rows, codes, vectors, topics, np.empty((2, 0), np.int32) if words is None else words)


def quantise(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Codes int8[n, d], scale float32[n] and error float32[n]: `error` bounds the length of `vector - codes x scale`, rounded up."""
    codes = np.empty(vectors.shape, np.int8)
    scale, error = np.empty(len(vectors), np.float32), np.empty(len(vectors), np.float32)
    for low in range(0, len(vectors), BLOCK):  # by blocks that stay in the processor's cache
        part = slice(low, low + BLOCK)
        peak = np.abs(vectors[part]).max(axis=1, initial=0.0)
        scale[part] = peak / 127
        safe = np.where(scale[part] > 0, scale[part], np.float32(1))
        codes[part] = np.rint(vectors[part] / safe[:, None])
        rest = vectors[part].astype(np.float64) - codes[part].astype(np.float64) * scale[part, None]
        error[part] = np.sqrt((rest * rest).sum(axis=1)) * (1 + 1e-6)
    return codes, scale, np.nextafter(error, np.float32(np.inf), dtype=np.float32)


class History:
    """Segments in order of time, addressed by row number from the oldest on. Nothing is copied but the small columns."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = [s for s in segments if len(s.rows)]
        self.starts = np.concatenate([[0], np.cumsum([len(s.rows) for s in self.segments])]).astype(np.int64)
        columns = {name: [s.rows[name] for s in self.segments] for name in ("episode", "tick", "actor", "scale", "error")}
        self.episode: npt.NDArray[np.int64] = _joined(columns["episode"], np.int64)
        self.tick: npt.NDArray[np.int32] = _joined(columns["tick"], np.int32)
        self.actor: npt.NDArray[np.int32] = _joined(columns["actor"], np.int32)
        self._scale = _joined(columns["scale"], np.float32)
        self._error = _joined(columns["error"], np.float32)
        self._of_topics: dict[tuple[int, ...], npt.NDArray[np.int64]] = {}
        if len(self.tick) and (np.diff(self.tick) < 0).any():
            raise ValueError("segments are not in order of time")

    def __len__(self) -> int:
        return len(self.tick)

    def before(self, tick: int) -> int:
        """How many rows are older than `tick`: rows [0, n) are."""
        # In the type of the ticks: with another one numpy would convert them all, each time.
        return int(np.searchsorted(self.tick, np.int32(min(max(tick, -1), np.iinfo(np.int32).max)), side="left"))

    def topic_rows(self, topics: Sequence[int], stop: int) -> npt.NDArray[np.int64]:
        """Rows below `stop` that are about any of some topics, oldest first."""
        key = tuple(sorted(set(topics)))
        if key not in self._of_topics:
            of = [(s.topics[np.isin(s.topics[:, 1], key), 0], start) for s, start in zip(self.segments, self.starts[:-1], strict=True)]
            self._of_topics[key] = _joined([np.unique(rows) + start for rows, start in of], np.int64)
        found = self._of_topics[key]
        return found[: np.searchsorted(found, stop)]

    def said(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """The words of rows (sorted): for each word its place in `rows`, and its hash."""
        places, hashes = [], []
        cuts = np.searchsorted(rows, self.starts)
        for number, part in enumerate(self.segments):
            low, high = int(cuts[number]), int(cuts[number + 1])
            if low < high and part.words.shape[1]:
                wanted = (rows[low:high] - self.starts[number]).astype(np.int32)
                of, column = part.words
                begin, end = np.searchsorted(of, wanted), np.searchsorted(of, wanted, side="right")
                sizes = end - begin
                where = np.repeat(begin - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(int(sizes.sum()))
                places.append(np.repeat(np.arange(low, high, dtype=np.int64), sizes))
                hashes.append(np.asarray(column[where]))
        return _joined(places, np.int64), _joined(hashes, np.int32)

    def vectors(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Exact vectors of rows, shape (len(rows), d)."""
        return self._gather(rows, "exact").astype(np.float32, copy=False)

    def search(
        self,
        query: npt.NDArray[np.float32],
        *,
        now: int,
        half_life: float = np.inf,
        top: int = 8,
        rows: npt.NDArray[np.int64] | None = None,
    ) -> Hits:
        """The `top` best rows older than tick `now`; age is counted from `now`.

        query: float32[d] of unit length. half_life: ticks; inf does not decay, and then every row is looked at. rows: only among these
        (sorted, oldest first). Ties go to the newer row.
        """
        stop = self.before(now)
        allowed = None if rows is None else rows[: np.searchsorted(rows, stop)]
        left = stop if allowed is None else len(allowed)
        best, scores = np.empty(0, np.int64), np.empty(0, np.float64)
        scanned = 0
        size = BLOCK if allowed is None else FIRST  # rows that lie apart cost more each, and few of them reach far back in time
        wide = query.astype(np.float64)
        limit = float(np.sqrt((wide * wide).sum())) * (1 + 1e-3)  # stored vectors have unit length, up to rounding
        while left > 0 and top > 0:
            newest = left - 1 if allowed is None else int(allowed[left - 1])
            if len(best) == top and scores[-1] > limit * _decay(now - int(self.tick[newest]), half_life):
                break
            begin = max(left - size, 0)
            size = min(2 * size, BLOCK)
            block = np.arange(begin, left, dtype=np.int64) if allowed is None else allowed[begin:left]
            decay = _decays(now - self.tick[block].astype(np.float64), half_life)
            rated = (self._gather(block, "codes", contiguous=allowed is None).astype(np.float32) @ query).astype(np.float64)
            rated *= self._scale[block]
            error = self._error[block] * limit + _SLACK
            high = (rated + error) * decay
            if len(best) == top:
                floor = scores[-1]
            elif len(block) >= top:
                floor = np.partition((rated - error) * decay, len(block) - top)[len(block) - top]
            else:
                floor = -np.inf
            chosen = block[high >= floor]
            exact = self.score(chosen, wide, now, half_life)
            best, scores = np.concatenate([best, chosen]), np.concatenate([scores, exact])
            order = np.lexsort((-best, -scores))[:top]
            best, scores = best[order], scores[order]
            scanned += len(block)
            left = begin
        return Hits(best, scores, scanned)

    def score(self, rows: npt.NDArray[np.int64], query: npt.NDArray[np.float64], now: int, half_life: float) -> npt.NDArray[np.float64]:
        """Exact scores of rows: the definition that the search keeps to, in double precision."""
        cosine = (self._gather(rows, "exact").astype(np.float64) * query).sum(axis=1)
        decayed: npt.NDArray[np.float64] = cosine * _decays(now - self.tick[rows].astype(np.float64), half_life)
        return decayed

    def _gather(self, rows: npt.NDArray[np.int64], name: str, *, contiguous: bool = False) -> npt.NDArray[Any]:
        parts = []
        cuts = np.searchsorted(rows, self.starts) if len(self.segments) > 1 and _rising(rows) else None
        if cuts is None and len(self.segments) > 1:
            order = np.argsort(rows, kind="stable")
            out = self._gather(rows[order], name)
            back = np.empty_like(out)
            back[order] = out
            return back
        for number, part in enumerate(self.segments):
            low, high = (0, len(rows)) if cuts is None else (int(cuts[number]), int(cuts[number + 1]))
            if low < high:
                values, offset = getattr(part, name), int(self.starts[number])
                wanted = rows[low:high] - offset
                parts.append(values[int(wanted[0]) : int(wanted[-1]) + 1] if contiguous else values[wanted])
        if not parts:
            width = self.segments[0].codes.shape[1] if self.segments else 0
            return np.empty((0, width), np.float32)
        return np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)


def member(ordered: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which of `wanted` are in `ordered`, which is sorted and may be long."""
    if not len(ordered):
        return np.zeros(len(wanted), np.bool_)
    found: npt.NDArray[np.bool_] = ordered[np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)] == wanted
    return found


def _rising(rows: npt.NDArray[np.int64]) -> bool:
    return bool((rows[1:] >= rows[:-1]).all())


def _decay(age: float, half_life: float) -> float:
    return float(0.5 ** (age / half_life))


def _decays(age: npt.NDArray[np.float64], half_life: float) -> npt.NDArray[np.float64]:
    decays: npt.NDArray[np.float64] = np.power(0.5, age / half_life)
    return decays


def _joined(parts: list[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
    return np.concatenate(parts).astype(kind, copy=False) if parts else np.empty(0, kind)
