"""Measures of stances on a graph. An edge (source, target) says that source reads target; nodes are 0..n-1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer]

_TOLERANCE = 1e-10
_STEPS = 20_000


def assortativity(x: F64, source: Ints, target: Ints) -> float:
    """Pearson correlation of the stances at the two ends of edges; NaN without variance."""
    a, b = x[source] - x[source].mean() if len(source) else x[:0], x[target] - x[target].mean() if len(target) else x[:0]
    scale = np.sqrt(float((a * a).sum()) * float((b * b).sum()))
    return float((a * b).sum() / scale) if scale > 1e-18 else float("nan")


def ei_index(group: Ints, source: Ints, target: Ints) -> float:
    """(external - internal) / all edges (Krackhardt & Stern 1988); -1 if all ties stay within groups."""
    if not len(source):
        return float("nan")
    return float(1.0 - 2.0 * np.mean(group[source] == group[target]))


def modularity(group: Ints, source: Ints, target: Ints) -> float:
    """Directed modularity (Leicht & Newman 2008): edges within groups beyond what the degrees alone give."""
    m = len(source)
    if not m:
        return float("nan")
    _, label = np.unique(group, return_inverse=True)
    k = int(label.max()) + 1
    inside = np.bincount(label[source][label[source] == label[target]], minlength=k)
    out, into = np.bincount(label[source], minlength=k), np.bincount(label[target], minlength=k)
    return float((inside / m - out * into / m**2).sum())


def controversy(side: Ints, source: Ints, target: Ints, top: int = 10) -> float:
    """Random walk controversy (Garimella et al. 2018), exactly: P_xx P_yy - P_xy P_yx, with P_ab = Pr(start in a | end in b).

    side: +1, -1, or 0 for nodes that belong to neither and are left out. Walks ignore the direction of edges and end at the `top`
    nodes of highest degree of either side (ties: lower index). Solved by iteration instead of sampled walks. NaN if a side is empty.
    """
    keep = (side[source] != 0) & (side[target] != 0) & (source != target)
    a, b = np.r_[source[keep], target[keep]], np.r_[target[keep], source[keep]]
    n = len(side)
    degree = np.bincount(a, minlength=n)
    ends = np.zeros(n, dtype=np.int64)
    for sign in (1, -1):
        own = np.flatnonzero((side == sign) & (degree > 0))
        if not len(own):
            return float("nan")
        ends[own[np.argsort(-degree[own], kind="stable")[:top]]] = sign
    reach = np.stack([(ends == 1), (ends == -1)], axis=1).astype(np.float64)
    walking = (ends == 0) & (degree > 0)
    per = 1.0 / np.maximum(degree, 1)

    def moved() -> F64:
        return np.stack([np.bincount(a, weights=reach[b, c], minlength=n) for c in (0, 1)], axis=1) * per[:, None]

    for _ in range(_STEPS):
        step = np.where(walking[:, None], moved(), reach)
        change = float(np.abs(step - reach).max())
        reach = step
        if change < _TOLERANCE:
            break
    first = moved()  # a walk takes at least one step, wherever it starts
    arrive = np.array([[first[(side == s) & (degree > 0), c].mean() for c in (0, 1)] for s in (1, -1)])
    total = arrive.sum(axis=0)
    if (total <= 0).any():
        return float("nan")
    start = arrive / total
    return float(start[0, 0] * start[1, 1] - start[0, 1] * start[1, 0])


def exposure_diversity(reader: Ints, seen: Ints, count: int) -> float:
    """Mean, over readers, of the entropy of the classes that they saw, over its maximum log(count). `seen` in 0..count-1."""
    if not len(reader):
        return float("nan")
    _, row = np.unique(reader, return_inverse=True)
    table = np.zeros((int(row.max()) + 1, count))
    np.add.at(table, (row, seen), 1.0)
    p = table / table.sum(axis=1, keepdims=True)
    return float(np.mean(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)) / np.log(count))


def cross_cutting(own: Ints, seen: Ints) -> float:
    """Share of impressions from the other side, among those where reader (`own`) and post (`seen`) take one (+1 or -1)."""
    taken = (own != 0) & (seen != 0)
    return float(np.mean(own[taken] != seen[taken])) if taken.any() else float("nan")
