"""The small notations inside values: shares, distributions, times, amounts. Text in, plan values out; no YAML here."""

from __future__ import annotations

import math
import re
from typing import Literal

from simflow.plan import Choice, Constant, Distribution, Normal, Uniform
from simflow.plan.record import Record

_DIGITS = r"[-+−]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
# Patterns are text, compiled when the first value in their notation is met: a check compiles few of them.
_NUMBER = rf"\s*({_DIGITS})\s*(%?)\s*\Z"
_RANGE = rf"\s*({_DIGITS})\s*(%?)\s*(?:\.\.|…|–)\s*({_DIGITS})\s*(%?)\s*\Z"
_ENDS = rf"\s*(?:({_DIGITS})\s*(%?))?\s*(?:\.\.|…|–)\s*(?:({_DIGITS})\s*(%?))?\s*\Z"
_SPREAD = rf"\s*({_DIGITS})\s*(%?)\s*(?:±|\+-|\+/-)\s*({_DIGITS})\s*(%?)\s*\Z"
_TIME = r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)?\s*\Z"
_AMOUNT = r"\s*(\d+(?:[_ ,]\d{3})*(?:\.\d+)?)\s*([kKmMgG]?)\s*\Z"
_CALL = r"\s*([A-Za-z_]\w*)\s*\(([^()]*)\)?\s*\Z"

UNITS: dict[str, int] = {
    **dict.fromkeys(("m", "min", "minute", "minutes"), 1),
    **dict.fromkeys(("h", "hour", "hours"), 60),
    **dict.fromkeys(("d", "day", "days"), 1440),
    **dict.fromkeys(("w", "week", "weeks"), 10080),
}
"""Minutes of each unit of time."""


class Time(Record):
    """A moment or a length as written: ticks, minutes, or the end of the run. Ticks are known once the clock is."""

    amount: float
    unit: Literal["ticks", "minutes", "end"]

    def ticks(self, minutes: int, end: int) -> float:
        """In ticks of `minutes` minutes, in a run of `end` ticks; not whole if it falls inside a tick."""
        if self.unit == "end":
            return float(end)
        return self.amount if self.unit == "ticks" else self.amount / minutes


class Unread(Exception):
    """The text is not in this notation. `hint` says how to write it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def number(text: str) -> float:
    """`0.3`, `-2`, `30%` as a finite number."""
    found = re.match(_NUMBER, text)
    if not found:
        raise Unread("is not a number")
    return _scaled(found.group(1), found.group(2))


def _scaled(digits: str, percent: str) -> float:
    value = float(digits.replace("−", "-"))
    if not math.isfinite(value):
        raise Unread("is too large a number")
    # Division by 100 of the decimal text, not of the binary number: 55% is exactly the number that 0.55 is.
    return float(f"{digits.replace('−', '-')}e-2") if percent and "e" not in digits.lower() else value / 100 if percent else value


def spread(text: str) -> Distribution | None:
    """`20..34` or `71 ± 6`; None if the text is neither."""
    if ("." in text or "…" in text or "–" in text) and (found := re.match(_RANGE, text)):
        low, low_percent, high, high_percent = found.groups()
        a, b = _scaled(low, low_percent or high_percent), _scaled(high, high_percent)
        if a > b:
            raise Unread(f"runs from {a:g} down to {b:g}", f"write {high}..{low}")
        return Uniform(a, b)
    if ("±" in text or "+" in text) and (found := re.match(_SPREAD, text)):
        mean, mean_percent, sd, sd_percent = found.groups()
        b = _scaled(sd, sd_percent)
        if b < 0:
            raise Unread("has a negative spread", "write the mean, ±, and a spread of 0 or more")
        return Normal(_scaled(mean, mean_percent or sd_percent), b)
    return None


def interval(text: str) -> tuple[float | None, float | None] | None:
    """`18..34`, `65..`, `..17` or `3` as (lowest, highest); None if the text is a word."""
    if found := re.match(_ENDS, text):
        low = _scaled(found[1], found[2] or found[4] or "") if found[1] else None
        high = _scaled(found[3], found[4]) if found[3] else None
        if low is None and high is None:
            raise Unread("has no ends", "write 18..34, 65.. or ..17")
        if low is not None and high is not None and low > high:
            raise Unread(f"runs from {low:g} down to {high:g}", "lowest first")
        return low, high
    try:
        return (number(text),) * 2
    except Unread:
        return None


def distribution(text: str) -> Distribution:
    """A number, a range, a spread; anything else is one fixed word."""
    if found := spread(text):
        return found
    try:
        return Constant(number(text))
    except Unread:
        return Choice(((text, 1.0),))


def call(text: str) -> tuple[str, str] | None:
    """(name, arguments) if the text looks like a call, such as `normal(71` after YAML has split it at the comma."""
    found = re.match(_CALL, text) if "(" in text else None
    return (found.group(1), found.group(2)) if found else None


def instead_of_call(name: str, arguments: list[float]) -> str:
    """How to write what a call such as `normal(71, 6)` means."""
    a, b = (f"{n:g}" for n in (arguments + [0.0, 1.0][len(arguments) :])[:2])
    forms = {
        **dict.fromkeys(("normal", "gauss", "gaussian", "norm", "n"), f"{a} ± {b}"),
        **dict.fromkeys(("uniform", "range", "randint", "between", "u"), f"{a}..{b}"),
        "beta": f"{{beta: [{a}, {b}]}}",
        **dict.fromkeys(("constant", "const", "fixed"), a),
    }
    how = forms.get(name.lower())
    return f"write {how}" if how else "distributions are: 0.3, 20..34, 71 ± 6, {a: 60%, b: 40%}, {beta: [2, 8]}"


def time(text: str) -> Time:
    """Ticks (`36`), a length (`36h`, `10d`, `30min`, `2w`), or `end`."""
    if text.strip() == "end":
        return Time(0, "end")
    found = re.match(_TIME, text)
    if not found:
        raise Unread("is not a time", "write ticks (36), a length (36h, 10d, 30min, 2w) or end")
    amount, unit = float(found.group(1)), found.group(2)
    if unit is None or unit in {"tick", "ticks", "t"}:
        return Time(amount, "ticks")
    if unit not in UNITS:
        raise Unread(f"has the unknown unit '{unit}'", "units are min, h, d, w; a bare number is in ticks")
    return Time(amount * UNITS[unit], "minutes")


def amount(text: str) -> float:
    """`5M`, `200k`, `1_000`, `20`: a number with an optional k, M or G."""
    found = re.match(_AMOUNT, text)
    if not found:
        raise Unread("is not an amount", "write a number, or one with k, M or G: 200k, 5M")
    factor = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found.group(2).lower()]
    return float(re.sub(r"[_ ,]", "", found.group(1))) * factor
