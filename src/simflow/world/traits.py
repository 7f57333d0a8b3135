"""Traits of residents, those that depend on other traits among them. Each is drawn by key, so nothing depends on the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Distribution, Given, Persona
from simflow.world import sampling
from simflow.world.draws import F64, Draws, Ints

Value = str | float


class Traits:
    """Traits of `agents`, all of one persona. own: what a people file says of each, which is never drawn."""

    def __init__(self, kind: Persona, draws: Draws, agents: Ints, own: Sequence[Mapping[str, Value]] = ()) -> None:
        self._kind, self._draws, self._agents, self._own = kind, draws, agents, own
        self._known: dict[str, list[Value]] = {}

    def labels(self, name: str) -> list[Value]:
        """The trait `name` of each agent, as the agents table shows it: text, or a number of three digits."""
        if name not in self._known:
            if name in self._kind.traits:
                drawn = self._labels(self._kind.traits[name], f"trait/{name}", np.arange(len(self._agents)))
            elif all(name in own for own in self._own) and len(self._own) == len(self._agents):
                drawn = [""] * len(self._agents)
            else:
                hint = "give the persona this trait, for those whom the people file says nothing of"
                raise BadInput(f"some '{self._kind.name}' has no '{name}', and other values depend on it", hint=hint)
            self._known[name] = [own.get(name, value) for own, value in zip(self._own, drawn, strict=True)] if self._own else drawn
        return self._known[name]

    def numbers(self, dist: Distribution, purpose: str, low: float, high: float) -> F64:
        """One number for each agent from any distribution, clipped to [low, high]."""
        return self._numbers(dist, purpose, low, high, np.arange(len(self._agents)))

    def _numbers(self, dist: Distribution, purpose: str, low: float, high: float, at: Ints) -> F64:
        if not isinstance(dist, Given):
            return sampling.numbers(dist, self._draws, purpose, self._agents[at], low, high)
        out, which = np.zeros(len(at)), self._which(dist, at)
        for case, then in enumerate(_thens(dist)):
            here = which == case
            out[here] = self._numbers(then, purpose, low, high, at[here])
        return out

    def _labels(self, dist: Distribution, purpose: str, at: Ints) -> list[Value]:
        if not isinstance(dist, Given):
            return sampling.labels(dist, self._draws, purpose, self._agents[at])
        out: list[Value] = [""] * len(at)
        which = self._which(dist, at)
        for case, then in enumerate(_thens(dist)):
            here = np.flatnonzero(which == case)
            for place, value in zip(here.tolist(), self._labels(then, purpose, at[here]), strict=True):
                out[place] = value
        return out

    def _which(self, dist: Given, at: Ints) -> Ints:
        """Number of the case of each agent; `otherwise` comes after the cases."""
        on = self.labels(dist.trait)
        found: dict[Value, int] = {}
        for value in {on[k] for k in at.tolist()}:
            found[value] = _case(dist, value)
        return np.array([found[on[k]] for k in at.tolist()], dtype=np.int64)


def _thens(dist: Given) -> list[Distribution]:
    return [c.then for c in dist.cases] + ([] if dist.otherwise is None else [dist.otherwise])


def _case(dist: Given, value: Value) -> int:
    number = _number(value)
    for k, case in enumerate(dist.cases):
        if case.word is not None and case.word == str(value):
            return k
        if case.word is None and number is not None and _distance(case.low, case.high, number) == 0:
            return k
    if dist.otherwise is not None:
        return len(dist.cases)
    ranges = [(_distance(c.low, c.high, number), k) for k, c in enumerate(dist.cases) if c.word is None and number is not None]
    if not ranges:
        raise BadInput(f"'{dist.trait}' is '{value}' for somebody, and there is no case for that", hint="add the case, or `else: ...`")
    return min(ranges)[1]


def _number(value: Value) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _distance(low: float | None, high: float | None, value: float) -> float:
    if low is not None and value < low:
        return low - value
    return value - high if high is not None and value > high else 0.0
