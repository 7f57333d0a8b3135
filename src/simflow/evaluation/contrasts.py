"""Uncertainty over seeds: bootstrap intervals, paired contrasts, how many seeds are enough.

The unit is always a run. Agents inside one run depend on each other and are never resampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput

F64 = npt.NDArray[np.float64]
RESAMPLES = 2_000
FEW = 10
"""Values below which resampling says too little about what lies between and beyond them: of 95 % intervals of 5 it covers about 83."""
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its interval. method: `t`, `percentile` or `bca`."""

    mean: float
    low: float
    high: float
    n: int
    method: str


@dataclass(frozen=True, slots=True)
class Contrast:
    """B minus A over the same seeds, and what pairing bought: `variance_ratio` = variance if unpaired over variance as paired."""

    difference: Interval
    correlation: float
    variance_ratio: float
    deviation: float
    """Standard deviation of the differences."""


def interval(values: npt.ArrayLike, level: float = 0.95, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Interval of the mean of run-level values: bootstrap percentile, or BCa (Efron 1987) if n < 50 and |skew| > 1; Student's t if n < FEW.

    Resampling is seeded, so the same values give the same interval. Raises BadInput for fewer than two values.
    """
    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    if n < 2 or not np.isfinite(y).all():
        raise BadInput(f"an interval needs two finite values, not {n}", hint="repeat the run with more seeds")
    if n < FEW:
        half = student((1.0 + level) / 2.0, n - 1) * float(y.std(ddof=1)) / math.sqrt(n)
        return Interval(float(y.mean()), float(y.mean()) - half, float(y.mean()) + half, n, "t")
    means = np.sort(y[np.random.Generator(np.random.Philox(seed)).integers(0, n, (resamples, n))].mean(axis=1))
    centred = y - y.mean()
    scale = float(np.mean(centred**2)) ** 1.5
    skew = float(np.mean(centred**3)) / scale if scale > 0 else 0.0
    tail = (1.0 - level) / 2.0
    bca = n < 50 and abs(skew) > 1.0
    low, high = _accelerated(means, y, tail) if bca else (tail, 1.0 - tail)
    return Interval(float(y.mean()), float(np.quantile(means, low)), float(np.quantile(means, high)), n, "bca" if bca else "percentile")


def _accelerated(means: F64, y: F64, tail: float) -> tuple[float, float]:
    n = len(y)
    below = float(np.mean(means < y.mean()) + 0.5 * np.mean(means == y.mean()))
    bias = _NORMAL.inv_cdf(min(max(below, 1e-6), 1 - 1e-6))
    without = (y.sum() - y) / (n - 1)
    apart = without.mean() - without
    acceleration = float((apart**3).sum() / (6.0 * (apart**2).sum() ** 1.5)) if apart.any() else 0.0

    def shifted(q: float) -> float:
        z = bias + _NORMAL.inv_cdf(q)
        return _NORMAL.cdf(bias + z / (1.0 - acceleration * z))

    return shifted(tail), shifted(1.0 - tail)


def paired(a: npt.ArrayLike, b: npt.ArrayLike, level: float = 0.95, *, seed: int = 0) -> Contrast:
    """Contrast of two arms that ran with the same seeds, in the same order. Also the herd effect: treated minus control, same keys."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape:
        raise BadInput(f"{len(first)} runs against {len(second)}: pairs need the same seeds", hint="compare runs of the same seeds")
    d = second - first
    va, vb, vd = (float(v.var(ddof=1)) if len(d) > 1 else 0.0 for v in (first, second, d))
    both = math.sqrt(va * vb)
    covariance = (va + vb - vd) / 2.0
    return Contrast(
        difference=interval(d, level, seed=seed),
        correlation=covariance / both if both > 0 else float("nan"),
        variance_ratio=(va + vb) / vd if vd > 0 else float("inf"),
        deviation=math.sqrt(vd),
    )


def seeds_needed(deviation: float, half_width: float, n: int, level: float = 0.95, *, least: int = 20, most: int = 200) -> int:
    """Seeds for an interval of +-`half_width`: ceil((t s / h)^2) with t for the n seeds behind `deviation`, within least..most."""
    if half_width <= 0:
        raise BadInput("the half width of an interval is above 0")
    t = student((1.0 + level) / 2.0, max(1, n - 1))
    return min(most, max(least, math.ceil((t * deviation / half_width) ** 2)))


def power(effect: float, deviation: float, n: int, level: float = 0.95) -> float:
    """Chance that n seeds show an effect of this size (two-sided, normal approximation)."""
    if deviation <= 0:
        return 1.0 if effect else 1.0 - level
    z = _NORMAL.inv_cdf((1.0 + level) / 2.0)
    shift = abs(effect) * math.sqrt(n) / deviation
    return _NORMAL.cdf(shift - z) + _NORMAL.cdf(-shift - z)


def student(q: float, df: int) -> float:
    """Quantile of Student's t: the distribution's finite sum for whole degrees of freedom (Abramowitz & Stegun 26.7.3-4), bisected."""
    if q < 0.5:
        return -student(1.0 - q, df)
    low, high = 0.0, math.pi / 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if (1.0 + _inside(middle, df)) / 2.0 < q:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(df)


def _inside(angle: float, df: int) -> float:
    """Probability of |t| < tan(angle) sqrt(df)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(df // 2):
        total += term
        term *= cosine**2 * (2 * k + 1 + odd) / (2 * k + 2 + odd)
    return 2.0 / math.pi * (angle + sine * total) if odd else sine * total
