"""Where libyaml is more lenient than YAML 1.2, or reads something else: found from its events and the text between them.

It follows YAML 1.1 in places: it takes `?foo` in a list for a key, cuts an anchor at a colon, and reads what should be refused. A text must
never mean something else because it is large, so these are refused, each with what to write instead.
"""

from __future__ import annotations

import re
from typing import Any

from simflow.scenario.yaml12 import Fault

_HEADER = re.compile(r"[|>][-+0-9]*")
_ANCHOR = re.compile(r"[&*][^\s,\[\]{}]+")
_CUTS = {":": "colon", "?": "question mark", "%": "percent sign", "@": "sign @", "`": "backtick"}
"""Where libyaml ends a name that goes on."""
_COLON = re.compile(r"[ \t\r\n]*:[^ \t\r\n,\[\]{}]")
_TAG = re.compile(r"!\S*\s+")
_OPEN = "put the text in quotes"
_VERSION = (1, 2)


class Strict:
    """Looks at the events of one text, in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._end = 0
        self._flow = 0
        self._blocks: list[int] = []
        """Columns of the block collections around, innermost last; -1 for flow collections."""
        self._began: list[int] = []
        self._documents = 0

    def look(self, event: Any) -> Fault | None:
        """What is wrong with this event or the text before it; None if nothing is."""
        kind, start, end = type(event).__name__, event.start_mark, event.end_mark
        fault = self._between(start.index)
        self._end = max(self._end, end.index)
        if fault is not None:
            return fault
        if kind == "DocumentStartEvent":
            self._documents += 1
            return self._directives(event)
        if kind == "ScalarEvent":
            return self._before(start.index) or self._scalar(event)
        if kind == "AliasEvent":
            return self._before(start.index) or self._colon(end.index)
        if kind in {"MappingStartEvent", "SequenceStartEvent"}:
            return self._opened(event)
        if kind in {"MappingEndEvent", "SequenceEndEvent"}:
            flow = self._blocks.pop() < 0
            self._flow -= flow
            return self._indented(self._began.pop(), end.index) if flow and not self._flow else None
        return None

    def _opened(self, event: Any) -> Fault | None:
        fault = self._before(event.start_mark.index)
        if event.flow_style:
            self._flow += 1
            self._blocks.append(-1)
            if self._flow == 1:
                self._began.append(event.start_mark.index)
        else:
            self._blocks.append(event.start_mark.column)
        return fault

    def _between(self, start: int) -> Fault | None:
        # Between two events there are spaces, comments and the signs of collections, and nothing else.
        place = self.text.find("#", self._end, start)
        while place >= 0:
            if place and self.text[place - 1] not in " \t\r\n":
                return Fault("SF104", place, "a comment needs a space before its #", "put a space there, or the text in quotes")
            line = re.compile(r"[\r\n]").search(self.text, place, start)
            place = self.text.find("#", line.end(), start) if line else -1
        return None

    def _directives(self, event: Any) -> Fault | None:
        if event.version is not None or event.tags:
            first = self._documents == 1
            place = self.text.rfind("%", 0, event.end_mark.index)
            if not first or event.tags or tuple(event.version) != _VERSION:
                what = "a line with % can only say `%YAML 1.2`, at the very beginning"
                return Fault("SF111", max(place, 0), what, "take the line out: scenarios are YAML 1.2 without tags")
        return None

    def _before(self, start: int) -> Fault | None:
        if self.text[start : start + 1] not in {"&", "*", "!"} and not self._flow:
            return None
        if self._flow and self.text[start - 1] == "?":
            return Fault("SF104", start - 1, "text that begins with ? needs quotes", _OPEN)
        if tag := _TAG.match(self.text, start):
            start = tag.end()
        found = _ANCHOR.match(self.text, start)
        if found and (cut := next((c for c in found.group() if c in _CUTS), "")):
            return Fault("SF104", start, f"the name {found.group()} has a {_CUTS[cut]} in it", "name it with letters, digits, - and _")
        return None

    def _colon(self, end: int) -> Fault | None:
        # After an alias or an empty value in brackets, a : that begins a text is taken for the sign of a key.
        if self._flow and _COLON.match(self.text, end):
            return Fault("SF104", self.text.index(":", end), "text that begins with : needs quotes", _OPEN)
        return None

    def _scalar(self, event: Any) -> Fault | None:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in {None, ""}:
            if self._flow and event.value == "-":
                return Fault("SF104", start, "a - alone in a list is neither text nor an item", 'write "-" for the text')
            return None if event.value else self._colon(end)
        if event.style in {"'", '"'}:
            if self.text[end : end + 1] == "#":
                return Fault("SF104", end, "a comment needs a space before its #", "put a space there, or the text in quotes")
            if not self._flow:
                return self._indented(start, end, closers="")
        else:
            return self._block(self._properties(start))
        return None

    def _properties(self, start: int) -> int:
        # Anchors and tags may stand before a scalar; its own text begins after them.
        while self.text[start : start + 1] in {"&", "!"}:
            found = re.compile(r"\S+\s+").match(self.text, start)
            if found is None:
                break
            start = found.end()
        return start

    def _block(self, start: int) -> Fault | None:
        header = _HEADER.match(self.text, start)
        if header is None:
            return None
        if self.text[header.end() : header.end() + 1] == "#":
            return Fault("SF104", header.end(), "a comment needs a space before its #", "put a space there")
        before = self.text[max(self.text.rfind("\n", 0, start), self.text.rfind("\r", 0, start)) + 1 : start]
        if self._blocks and not before.strip(" ") and len(before) <= self._blocks[-1]:
            return Fault("SF104", start, "a block of text begins further left than what it is a value of", "indent its | or >")
        if any(c.isdigit() for c in header.group()):
            return None
        most, where = 0, start
        at = self.text.find("\n", start) + 1
        while 0 < at < len(self.text):
            stop = self.text.find("\n", at)
            line = self.text[at : stop if stop >= 0 else len(self.text)].rstrip("\r")
            spaces = len(line) - len(line.lstrip(" "))
            if spaces < len(line):
                if not self._blocks and not spaces and line[:3] not in {"---", "..."}:
                    return Fault("SF104", at, "the text of this block is not indented", "indent its lines by two spaces")
                more = most > spaces > (self._blocks[-1] if self._blocks else -1)
                text = "an empty line before the text is indented more than the text"
                return Fault("SF104", where, text, "take its spaces out") if more else None
            if spaces > most:
                most, where = spaces, at
            at = stop + 1
            if stop < 0:
                break
        return None

    def _indented(self, start: int, end: int, closers: str = "]}") -> Fault | None:
        # Lines of a list in brackets or of a quoted text are indented more than what they are a value of; a closing bracket need not be.
        least = next((column for column in reversed(self._blocks) if column >= 0), -1) + 1
        at = self.text.find("\n", start, end) + 1
        while least and 0 < at < end:
            stop = self.text.find("\n", at, end)
            line = self.text[at : stop if stop >= 0 else end]
            spaces = len(line) - len(line.lstrip(" "))
            content = line.strip(" \t\r")
            if content and spaces < least and content[0] not in closers:
                text = f"this goes on from the line before, and is indented by {spaces} spaces"
                return Fault("SF104", at + spaces, text, f"indent it by at least {least}")
            at = stop + 1
        return None
