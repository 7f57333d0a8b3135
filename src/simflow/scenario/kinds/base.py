"""What all kinds share. They are plain classes: a check of a scenario pays for every decorator that runs at import."""

from __future__ import annotations

from typing import Any, Final

from simflow.scenario.kinds.names import shown
from simflow.scenario.nodes import Node, Table
from simflow.scenario.problems import Problem, Severity, Span


class Invalid:
    """What a kind gives when the value cannot be used; the reason is among the problems."""


INVALID: Final = Invalid()


class Reader:
    """Collects problems while a tree is read."""

    def __init__(self, problems: list[Problem] | None = None) -> None:
        self.problems: list[Problem] = [] if problems is None else problems

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
