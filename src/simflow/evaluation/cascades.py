"""The engine's cascades against cascades that happened: cold, and after watching the first hour."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput
from simflow.evaluation.cascades_data import KINDS, MINUTES, Cascades, read

F64 = npt.NDArray[np.float64]

SEEN = 2
"""Points of the curve that are watched before the forecast: ten minutes and an hour."""
_NEAREST = 5
_WIDTHS = (0.3, 0.6, 1.2)
_LEVELS = (0.0, 0.5, 1.0)
_DAMPING = (0.4, 0.6, 0.8, 1.0)
_QUANTILES = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
_INNER = 3
_LEAST = 10
_FORECASTS = ("engine", "mean_curve", "quantile_curve", "engine_after_an_hour", "scaled_mean_after_an_hour")


def evaluate(where: Path, made: F64, *, seed: int = 0, parts: int = 5) -> dict[str, Any]:
    """Report on the cascades in `where`. made: curves of the engine's cascades (`cascades_engine.library`).

    Which of the engine's cascades count is fitted to some of the real ones; errors are of the others, each left out once. Beside it:
    the mean curve of the others replayed, the curve of their quantiles, and, after an hour, their mean curve scaled to it. An error is
    the mean, over cascades, of the root mean square over the curve's points, divided by the cascade's final value.
    Raises BadInput if there are fewer than 10 cascades.
    """
    real = read(where)
    n = len(real.ids)
    if n < _LEAST:
        raise BadInput(f"{n} cascades in {where}: too few", hint=f"at least {_LEAST} are needed to fit to some and measure on the others")
    fold = np.random.Generator(np.random.Philox(seed)).permutation(n) % parts
    forecasts = {name: np.empty_like(real.curves) for name in _FORECASTS}
    for k in range(parts):
        train, test = real.curves[fold != k], real.curves[fold == k]
        final = real.final[fold != k]
        forecasts["engine"][fold == k] = cold(made, train, final)
        forecasts["mean_curve"][fold == k] = train.mean(axis=0)
        forecasts["quantile_curve"][fold == k] = _likeliest(train, np.full(len(train), 1.0), train, final)
        forecasts["engine_after_an_hour"][fold == k] = warm(made, train, final, test[:, :SEEN])
        grown = train.mean(axis=0)[SEEN:] / train.mean(axis=0)[SEEN - 1]
        later = np.maximum(test[:, SEEN - 1 : SEEN] * grown[None], test[:, SEEN - 1 : SEEN])
        forecasts["scaled_mean_after_an_hour"][fold == k] = np.concatenate([test[:, :SEEN], later], axis=1)
    whole = {name: error(forecasts[name], real, slice(None)) for name in ("engine", "mean_curve", "quantile_curve")}
    later_on = {name: error(f, real, slice(SEEN, None)) for name, f in forecasts.items()}
    return {
        "unit": "mean over cascades of the root mean square over the curve's points, over the cascade's final value",
        "method": f"fitted to {parts - 1} of {parts} parts of the cascades, measured on the rest; {len(made)} cascades made by the engine",
        "cascades": n,
        "minutes": list(MINUTES),
        "error": whole,
        "error_from_six_hours_on": later_on,
        "holds": {
            "below_the_mean_curve": all(whole["engine"][kind] < whole["mean_curve"][kind] for kind in KINDS),
            "below_the_mean_curve_after_an_hour": all(
                later_on["engine_after_an_hour"][kind] < later_on["mean_curve"][kind] for kind in KINDS
            ),
        },
    }


def error(forecast: F64, real: Cascades, points: slice) -> dict[str, float]:
    """Error by kind, over some points of the curves."""
    square = ((forecast - real.curves)[:, points] ** 2).mean(axis=1)
    return dict(zip(KINDS, np.round((np.sqrt(square) / np.maximum(real.final, 1.0)).mean(axis=0), 4).tolist(), strict=True))


def weights(made: F64, train: F64) -> F64:
    """How much each of the engine's cascades counts: every real one gives its vote to the few that are most like it, in logs."""
    a, b = (np.log1p(curves.reshape(len(curves), -1)) for curves in (made, train))
    nearest = np.argsort(((a[:, None] - b[None]) ** 2).sum(axis=2), axis=0, kind="stable")[:_NEAREST]
    return np.bincount(nearest.ravel(), minlength=len(made)) / float(nearest.size)


