"""Problems: what is wrong, where it stands, what to do. Rendered as a good compiler would."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from simflow.errors import BadInput
from simflow.plan.record import Record

Severity = Literal["error", "warning"]
SHAPE_VERSION = 1
"""Version of the JSON shape that `--json` prints; raised only when a field changes its meaning or goes away."""
_SHOWN = 160


class SourceText(Record):
    """The text of one file, by lines, under the name that problems show."""

    name: str
    lines: Sequence[str]

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Span(NamedTuple):
    """From `line`:`column` to `end_line`:`end_column` (excluded) of a text; all from 1, columns in characters, not bytes."""

    text: SourceText
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.text.name}:{self.line}"

    @property
    def source(self) -> str:
        """The line on which the span starts; empty past the end of the file."""
        return self.text.lines[self.line - 1] if 0 < self.line <= len(self.text.lines) else ""

    def within(self, needle: str) -> Span:
        """The first place of `needle` inside this span; the span itself if it is not there as written."""
        for number in range(self.line, min(self.end_line, len(self.text.lines)) + 1):
            start = self.column - 1 if number == self.line else 0
            at = self.text.lines[number - 1].find(needle, start)
            if at >= 0:
                return Span(self.text, number, at + 1, number, at + 1 + len(needle))
        return self


class Problem(Record):
    """One thing that is wrong (`error`) or surprises (`warning`). `code` has a page: `simflow explain-error CODE`."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    severity: Severity = "error"
    file: str = ""

    @property
    def place(self) -> str:
        """`file:line:column`, or the file alone when nothing finer is known."""
        if self.span is None:
            return self.file
        return f"{self.span.text.name}:{self.span.line}:{self.span.column}"

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Sorts problems by where they stand."""
        span = self.span
        return (span.text.name, span.line, span.column, self.code, self.message) if span else (self.file, 0, 0, self.code, self.message)

    def plain(self) -> dict[str, Any]:
        """JSON values; the keys of version 1."""
        span = self.span
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "file": span.text.name if span else self.file,
            "line": span.line if span else None,
            "column": span.column if span else None,
            "end_line": span.end_line if span else None,
            "end_column": span.end_column if span else None,
            "source": _clip(span.source) if span else None,
        }

    def render(self) -> str:
        """Message, place, source line, caret and hint."""
        head = f"{self.severity}[{self.code}]: {self.message}"
        if self.span is None:
            lines = [head, f" --> {self.place}"] if self.place else [head]
        else:
            span = self.span
            gutter = " " * len(str(span.line))
            source, before, under = _caret(span)
            lines = [
                head,
                f"{gutter}--> {self.place}",
                f"{gutter} |",
                f"{span.line} | {source}",
                f"{gutter} | {' ' * before}{'^' * under}",
            ]
        if self.hint:
            lines.append(f"  = hint: {self.hint}")
        return "\n".join(lines)


class Unreadable(Exception):
    """A text that gives no tree; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Problems(BadInput):
    """A scenario that cannot be used. `problems` holds all that was found, in the order of the text."""

    heading = ""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n\n".join(p.render() for p in self.problems) + f"\n\n{summary(self.problems)}")


def summary(problems: Sequence[Problem]) -> str:
    """`3 errors, 1 warning`."""
    errors = sum(p.severity == "error" for p in problems)
    warnings = len(problems) - errors
    parts = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((errors, "error"), (warnings, "warning")) if n]
    return ", ".join(parts) or "no problems"


def ordered(problems: Iterable[Problem]) -> list[Problem]:
    """Each problem once, by place; what several cells share is said once."""
    kept: dict[tuple[Any, ...], Problem] = {}
    for problem in problems:
        kept.setdefault(problem.order, problem)
    return sorted(kept.values(), key=lambda p: p.order)


def width(text: str) -> int:
    """Columns that a terminal gives to `text`: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) or c in "\u200b\u200d\ufe0f" else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def printable(text: str) -> str:
    """Control characters as escapes, so that a hostile file cannot move the cursor or hide words."""
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode("ascii") for c in text)


def _clip(line: str) -> str:
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _caret(span: Span) -> tuple[str, int, int]:
    # A long line is shown around the caret; tabs become one space, so that caret and text keep the same widths.
    line, column = span.source, span.column - 1
    stop = span.end_column - 1 if span.end_line == span.line else len(line)
    cut = max(0, column - _SHOWN // 2) if len(line) > _SHOWN else 0
    shown = line[cut : cut + _SHOWN]
    lead = "…" if cut else ""
    tail = "…" if cut + _SHOWN < len(line) else ""
    stop = max(column + 1, min(stop, cut + len(shown)))
    before = printable(shown[: column - cut]).replace("\t", " ")
    under = printable(shown[column - cut : stop - cut]).replace("\t", " ")
    rest = printable(shown[stop - cut :]).replace("\t", " ")
    return f"{lead}{before}{under}{rest}{tail}", width(lead + before), max(1, width(under))


def report(problems: Iterable[Problem]) -> str:
    """JSON text of the versioned shape: `{"version": 1, "problems": [...]}`."""
    return json.dumps({"version": SHAPE_VERSION, "problems": [p.plain() for p in problems]}, ensure_ascii=False, indent=1)
