"""Kinds of single values."""

from __future__ import annotations

from typing import Any

from simflow.scenario import values
from simflow.scenario.kinds.base import Kind, Reader
from simflow.scenario.kinds.names import did_you_mean, shown
from simflow.scenario.nodes import Node, Scalar, is_null


class Text(Kind):
    """Text. Numbers and words such as `yes` count as the text that was written."""

    says = "text"

    def read(self, node: Node, reader: Reader) -> Any:
        """The text as written."""
        if not isinstance(node, Scalar) or is_null(node):
            hint = "put text that contains ': ' or starts with [ or { in quotes" if not isinstance(node, Scalar) else None
            return self.wrong(node, reader, hint)
        if not node.text.strip():
            return reader.add("SF302", "an empty text says nothing", node.span, "write the text, or leave the key out")
        return node.text

    def schema(self) -> dict[str, Any]:
        """Text, or a number that stands for text."""
        return {"type": ["string", "number", "boolean"]}


class Whole(Kind):
    """A whole number in a range."""

    def __init__(self, low: int = 0, high: int | None = None) -> None:
        self.low, self.high = low, high
        self.says = f"a whole number of {low:,} or more" if high is None else f"a whole number from {low:,} to {high:,}"

    def read(self, node: Node, reader: Reader) -> Any:
        """An int."""
        if isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool):
            if node.value >= self.low and (self.high is None or node.value <= self.high):
                return node.value
            return reader.add("SF303", f"{node.text} is out of range: {self.says}", node.span)
        quoted = isinstance(node, Scalar) and node.quoted and node.text.strip().isdigit()
        return self.wrong(node, reader, "leave out the quotes" if quoted else None)

    def schema(self) -> dict[str, Any]:
        """An integer with its range."""
        return {"type": "integer", "minimum": self.low} | ({} if self.high is None else {"maximum": self.high})


class Number(Kind):
    """A number in a range; percentages allowed."""

    def __init__(self, low: float = 0.0, high: float | None = None) -> None:
        self.low, self.high = low, high
        self.says = f"a number of {low:g} or more" if high is None else f"a number from {low:g} to {high:g}"

    def read(self, node: Node, reader: Reader) -> Any:
        """A finite float."""
        if not isinstance(node, Scalar) or is_null(node) or isinstance(node.value, bool):
            return self.wrong(node, reader)
        try:
            value = values.number(node.text)
        except values.Unread as error:
            return self.wrong(node, reader, error.hint)
        if value < self.low or (self.high is not None and value > self.high):
            hint = f"write {node.text.strip()}% if that is meant" if self.high == 1 and 1 < value <= 100 and "%" not in node.text else None
            return reader.add("SF303", f"{node.text} is out of range: {self.says}", node.span, hint)
        return value

    def schema(self) -> dict[str, Any]:
        """A number with its range, or a percentage."""
        number = {"type": "number", "minimum": self.low} | ({} if self.high is None else {"maximum": self.high})
        return {"anyOf": [number, {"type": "string", "pattern": r"^\s*[-+]?[0-9.]+\s*%?\s*$"}, {"$ref": "#/$defs/variable"}]}


class Share(Number):
    """A part of a whole."""

    def __init__(self) -> None:
        super().__init__(0.0, 1.0)
        self.says = "a share from 0% to 100%"


class Flag(Kind):
    """True or false."""

    says = "true or false"

    def read(self, node: Node, reader: Reader) -> Any:
        """A bool."""
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        meant = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(node.text.lower()) if isinstance(node, Scalar) else None
        return self.wrong(node, reader, f"write {meant}" if meant else None)

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


class OneOf(Kind):
    """One of some words."""

    def __init__(self, options: tuple[str, ...], what: str = "values") -> None:
        self.options, self.what = options, what
        self.says = f"one of {', '.join(options)}"

    def read(self, node: Node, reader: Reader) -> Any:
        """The word."""
        if not isinstance(node, Scalar):
            return self.wrong(node, reader)
        if node.text in self.options:
            return node.text
        return reader.add(
            "SF304", f"{shown(node)} is not among the {self.what}", node.span, did_you_mean(node.text, self.options, self.what)
        )

    def schema(self) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": list(self.options)}


class When(Kind):
    """A time: ticks, a length, `end`."""

    says = "a time: ticks (36), a length (36h, 10d, 30min, 2w)"

    def __init__(self, *, end: bool = False) -> None:
        self.end = end

    def read(self, node: Node, reader: Reader) -> Any:
        """A `values.Time`."""
        if not isinstance(node, Scalar) or is_null(node) or isinstance(node.value, bool):
            return self.wrong(node, reader)
        try:
            found = values.time(node.text)
        except values.Unread as error:
            return reader.add("SF302", f"'{node.text}' {error.message}", node.span, error.hint)
        if found.unit == "end" and not self.end:
            return reader.add("SF302", "'end' is not a length", node.span, "write ticks (36) or a length (36h, 10d)")
        return found

    def schema(self) -> dict[str, Any]:
        """Ticks or text."""
        return {"$ref": "#/$defs/time"}


class Amount(Kind):
    """A number with an optional k, M, G."""

    says = "an amount such as 200k or 5M"

    def read(self, node: Node, reader: Reader) -> Any:
        """A float."""
        if not isinstance(node, Scalar) or is_null(node) or isinstance(node.value, bool):
            return self.wrong(node, reader)
        try:
            return values.amount(node.text)
        except values.Unread as error:
            return reader.add("SF302", f"'{node.text}' {error.message}", node.span, error.hint)

    def schema(self) -> dict[str, Any]:
        """A number or text."""
        return {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^\s*[0-9][0-9_ ,.]*\s*[kKmMgG]?\s*$"},
                {"$ref": "#/$defs/variable"},
            ]
        }
