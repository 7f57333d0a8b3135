"""What a reader says of a text, piece by piece."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["document", "scalar", "alias", "map", "list", "end"]
"""A document, a map or a list begins; `end` is that of the innermost map or list."""


class Mark(NamedTuple):
    """A place: line and column from 0, and characters before it in the text."""

    line: int
    column: int
    at: int


class Event(NamedTuple):
    """A piece of a text. `value`: of a scalar, or the name that an alias stands for. `style`: `'`, `"`, `|`, `>`; None for plain text."""

    kind: Kind
    start: Mark
    end: Mark
    value: str = ""
    anchor: str | None = None
    tag: str | None = None
    style: str | None = None


class Fault(NamedTuple):
    """A code, what is wrong at place `at` of the text, and what to write instead."""

    code: str
    at: int
    message: str
    hint: str


class Broken(Exception):
    """A text that is not YAML 1.2; `fault` says why and where."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