def cold(made: F64, train: F64, final: F64) -> F64:
    """Forecast of a cascade of which nothing is known: that quantile of the weighted curves that errs least on `train`."""
    return _likeliest(made, weights(made, train), train, final)


def _likeliest(made: F64, w: F64, train: F64, final: F64) -> F64:
    curves = np.array([quantile(made, w, q) for q in _QUANTILES])
    misses = np.sqrt(((curves[:, None] - train[None]) ** 2).mean(axis=2)) / np.maximum(final, 1.0)[None]
    best = misses.mean(axis=1).argmin(axis=0)
    return np.stack([curves[best[kind], :, kind] for kind in range(len(KINDS))], axis=1)


def warm(made: F64, train: F64, final: F64, seen: F64) -> F64:
    """Forecasts after `seen`, (n, SEEN, 3): what the engine's cascades did next that had begun alike. Never below what was seen.

    How alike, whether their growth or their level is continued, and how much of it, is fitted to `train` for size, depth and breadth apart.
    """
    w = weights(made, train)
    ways = list(itertools.product(_WIDTHS, _LEVELS, _DAMPING))
    misses = np.zeros((len(ways), made.shape[2]))
    for part in range(_INNER):
        held = np.arange(len(train)) % _INNER == part
        inner = weights(made, train[~held])
        misses += [held.sum() * _misses(_continued(made, inner, train[held, :SEEN], *way), train[held], final[held]) for way in ways]
    best = [ways[k] for k in misses.argmin(axis=0).tolist()]
    kinds = [_continued(made, w, seen, *way)[:, :, kind] for kind, way in enumerate(best)]
    return np.stack(kinds, axis=2)


def _misses(forecast: F64, train: F64, final: F64) -> F64:
    square = ((forecast - train)[:, SEEN:] ** 2).mean(axis=1)
    misses: F64 = (np.sqrt(square) / np.maximum(final, 1.0)).mean(axis=0)
    return misses


def _continued(made: F64, w: F64, seen: F64, width: float, level: float, damping: float) -> F64:
    """level: 0 continues the growth since the last point seen, 1 takes the level that the like cascades reached, between: both, in logs.

    damping: part of the growth that is believed; below 1 where what begins alike in the engine grows more.
    """
    beginning = _features(made[:, :SEEN])
    reached = np.log1p(made[:, SEEN:])
    start = np.log1p(made[:, SEEN - 1 : SEEN])
    out = np.empty((len(seen), made.shape[1], made.shape[2]))
    for k, one in enumerate(seen):
        near = np.exp(-((beginning - _features(one[None])) ** 2).sum(axis=1) / (2.0 * width**2))
        v = (w + 1e-4 / len(w)) * near + 1e-15 * w
        v /= v.sum()
        levels, growth = (np.tensordot(v, x, axes=1) for x in (reached, reached - start))
        now = np.log1p(one[-1])[None]
        later = np.expm1(now + damping * (level * (levels - now) + (1.0 - level) * growth))
        out[k] = np.concatenate([one, np.maximum(later, one[-1])])
    return out


def _features(seen: F64) -> F64:
    """Of a beginning: log size, how fast it grows, how much of it is the broadest level, how deep."""
    logs = np.log1p(seen)
    return np.stack([logs[:, -1, 0], 0.5 * (logs[:, -1, 0] - logs[:, 0, 0]), logs[:, -1, 2] - logs[:, -1, 0], 0.5 * logs[:, -1, 1]], axis=1)


def quantile(curves: F64, w: F64, q: float) -> F64:
    """Weighted quantile at each point of the curves, (points, kinds)."""
    order = np.argsort(curves, axis=0, kind="stable")
    ordered = np.take_along_axis(curves, order, axis=0)
    mass = np.cumsum(w[order], axis=0) / w.sum()
    found: F64 = np.take_along_axis(ordered, (mass >= q).argmax(axis=0)[None], axis=0)[0]
    return found
