"""Distributions: `0.3`, `20..34`, `71 ± 6`, `{beta: [2, 8]}`, `{a: 60%, b: 40%}`, `{given: age, 18..34: 20..30, else: 30 ± 5}`."""

from __future__ import annotations

import math
from typing import Any

from simflow.plan import Beta, Case, Choice, Constant, Distribution, Given, Normal, Uniform
from simflow.scenario import values
from simflow.scenario.kinds.base import INVALID, Invalid, Kind, Reader
from simflow.scenario.kinds.scalars import Number, Share, Text
from simflow.scenario.nodes import Entry, Items, Node, Scalar, Table, is_null
from simflow.scenario.problems import Span

CLIPPED = 0.1
"""Part of a normal distribution that may lie beyond its range before that is worth a warning."""


class Distributed(Kind):
    """A distribution: a number, a range, a spread, a beta, or options with shares. `low`, `high` bound numbers; `words` allows options."""

    def __init__(self, low: float | None = None, high: float | None = None, *, words: bool = False) -> None:
        self.low, self.high, self.words = low, high, words
        self.says = "a distribution (0.3, 20..34, 71 ± 6, {beta: [2, 8]}" + (", {a: 60%, b: 40%})" if words else ")")

    def read(self, node: Node, reader: Reader) -> Any:
        """A plan distribution."""
        if isinstance(node, Table):
            return self._table(node, reader)
        if not isinstance(node, Scalar) or is_null(node) or isinstance(node.value, bool):
            return self.wrong(node, reader)
        if called := values.call(node.text):
            return _called(called[0], called[1], node.span, reader)
        try:
            found = values.distribution(node.text)
        except values.Unread as error:
            return reader.add("SF305", f"'{node.text}' {error.message}", node.span, error.hint)
        if isinstance(found, Choice):
            return found if self.words else self.wrong(node, reader)
        return self._bounded(found, node.span, reader)

    def _bounded(self, found: Distribution, span: Span, reader: Reader) -> Any:
        low, high = self.low, self.high
        if low is None or high is None:
            return found
        ends = {Constant: lambda d: (d.value, d.value), Uniform: lambda d: (d.low, d.high), Normal: lambda d: (d.mean, d.mean)}.get(
            type(found)
        )
        if ends and not (low <= ends(found)[0] and ends(found)[1] <= high):
            return reader.add("SF303", f"this leaves the range {low:g}..{high:g}", span)
        if isinstance(found, Normal) and (part := _beyond(found, low, high)) > CLIPPED:
            reader.warn(
                "SF801",
                f"{100 * part:.0f} % of its draws lie beyond {low:g}..{high:g} and are clipped",
                span,
                "a smaller spread, or a range",
            )
        return found

    def _table(self, node: Table, reader: Reader) -> Any:
        if "given" in node.entries:
            return self._given(node, reader)
        names = list(node.entries)
        if len(names) == 1 and isinstance(node.entries[names[0]].value, Items):
            return self._function(node.entries[names[0]], reader)
        if not self.words:
            return self.wrong(node, reader)
        shares = {e.name: Share().read(e.value, reader) for e in node}
        if any(isinstance(v, Invalid) for v in shares.values()):
            return INVALID
        total = sum(shares.values())
        if not shares or abs(total - 1) > 1e-6:
            return reader.add("SF306", f"the shares sum to {100 * total:.6g} %, not 100 %", node.span, _missing(total))
        return Choice(tuple(shares.items()))

    def _given(self, node: Table, reader: Reader) -> Any:
        trait = Text().read(node.entries["given"].value, reader)
        cases: list[Case] = []
        otherwise: Any = None
        fine = not isinstance(trait, Invalid)
        for entry in node:
            if entry.name == "given":
                continue
            then = self.read(entry.value, reader)
            where = None if entry.name == "else" else self._case(entry, reader)
            if isinstance(then, Invalid) or isinstance(where, Invalid):
                fine = False
            elif where is None:
                otherwise = then
            else:
                cases.append(Case(then, *where))
        if not fine:
            return INVALID
        if not cases:
            hint = "write what it depends on and the cases: {given: age, 18..34: 20..30, 35..: 30 ± 5}"
            return reader.add("SF305", "a dependent value needs cases", node.span, hint)
        return Given(trait, tuple(cases), otherwise)

    def _case(self, entry: Entry, reader: Reader) -> Any:
        try:
            ends = values.interval(entry.name)
        except values.Unread as error:
            return reader.add("SF305", f"'{entry.name}' {error.message}", entry.key.span, error.hint)
        return (entry.name.strip(), None, None) if ends is None else (None, *ends)

    def _function(self, entry: Entry, reader: Reader) -> Any:
        assert isinstance(entry.value, Items)
        read = [Number(-1e12, 1e12).read(i, reader) for i in entry.value.items]
        if any(isinstance(v, Invalid) for v in read):
            return INVALID
        if entry.name == "beta" and len(read) == 2:
            if min(read) <= 0:
                return reader.add("SF303", "beta needs two numbers above 0", entry.value.span)
            if self.low not in {None, 0.0} or self.high not in {None, 1.0}:
                return reader.add(
                    "SF305",
                    f"beta draws from 0..1, and this goes from {self.low:g} to {self.high:g}",
                    entry.key.span,
                    "write a range or a spread",
                )
            return Beta(read[0], read[1])
        return reader.add("SF305", f"'{entry.name}' is not a known distribution", entry.key.span, values.instead_of_call(entry.name, read))

    def schema(self) -> dict[str, Any]:
        """The notations."""
        return {"$ref": "#/$defs/distribution"} if self.words else {"$ref": "#/$defs/numeric_distribution"}


def _beyond(found: Normal, low: float, high: float) -> float:
    scale = found.sd * math.sqrt(2)
    return 0.5 * (math.erfc((found.mean - low) / scale) + math.erfc((high - found.mean) / scale)) if scale else 0.0


def _missing(total: float) -> str:
    rest = 100 * (1 - total)
    return f"{rest:.6g} % are missing" if rest > 0 else f"take away {-rest:.6g} %"


def _called(name: str, arguments: str, span: Span, reader: Reader) -> Invalid:
    numbers = []
    for part in arguments.split(","):
        try:
            numbers.append(values.number(part))
        except values.Unread:
            continue
    hint = values.instead_of_call(name, numbers)
    return reader.add("SF305", f"'{name}(…)' is a call, and there are no calls in a scenario", span, hint)
