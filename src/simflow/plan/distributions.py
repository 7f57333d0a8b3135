"""Distributions that a scenario may write for a number or a trait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constant:
    """Always `value`."""

    value: float


@dataclass(frozen=True, slots=True)
class Uniform:
    """Uniform between `low` and `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal with `mean` and standard deviation `sd`, clipped to the range of what it is drawn for."""

    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Beta:
    """Beta(a, b) on 0..1; small integer parameters are drawn as order statistics."""

    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Choice:
    """One of `options`, (value, share) pairs whose shares sum to 1; values are text."""

    options: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """What another trait must be, and what is drawn then: a `word`, or a number from `low` to `high`, both included."""

    then: Distribution
    word: str | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """Depends on what `trait` the same resident has: the first case that fits; else `otherwise`; else the nearest numeric case."""

    trait: str
    cases: tuple[Case, ...]
    otherwise: Distribution | None = None


Distribution = Constant | Uniform | Normal | Beta | Choice | Given
