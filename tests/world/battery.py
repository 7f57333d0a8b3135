"""Statistical tests of random words, as batteries such as PractRand and dieharder have them, in numpy. Each gives z values: about N(0, 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
Found = Iterator[tuple[str, float]]


def chi(counts: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """Chi-square of counts as a z value (Wilson and Hilferty)."""
    c, e = np.asarray(counts, float), np.asarray(expected, float)
    freedom = len(c) - 1
    value = float(((c - e) ** 2 / e).sum())
    return ((value / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))


def bits(words: U64) -> Found:
    """Ones at each of the 64 places."""
    n = len(words)
    for place in range(64):
        ones = int(((words >> np.uint64(place)) & np.uint64(1)).sum())
        yield f"bit {place}", (2 * ones - n) / math.sqrt(n)


def bytes_(words: U64) -> Found:
    """Bytes at each of the 8 places, evenly."""
    columns = words.view(np.uint8).reshape(len(words), 8)
    for place in range(8):
        yield f"byte {place}", chi(np.bincount(columns[:, place], minlength=256), np.full(256, len(words) / 256))


def serial(words: U64) -> Found:
    """Pairs of successive bytes, at the top and at the bottom."""
    for name, shift in (("top", 56), ("bottom", 0)):
        byte = ((words >> np.uint64(shift)) & np.uint64(255)).astype(np.int64)
        pairs = byte[:-1:2] * 256 + byte[1::2]
        yield f"serial {name}", chi(np.bincount(pairs, minlength=65536), np.full(65536, len(pairs) / 65536))


def gaps(words: U64) -> Found:
    """Distances of words that are small: geometric."""
    p, most = 1 / 16, 60
    at = np.flatnonzero(words >> np.uint64(60) == 0)
    gap = np.minimum(np.diff(at) - 1, most)
    expected = np.array([p * (1 - p) ** k for k in range(most)] + [(1 - p) ** most]) * len(gap)
    yield "gaps", chi(np.bincount(gap, minlength=most + 1), expected)


def birthdays(words: U64) -> Found:
    """Marsaglia's birthday spacings: 512 birthdays in 2**24 days repeat a spacing 2 times on average, as Poisson says."""
    for shift in (0, 20, 40):
        days = ((words >> np.uint64(shift)) & np.uint64((1 << 24) - 1)).astype(np.int64)
        years = days[: len(days) // 512 * 512].reshape(-1, 512)
        spacings = np.sort(np.diff(np.sort(years, axis=1), axis=1), axis=1)
        repeats = np.minimum((np.diff(spacings, axis=1) == 0).sum(axis=1), 8)
        poisson = np.array([math.exp(-2) * 2**k / math.factorial(k) for k in range(8)])
        yield f"birthdays {shift}", chi(np.bincount(repeats, minlength=9), np.append(poisson, 1 - poisson.sum()) * len(repeats))


def ranks(words: U64) -> Found:
    """Rank of 32 x 32 matrices over GF(2)."""
    for name, shift in (("high", 32), ("low", 0)):
        rows = ((words >> np.uint64(shift)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        matrices = rows[: len(rows) // 32 * 32].reshape(-1, 32).copy()
        rank = np.zeros(len(matrices), np.int64)
        every = np.arange(len(matrices))
        for column in range(32):
            has = (matrices >> np.uint32(column)) & np.uint32(1)
            has[np.arange(32)[None, :] < rank[:, None]] = 0
            found = has.any(axis=1)
            pivot, to = has.argmax(axis=1), np.minimum(rank, 31)
            row = matrices[every, pivot]
            matrices[every, pivot] = np.where(found, matrices[every, to], row)
            matrices[every, to] = np.where(found, row, matrices[every, to])
            bit = (matrices >> np.uint32(column)) & np.uint32(1)
            bit[every, to] = 0
            matrices ^= np.where(found[:, None] & (bit == 1), row[:, None], np.uint32(0))
            rank += found
        counts = np.array([(rank == 32).sum(), (rank == 31).sum(), (rank < 31).sum()])
        yield f"rank {name}", chi(counts, np.array([0.2887880952, 0.5775761902, 0.1336357146]) * len(matrices))


def weights(words: U64) -> Found:
    """Numbers of ones in successive words, and in words further apart, do not depend on each other."""
    ones = np.bitwise_count(words).astype(float) - 32
    yield "weight mean", float(ones.mean()) * math.sqrt(len(ones)) / 4
    yield "weight spread", (float((ones**2).mean()) / 16 - 1) * math.sqrt(len(ones) / 2)
    for lag in (1, 2, 3, 16, 255):
        yield f"weight lag {lag}", float((ones[lag:] * ones[:-lag]).mean()) / 16 * math.sqrt(len(ones) - lag)


BATTERY = (bits, bytes_, serial, gaps, birthdays, ranks, weights)


def results(words: U64) -> dict[str, float]:
    """The z value of every test."""
    return {name: z for test in BATTERY for name, z in test(words)}
