"""A place in a text: where its lines begin, what separates tokens, and the events read so far."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple, NoReturn

from simflow.scenario.yaml12.events import Broken, Event, Fault, Mark

END = "\0"
"""Stands after the last character, which saves asking for the end everywhere; no text has one of its own."""
BLANK = " \t"
BREAKS = "\r\n"
AFTER = BLANK + BREAKS + END
"""What makes a sign of the character before it."""
DEEPEST = 40
LONGEST_KEY = 1024
_BLANKS = re.compile(r"[ \t]*")
_LINE = re.compile(r"[^\r\n\0]*")
_BREAK = re.compile(r"\r\n|\r|\n")


class Properties(NamedTuple):
    """An anchor and a tag that stand before a node."""

    start: int
    end: int
    anchor: str | None = None
    tag: str | None = None


class Cursor:
    """Reads forward through one text; `out` has the events in order."""

    def __init__(self, text: str) -> None:
        self.text = text + END
        self.pos = 0
        self.depth = 0
        self.out: list[Event] = []
        self._starts = [0, *(found.end() for found in _BREAK.finditer(text))]

    def fail(self, message: str, hint: str, at: int | None = None, code: str = "SF104") -> NoReturn:
        """Refuse the text, at `at` or where the cursor is."""
        raise Broken(Fault(code, min(self.pos if at is None else at, len(self.text) - 1), message, hint))

    def directive(self) -> NoReturn:
        """Refuse a line that begins with %."""
        what = "a line with % can only say `%YAML 1.2`, at the very beginning"
        self.fail(what, "take the line out: scenarios are YAML 1.2 without tags", code="SF111")

    def line_of(self, at: int) -> int:
        """Number of the line, from 0."""
        return bisect_right(self._starts, at) - 1

    def mark(self, at: int) -> Mark:
        """The place `at`."""
        line = self.line_of(at)
        return Mark(line, at - self._starts[line], at)

    def over(self) -> Mark:
        """Where a block ends: before the next token, or at the line that would follow the last."""
        here = self.mark(self.pos)
        return Mark(here.line + 1, 0, here.at) if self.text[self.pos] == END and here.column else here

    def column(self) -> int:
        """Characters before the cursor in its line."""
        return self.pos - self._starts[self.line_of(self.pos)]

    def indent(self) -> int:
        """Spaces at the beginning of the cursor's line."""
        start = self._starts[self.line_of(self.pos)]
        end = start
        while self.text[end] == " ":
            end += 1
        return end - start

    def blanks(self) -> None:
        """Go over spaces and tabs."""
        found = _BLANKS.match(self.text, self.pos)
        self.pos = found.end() if found else self.pos

    def rest(self) -> str:
        """The line from the cursor on."""
        found = _LINE.match(self.text, self.pos)
        return found.group() if found else ""

    def line_break(self) -> bool:
        """Go over one line break, if there is one here."""
        found = _BREAK.match(self.text, self.pos)
        if found:
            self.pos = found.end()
        return found is not None

    def skip(self) -> bool:
        """Go to the next token, over blanks, comments and line breaks; whether that is in another line."""
        crossed = False
        while True:
            self.blanks()
            if self.text[self.pos] == "#" and (not self.pos or self.text[self.pos - 1] in AFTER):
                self.pos += len(self.rest())
            if not self.line_break():
                return crossed
            crossed = True

    def finish_line(self) -> None:
        """Nothing but a comment may follow in this line."""
        self.blanks()
        char = self.text[self.pos]
        if char == "#" and self.text[self.pos - 1] in AFTER:
            self.pos += len(self.rest())
        elif char == "#":
            self.fail("a comment needs a space before its #", "put a space there, or the text in quotes")
        elif char == ":" and self.text[self.pos + 1] in AFTER:
            self.fail("a second ': ' in one line, or a key that is indented too far", "put text that contains ': ' in quotes")
        elif char not in BREAKS + END:
            self.fail("text goes on after a value that has ended", "put the whole text in quotes; inside single quotes, write two for one")

    def sign(self, char: str) -> bool:
        """Whether `char` stands here as a sign of structure: with a space, or nothing, after it."""
        return self.text[self.pos] == char and self.text[self.pos + 1] in AFTER

    def border(self) -> bool:
        """Whether a line with --- or ... is here."""
        if self.text[self.pos : self.pos + 3] not in {"---", "..."} or self.text[self.pos + 3] not in AFTER:
            return False
        return self.column() == 0

    def ended(self) -> bool:
        """Whether the document ends here."""
        return self.text[self.pos] == END or self.border()

    def properties(self, *, flow: bool) -> Properties | None:
        """The anchor and the tag here, in one line and in any order; the cursor goes to what follows in this line."""
        found: Properties | None = None
        while self.text[self.pos] in "&!":
            from simflow.scenario.yaml12.properties import read_property  # noqa: PLC0415 - most texts have neither

            found = self.merged(found, read_property(self, flow=flow))
            self.blanks()
        return found

    def merged(self, one: Properties | None, two: Properties | None) -> Properties | None:
        """Both together; a node has at most one anchor and one tag."""
        if one is None or two is None:
            return one or two
        if (one.anchor and two.anchor) or (one.tag and two.tag):
            self.fail("two names or two tags for one value", "keep one", two.start)
        return Properties(one.start, two.end, one.anchor or two.anchor, one.tag or two.tag)

    def scalar(self, value: str, start: int, end: int, own: Properties | None, style: str | None = None) -> None:
        """Add a scalar; `own` are the properties before it."""
        if own:
            self.out.append(Event("scalar", self.mark(own.start), self.mark(end), value, own.anchor, own.tag, style))
        else:
            self.out.append(Event("scalar", self.mark(start), self.mark(end), value, None, None, style))

    def empty(self, own: Properties | None, at: int | None = None) -> None:
        """Add a value that is left out: null, where its properties are, or at `at`, or before the next token."""
        if own:
            self.scalar("", own.start, own.end, own)
        elif at is not None:
            self.scalar("", at, at, None)
        else:
            self.out.append(Event("scalar", self.over(), self.over()))

    def deeper(self) -> None:
        """One more collection is open."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"nested more than {DEEPEST} deep", "nest less", code="SF103")
