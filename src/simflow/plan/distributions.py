"""Distributions that a scenario may write for a number or a trait."""

from __future__ import annotations

from simflow.plan.record import Record


class Constant(Record):
    """Always `value`."""

    value: float


class Uniform(Record):
    """Uniform between `low` and `high`, both included."""

    low: float
    high: float


class Normal(Record):
    """Normal with `mean` and standard deviation `sd`, clipped to the range of what it is drawn for."""

    mean: float
    sd: float


class Beta(Record):
    """Beta(a, b) on 0..1; small integer parameters are drawn as order statistics."""

    a: float
    b: float


class Choice(Record):
    """One of `options`, (value, share) pairs whose shares sum to 1; values are text."""

    options: tuple[tuple[str, float], ...]


class Case(Record):
    """What another trait must be, and what is drawn then: a `word`, or a number from `low` to `high`, both included."""

    then: Distribution
    word: str | None = None
    low: float | None = None
    high: float | None = None


class Given(Record):
    """Depends on what `trait` the same resident has: the first case that fits; else `otherwise`; else the nearest numeric case."""

    trait: str
    cases: tuple[Case, ...]
    otherwise: Distribution | None = None


Distribution = Constant | Uniform | Normal | Beta | Choice | Given
