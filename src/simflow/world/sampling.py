"""Draws from the distributions of a scenario, keyed by agent; only arithmetic that gives the same bytes everywhere."""

from __future__ import annotations

import numpy as np

from simflow.plan import Beta, Choice, Constant, Distribution, Normal, Uniform
from simflow.world.draws import F64, Draws, Ints, bell

_ORDER_LIMIT = 64


def numbers(dist: Distribution, draws: Draws, purpose: str, agents: Ints, low: float = -np.inf, high: float = np.inf) -> F64:
    """One number for each agent, clipped to [low, high]. For a `Choice` of numeric texts, their values.

    Normal: three Irwin-Hall sums of four, sd 1 within +-6. Beta: the a-th smallest of a + b - 1 uniforms; parts between whole
    parameters are drawn by agent in proportion, and large parameters by a normal of the same mean and variance.
    """
    match dist:
        case Constant(value):
            out = np.full(len(agents), float(value))
        case Uniform(lowest, highest):
            out = lowest + (highest - lowest) * draws.unit(purpose, -1, agents)
        case Normal(mean, sd):
            out = mean + sd * normal(draws, purpose, agents)
        case Beta(a, b):
            out = _beta(a, b, draws, purpose, agents)
        case Choice(options):
            values = np.array([float(value) for value, _ in options])
            out = values[_pick(options, draws, purpose, agents)]
    return np.asarray(np.clip(out, low, high), dtype=np.float64)


def labels(dist: Distribution, draws: Draws, purpose: str, agents: Ints) -> list[str | float]:
    """One value for each agent: text for a choice, numbers (rounded to 3 digits) for the others."""
    if isinstance(dist, Choice):
        values = [value for value, _ in dist.options]
        return [values[at] for at in _pick(dist.options, draws, purpose, agents)]
    drawn = numbers(dist, draws, purpose, agents)
    whole = isinstance(dist, Uniform | Normal) and all(float(v).is_integer() and abs(v) >= 1 for v in _parameters(dist))
    return [int(v) for v in np.rint(drawn)] if whole else [round(float(v), 3) for v in drawn]


def normal(draws: Draws, purpose: str, agents: Ints) -> F64:
    """Mean 0, sd 1: three Irwin-Hall sums added, twelve uniforms in all."""
    total = bell(draws.bits(f"{purpose}/0", -1, agents))
    for part in (1, 2):
        total = total + bell(draws.bits(f"{purpose}/{part}", -1, agents))
    return total * 0.5773502691896258


def _parameters(dist: Uniform | Normal) -> tuple[float, float]:
    return (dist.low, dist.high) if isinstance(dist, Uniform) else (dist.mean, dist.sd)


def _pick(options: tuple[tuple[str, float], ...], draws: Draws, purpose: str, agents: Ints) -> Ints:
    ends = np.cumsum(np.array([share for _, share in options], dtype=np.float64))
    at = np.searchsorted(ends, draws.unit(purpose, -1, agents) * ends[-1], side="right")
    return np.asarray(np.minimum(at, len(options) - 1), dtype=np.int64)


def _beta(a: float, b: float, draws: Draws, purpose: str, agents: Ints) -> F64:
    if a + b > _ORDER_LIMIT:
        mean = a / (a + b)
        sd = float(np.sqrt(mean * (1.0 - mean) / (a + b + 1.0)))
        return np.clip(mean + sd * normal(draws, purpose, agents), 0.0, 1.0)
    first = _whole(a, draws, f"{purpose}/a", agents)
    second = _whole(b, draws, f"{purpose}/b", agents)
    sizes = first + second - 1
    most = int(sizes.max(initial=1))
    uniforms = np.stack([draws.unit(f"{purpose}/u{k}", -1, agents) for k in range(most)], axis=1)
    uniforms[np.arange(most) >= sizes[:, None]] = 2.0
    uniforms.sort(axis=1)
    return np.asarray(uniforms[np.arange(len(agents)), first - 1], dtype=np.float64)


def _whole(value: float, draws: Draws, purpose: str, agents: Ints) -> Ints:
    floor = int(value)
    up = draws.unit(purpose, -1, agents) < (value - floor)
    return np.maximum(floor + up.astype(np.int64), 1)
