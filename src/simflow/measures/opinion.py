"""Measures of a distribution of stances. Pure functions: `x` holds stances in -1..1, shape (n,); formulas and sources in docs/measures.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer]

CLASSES = 5
NEUTRAL = 0.15
"""Nearer to 0 than this, a stance belongs to no side."""
_ALPHA = 1.3
_BANDWIDTH = 0.08


def mean(x: F64, weights: F64 | None = None) -> float:
    """Weighted mean; NaN if there is nobody."""
    return float(np.average(x, weights=weights)) if len(x) else float("nan")


def variance(x: F64, weights: F64 | None = None) -> float:
    """Mean squared distance from the mean; 1 for two camps at the ends, 1/3 for a uniform spread."""
    if not len(x):
        return float("nan")
    return float(np.average((x - np.average(x, weights=weights)) ** 2, weights=weights))


def bimodality(x: F64) -> float:
    """Bimodality coefficient (SAS): above 5/9 suggests two camps. NaN for fewer than 4 or for stances that are all equal."""
    n = len(x)
    centred = x - x.mean() if n else x
    m2 = float(np.mean(centred**2)) if n else 0.0
    if n < 4 or m2 <= 1e-18:
        return float("nan")
    skew = float(np.mean(centred**3)) / m2**1.5 * np.sqrt(n * (n - 1)) / (n - 2)
    kurtosis = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (float(np.mean(centred**4)) / m2**2 - 3.0) + 6.0)
    return float((skew**2 + 1.0) / (kurtosis + 3.0 * (n - 1) ** 2 / ((n - 2) * (n - 3))))


def classes(x: F64, count: int = CLASSES) -> npt.NDArray[np.int64]:
    """Class 0..count-1 of each stance; classes of equal width."""
    return np.minimum((np.clip(x, -1.0, 1.0) + 1.0) / 2.0 * count, count - 1).astype(np.int64)


def shares(x: F64, count: int = CLASSES) -> F64:
    """Share of each class, shape (count,)."""
    return np.bincount(classes(x, count), minlength=count) / max(1, len(x))


def esteban_ray(x: F64, count: int = CLASSES) -> float:
    """Esteban & Ray (1994) on `count` classes, alpha 1.3, scaled so that two equal camps at the ends give 1."""
    if not len(x):
        return float("nan")
    centres = (np.arange(count) + 0.5) / count * 2.0 - 1.0
    raw = _identification(shares(x, count), centres)
    ends = np.zeros(count)
    ends[[0, -1]] = 0.5
    return raw / _identification(ends, centres)


def _identification(p: F64, centres: F64) -> float:
    return float(p ** (1.0 + _ALPHA) @ np.abs(centres[:, None] - centres[None, :]) @ p)


def spread(x: F64) -> float:
    """Largest less smallest."""
    return float(x.max() - x.min()) if len(x) else float("nan")


def dispersion(x: F64) -> float:
    """Mean absolute distance from the mean."""
    return float(np.mean(np.abs(x - x.mean()))) if len(x) else float("nan")


def coverage(x: F64, bins: int = 20) -> float:
    """Share of `bins` that somebody occupies."""
    return float(np.mean(np.bincount(classes(x, bins), minlength=bins) > 0)) if len(x) else float("nan")


def camps(x: F64) -> int:
    """Number of modes of a kernel density (Gaussian, bandwidth .08) higher than 5 % of the highest: community fracturing."""
    if not len(x):
        return 0
    places = np.linspace(-1.4, 1.4, 561)
    histogram = np.histogram(x, bins=np.linspace(-1.4025, 1.4025, 562))[0].astype(np.float64)
    kernel = np.exp(-0.5 * ((places - places[280]) / _BANDWIDTH) ** 2)
    density = np.convolve(histogram, kernel, mode="same")
    rises = np.diff(np.r_[0.0, density, 0.0])
    peaks = (rises[:-1] > 0) & (rises[1:] <= 0) & (density > 0.05 * density.max())
    return int(peaks.sum())


def divergence(x: F64, group: Ints) -> float:
    """Mean distance of the means of two groups, over all pairs of groups; NaN for fewer than two."""
    means = _group_means(x, group)[0]
    k = len(means)
    return float(np.abs(means[:, None] - means[None, :]).sum() / (k * (k - 1))) if k > 1 else float("nan")


def consensus(x: F64, group: Ints) -> float:
    """1 less the mean, over groups, of the mean absolute distance from the group's mean."""
    if not len(x):
        return float("nan")
    means, sizes, inverse = _group_means(x, group)
    return float(1.0 - np.mean(np.bincount(inverse, weights=np.abs(x - means[inverse])) / sizes))


def size_parity(group: Ints) -> float:
    """Entropy of the groups' sizes over its maximum; 1 for equal sizes, NaN for fewer than two groups."""
    sizes = np.unique(group, return_counts=True)[1]
    p = sizes / max(1, sizes.sum())
    return float(-(p * np.log(p)).sum() / np.log(len(p))) if len(p) > 1 else float("nan")


def cluster_polarization(x: F64, group: Ints) -> float:
    """Mehlhaff's CPC: 1 - (1 - BSS/TSS)(n - 1)/(n - k), the share of variance between groups, corrected for their number."""
    if not len(x):
        return float("nan")
    means, sizes, _ = _group_means(x, group)
    n, k = len(x), len(means)
    total = float(((x - x.mean()) ** 2).sum())
    if total <= 1e-18 or n <= k:
        return float("nan")
    between = float((sizes * (means - x.mean()) ** 2).sum())
    return 1.0 - (1.0 - between / total) * (n - 1) / (n - k)


def entropy(x: F64, count: int = CLASSES) -> float:
    """Entropy of the classes over its maximum."""
    p = shares(x, count)
    p = p[p > 0]
    return float(-(p * np.log(p)).sum() / np.log(count)) if len(x) else float("nan")


def sides(x: F64) -> npt.NDArray[np.int8]:
    """+1, 0 or -1."""
    return (np.sign(x) * (np.abs(x) >= NEUTRAL)).astype(np.int8)


def _group_means(x: F64, group: Ints) -> tuple[F64, F64, npt.NDArray[np.intp]]:
    _, inverse, sizes = np.unique(group, return_inverse=True, return_counts=True)
    return np.bincount(inverse, weights=x) / sizes, sizes.astype(np.float64), inverse
