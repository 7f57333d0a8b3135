"""Measures of what residents do and of how stances move over time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Ints = npt.NDArray[np.integer]

HYSTERESIS = 0.15
"""Beyond this, a stance takes a side; a side once taken is left only for the other one."""


def gini(counts: npt.ArrayLike) -> float:
    """Inequality of counts: 0 if all are equal, (n - 1)/n if one has all; NaN if there is nothing."""
    c = np.sort(np.asarray(counts, dtype=np.float64))
    n, total = len(c), float(c.sum())
    return float(2.0 * (np.arange(1, n + 1) * c).sum() / (n * total) - (n + 1) / n) if n and total > 0 else float("nan")


def top_share(counts: npt.ArrayLike, share: float = 0.1) -> float:
    """Part of all that the top `share` (at least one) of the accounts has."""
    c = np.sort(np.asarray(counts, dtype=np.float64))[::-1]
    total = float(c.sum())
    return float(c[: max(1, round(share * len(c)))].sum() / total) if len(c) and total > 0 else float("nan")


def flips(agent: Ints, tick: Ints, x: F64, threshold: float = HYSTERESIS) -> I64:
    """Times that each agent changed sides; a side is left only by reaching the other one beyond `threshold` (hysteresis).

    agent, tick, x: stance rows in any order. Returns one count for each agent 0..max.
    """
    count = int(agent.max()) + 1 if len(agent) else 0
    side = np.where(x > threshold, 1, np.where(x < -threshold, -1, 0))
    taken = side != 0
    order = np.lexsort((tick[taken], agent[taken]))
    who, which = agent[taken][order], side[taken][order]
    change = (who[1:] == who[:-1]) & (which[1:] != which[:-1])
    return np.bincount(who[1:][change], minlength=count)


def as_of(agent: Ints, tick: Ints, value: npt.NDArray[np.generic], at: int, count: int) -> F64:
    """The last value of each agent 0..count-1 from rows with tick <= at; NaN for agents without one."""
    out = np.full(count, np.nan)
    past = np.flatnonzero(tick <= at)
    order = past[np.argsort(tick[past], kind="stable")]
    out[agent[order]] = value[order]  # the last assignment wins
    return out


def influence(author: Ints, contribution: F64, count: int) -> F64:
    """Sum of the absolute contributions to others' stances by author, shape (count,); contributions in stance units."""
    return np.bincount(author, weights=np.abs(contribution), minlength=count).astype(np.float64)


def narrative_reach(reader: Ints, narrative: Ints, population: int) -> dict[int, float]:
    """Share of the population that saw each narrative at least once. One row an exposure."""
    if not population or not len(reader):
        return {}
    pairs = np.unique(np.stack([narrative, reader], axis=1), axis=0)
    which, seen = np.unique(pairs[:, 0], return_counts=True)
    return {int(k): float(v) / population for k, v in zip(which, seen, strict=True)}


def time_to_peak(counts: npt.ArrayLike) -> int:
    """Index of the largest count, the earliest on ties; -1 if there is none."""
    c = np.asarray(counts, dtype=np.float64)
    return int(np.argmax(c)) if len(c) and c.max() > 0 else -1


def half_life(counts: npt.ArrayLike) -> int:
    """Steps from the peak until counts are at most half of it; -1 if that does not happen."""
    c = np.asarray(counts, dtype=np.float64)
    peak = time_to_peak(c)
    if peak < 0:
        return -1
    below = np.flatnonzero(c[peak:] <= c[peak] / 2.0)
    return int(below[0]) if len(below) else -1


def turnover(shares: F64) -> F64:
    """Sum over classes of the absolute change in share from each row to the next; shape (rows, classes) -> (rows - 1,)."""
    changes: F64 = np.abs(np.diff(shares, axis=0)).sum(axis=1)
    return changes


def volatility(shares: F64) -> float:
    """Mean turnover."""
    return float(turnover(shares).mean()) if len(shares) > 1 else 0.0


def contestedness(shares: F64) -> float:
    """Standard deviation of turnover."""
    return float(turnover(shares).std()) if len(shares) > 1 else 0.0


def dominance(shares: F64, above: float = 0.6) -> int:
    """First row in which one class holds more than `above`; -1 if none does."""
    if not len(shares):
        return -1
    at = np.flatnonzero(shares.max(axis=1) > above)
    return int(at[0]) if len(at) else -1
