"""Kinds of value: how each is read from the tree, what it says when it cannot be, and what it is in JSON Schema."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simflow.plan import Beta, Choice, Constant, Distribution, Normal, Uniform
from simflow.scenario import values
from simflow.scenario.nodes import Entry, Items, Node, Scalar, Table, is_null
from simflow.scenario.problems import Problem, Severity, Span


class Invalid:
    """What a kind gives when the value cannot be used; the reason is among the problems."""


INVALID: Final = Invalid()
CLIPPED = 0.1
"""Part of a normal distribution that may lie beyond its range before that is worth a warning."""


@dataclass(slots=True)
class Reader:
    """Collects problems while a tree is read."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, code: str, message: str, span: Span, hint: str | None = None, severity: Severity = "error") -> Invalid:
        """One problem; returns INVALID, so that kinds can end with it."""
        self.problems.append(Problem(code, message, span, hint, severity))
        return INVALID

    def warn(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """One warning."""
        self.problems.append(Problem(code, message, span, hint, "warning"))


class Section(dict[str, Any]):
    """Values of a map with fixed keys, by name; keys that were left out or could not be read are absent. `node` is where it stands."""

    def __init__(self, node: Table) -> None:
        super().__init__()
        self.node = node

    def span(self, name: str | None = None) -> Span:
        """Where the value of `name` stands; the section itself if it was left out."""
        value = self.node.get(name) if name else None
        return value.span if value else self.node.span

    def key(self, name: str) -> Span:
        """Where the key `name` stands."""
        entry = self.node.entries.get(name)
        return entry.key.span if entry else self.node.span


class Named(dict[str, Any]):
    """Values of a map whose keys are names that the author chose."""

    def __init__(self, node: Table) -> None:
        super().__init__()
        self.node = node

    def span(self, name: str) -> Span:
        """Where the value of `name` stands."""
        return self.node.entries[name].value.span if name in self.node.entries else self.node.span

    def key(self, name: str) -> Span:
        """Where the name stands."""
        return self.node.entries[name].key.span if name in self.node.entries else self.node.span


class Kind:
    """A kind of value."""

    says: str = "a value"

    def read(self, node: Node, reader: Reader) -> Any:
        """The value, or INVALID with a problem added."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        raise NotImplementedError

    def wrong(self, node: Node, reader: Reader, hint: str | None = None) -> Invalid:
        """The problem that the value is of another kind."""
        return reader.add("SF302", f"{shown(node)} is not {self.says}", node.span, hint)


def shown(node: Node) -> str:
    """A value in a message: the text of a scalar, or that it is a list or a map."""
    if isinstance(node, Scalar):
        if is_null(node):
            return "nothing"
        return f"'{node.text}'" if len(node.text) <= 40 else f"'{node.text[:39]}…'"
    return "a list" if isinstance(node, Items) else "a map"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    options = list(known)
    folded = {o.casefold().replace("_", " ").replace("-", " "): o for o in options}
    key = name.casefold().replace("_", " ").replace("-", " ")
    if key in folded:
        return folded[key]
    close = difflib.get_close_matches(key, folded, 1, 0.6)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str], what: str) -> str:
    """A hint: the nearest known name, or the known ones."""
    options = list(known)
    if close := nearest(name, options):
        return f"did you mean '{close}'?"
    if not options:
        return f"there are no {what} in this scenario"
    return f"{what}: {', '.join(options[:12])}{', …' if len(options) > 12 else ''}"


@dataclass(frozen=True)
class Text(Kind):
    """Text. Numbers and words such as `yes` count as the text that was written."""

    says: str = "text"
    empty: bool = False

    def read(self, node: Node, reader: Reader) -> Any:
        """The text as written."""
        if not isinstance(node, Scalar) or is_null(node):
            hint = "put text that contains ': ' or starts with [ or { in quotes" if not isinstance(node, Scalar) else None
            return self.wrong(node, reader, hint)
        if not node.text.strip() and not self.empty:
            return reader.add("SF302", "an empty text says nothing", node.span, "write the text, or leave the key out")
        return node.text

    def schema(self) -> dict[str, Any]:
        """Text, or a number that stands for text."""
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number in a range."""

    low: int = 0
    high: int | None = None

    @property
    def says(self) -> str:  # type: ignore[override]
        """The range in words."""
        return f"a whole number of {self.low:,} or more" if self.high is None else f"a whole number from {self.low:,} to {self.high:,}"

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


@dataclass(frozen=True)
class Number(Kind):
    """A number in a range; percentages allowed."""

    low: float = 0.0
    high: float | None = None

    @property
    def says(self) -> str:  # type: ignore[override]
        """The range in words."""
        return f"a number of {self.low:g} or more" if self.high is None else f"a number from {self.low:g} to {self.high:g}"

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

    @property
    def says(self) -> str:  # type: ignore[override]
        """In words."""
        return "a share from 0% to 100%"


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    says: str = "true or false"

    def read(self, node: Node, reader: Reader) -> Any:
        """A bool."""
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        meant = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(node.text.lower()) if isinstance(node, Scalar) else None
        return self.wrong(node, reader, f"write {meant}" if meant else None)

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some words."""

    options: tuple[str, ...]
    what: str = "values"

    @property
    def says(self) -> str:  # type: ignore[override]
        """The words."""
        return f"one of {', '.join(self.options)}"

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


@dataclass(frozen=True)
class Distributed(Kind):
    """A distribution: a number, a range, a spread, a beta, or options with shares. `low`, `high` bound numbers; `words` allows options."""

    low: float | None = None
    high: float | None = None
    words: bool = False

    @property
    def says(self) -> str:  # type: ignore[override]
        """In words."""
        return "a distribution (0.3, 20..34, 71 ± 6, {beta: [2, 8]}" + (", {a: 60%, b: 40%})" if self.words else ")")

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
    if len(numbers) < 2 and "write" in hint:
        hint += " (a YAML map ends the text at the comma)"
    return reader.add("SF305", f"'{name}(…)' is a call, and there are no calls in a scenario", span, hint)


@dataclass(frozen=True)
class When(Kind):
    """A time: ticks, a length, `end`."""

    says: str = "a time: ticks (36), a length (36h, 10d, 30min, 2w)"
    end: bool = False

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


@dataclass(frozen=True)
class Amount(Kind):
    """A number with an optional k, M, G."""

    says: str = "an amount such as 200k or 5M"

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


@dataclass(frozen=True)
class ListOf(Kind):
    """A list; one value alone counts as a list of one."""

    item: Kind
    least: int = 0
    exactly: int | None = None

    @property
    def says(self) -> str:  # type: ignore[override]
        """In words."""
        return f"a list of {self.exactly}" if self.exactly else f"a list, each item {self.item.says}"

    def read(self, node: Node, reader: Reader) -> Any:
        """A tuple."""
        if isinstance(node, Table) and not isinstance(self.item, Fields):
            return self.wrong(node, reader)
        if is_null(node):
            return self.wrong(node, reader, "leave the key out, or write []")
        nodes = node.items if isinstance(node, Items) else (node,)
        if self.exactly is not None and len(nodes) != self.exactly:
            return reader.add("SF302", f"{len(nodes)} values, where {self.exactly} are needed", node.span)
        if len(nodes) < self.least:
            return reader.add("SF302", f"at least {self.least} are needed", node.span)
        read = [self.item.read(n, reader) for n in nodes]
        return INVALID if any(isinstance(v, Invalid) for v in read) else tuple(read)

    def schema(self) -> dict[str, Any]:
        """An array, or one item."""
        array: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        if self.exactly is not None:
            return array | {"minItems": self.exactly, "maxItems": self.exactly}
        if self.least:
            array["minItems"] = self.least
        return {"anyOf": [array, self.item.schema()]}


@dataclass(frozen=True)
class MapOf(Kind):
    """A map whose keys are names that the author chooses. `what` names them in messages."""

    item: Kind
    what: str = "names"

    @property
    def says(self) -> str:  # type: ignore[override]
        """In words."""
        return f"a map of {self.what}"

    def read(self, node: Node, reader: Reader) -> Any:
        """A `Named`."""
        if not isinstance(node, Table):
            return self.wrong(node, reader, f"write a map: one line for each of the {self.what}, `name: value`")
        named = Named(node)
        for entry in node:
            if not entry.name.strip():
                reader.add("SF302", "a name is empty", entry.key.span)
            elif entry.name.rstrip().endswith(")") and is_null(entry.value):
                continue  # the second half of a call that YAML split at its comma; the first half is reported
            else:
                value = self.item.read(entry.value, reader)
                if not isinstance(value, Invalid):
                    named[entry.name] = value
        return named

    def schema(self) -> dict[str, Any]:
        """An object with free keys."""
        return {"type": "object", "additionalProperties": {"anyOf": [self.item.schema(), {"type": "null"}]}}


@dataclass(frozen=True)
class Key:
    """One key of the language. `to` is the plan value that it sets; `reads` are the stages that read it; `example` is YAML for its value."""

    name: str
    kind: Kind
    doc: str
    example: str
    to: str
    reads: tuple[str, ...] = ()
    default: str = ""
    required: bool = False


@dataclass(frozen=True)
class Fields(Kind):
    """A map with fixed keys. `short`: which key a bare value stands for."""

    title: str
    keys: tuple[Key, ...]
    short: str | None = None
    doc: str = ""
    check: Callable[[Section, Reader], None] | None = None
    instead: Mapping[str, str] = field(default_factory=dict)

    @property
    def says(self) -> str:  # type: ignore[override]
        """In words."""
        return f"a map ({', '.join(k.name for k in self.keys[:6])}{', …' if len(self.keys) > 6 else ''})"

    def key(self, name: str) -> Key | None:
        """The key of that name."""
        return next((k for k in self.keys if k.name == name), None)

    def read(self, node: Node, reader: Reader) -> Any:
        """A `Section`. An unknown key that is nearly a known one is read as that one too, so that its value is checked as well."""
        if not isinstance(node, Table):
            short = self.key(self.short) if self.short else None
            if short is None or is_null(node):
                return self.wrong(node, reader)
            section = Section(Table({short.name: Entry(Scalar(short.name, short.name, node.span), node)}, node.span))
            value = short.kind.read(node, reader)
            if isinstance(value, Invalid):
                return INVALID
            section[short.name] = value
            return section
        section = Section(node)
        known = {k.name: k for k in self.keys}
        for entry in node:
            key = known.get(entry.name)
            if key is None:
                self._unknown(entry, section, known, reader)
            elif is_null(entry.value):
                reader.warn("SF806", f"'{entry.name}' has no value and is treated as left out", entry.key.span)
            else:
                value = key.kind.read(entry.value, reader)
                if not isinstance(value, Invalid):
                    section[entry.name] = value
        for key in self.keys:
            if key.required and key.name not in node.entries and not any(nearest(e.name, [key.name]) for e in node):
                reader.add("SF307", f"{self.title} needs '{key.name}'", node.span, f"for example `{key.name}: {key.example}`")
        if self.check:
            self.check(section, reader)
        return section

    def _unknown(self, entry: Entry, section: Section, known: Mapping[str, Key], reader: Reader) -> None:
        if entry.name.rstrip().endswith(")") and is_null(entry.value):
            return
        hint = self.instead.get(entry.name) or did_you_mean(entry.name, known, "known keys")
        reader.add("SF301", f"'{entry.name}' is not a key of {self.title}", entry.key.span, hint)
        close = nearest(entry.name, known)
        if close and close not in section.node.entries and not is_null(entry.value):
            value = known[close].kind.read(entry.value, reader)
            if not isinstance(value, Invalid):
                section.setdefault(close, value)

    def schema(self) -> dict[str, Any]:
        """An object that takes these keys and no other."""
        found: dict[str, Any] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                k.name: {"description": k.doc, "anyOf": [k.kind.schema(), {"type": "null"}]} | ({"default": k.default} if k.default else {})
                for k in self.keys
            },
        }
        if required := [k.name for k in self.keys if k.required]:
            found["required"] = required
        short = self.key(self.short) if self.short else None
        return {"anyOf": [found, short.kind.schema()]} if short else found
