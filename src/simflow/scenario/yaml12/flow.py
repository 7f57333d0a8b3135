"""Values inside a line: aliases, scalars, and lists and maps in brackets."""

from __future__ import annotations

import re

from simflow.scenario.yaml12.cursor import AFTER, END, LONGEST_KEY, Properties
from simflow.scenario.yaml12.events import Event, Mark
from simflow.scenario.yaml12.scalars import Scalars

_ALIAS = re.compile(r"\*([^ \t\r\n\0\ufeff,\[\]{}]+)")


class Flow(Scalars):
    """Reads one value that does not depend on indentation, but for being indented enough."""

    def content(self, n: int, own: Properties | None, *, flow: bool) -> bool:
        """One value here; whether it is as in JSON, so that a : may follow it without a space."""
        char = self.text[self.pos]
        if char == "*":
            self._alias(own)
            return False
        if char in "'\"":
            self.quoted(n, own)
            return True
        if char in "[{":
            self._brackets(n, own, table=char == "{")
            return True
        self.plain(n, own, flow=flow)
        return False

    def _alias(self, own: Properties | None) -> None:
        found = _ALIAS.match(self.text, self.pos)
        if found is None:
            self.fail("a name after * needs letters or digits", "put text that begins with * in quotes")
        if own:
            self.fail("an alias can have neither a name nor a tag", "leave it out", own.start)
        self.out.append(Event("alias", self.mark(found.start()), self.mark(found.end()), found.group(1)))
        self.pos = found.end()

    def start(self, own: Properties | None, at: int, *, table: bool) -> Event:
        """The event that opens a collection whose first token is at `at`."""
        begin, end = self.mark(own.start if own else at), self.mark(at + (self.text[at] in "[{"))
        return Event("map" if table else "list", begin, end, "", own.anchor if own else None, own.tag if own else None)

    def end(self, start: Mark, end: Mark) -> None:
        """Close a collection."""
        self.out.append(Event("end", start, end))
        self.depth -= 1

    def _brackets(self, n: int, own: Properties | None, *, table: bool) -> None:
        opened = self.pos
        self.deeper()
        self.out.append(self.start(own, opened, table=table))
        close = "}" if table else "]"
        self.pos += 1
        self._gap(n, opened)
        while self.text[self.pos] != close:
            if self.text[self.pos] == ",":
                self.fail("a value was expected before this ,", "take the , out, or write null")
            if table:
                self._entry(n, opened)
            else:
                self._item(n, opened)
            self._gap(n, opened)
            if self.text[self.pos] == ",":
                self.pos += 1
                self._gap(n, opened)
            elif self.text[self.pos] != close:
                sign = self.text[opened]
                self.fail(
                    f"this {sign} is not closed, or a ',' is missing",
                    f"close it with {close} and put text that contains , [ ] {{ }} in quotes",
                )
        self.pos += 1
        self.end(self.mark(self.pos - 1), self.mark(self.pos))

    def _gap(self, n: int, opened: int) -> None:
        """Go to the next token, which is indented by `n` spaces at least if it begins a line; a closing bracket need not be."""
        crossed = self.skip()
        if self.ended():
            self.fail(f"this {self.text[opened]} is not closed", "close it", opened)
        if crossed and self.indent() < n and self.text[self.pos] not in "]}":
            what = f"the {self.text[opened]} of line {self.line_of(opened) + 1} is still open, and this line is indented too little"
            self.fail(what, f"close it, or indent what is in it by at least {n}")

    def _value_sign(self) -> bool:
        return self.text[self.pos] == ":" and self.text[self.pos + 1] in AFTER + ",[]{}"

    def _element(self, n: int, opened: int) -> bool:
        """A value in brackets; what `content` says of it."""
        own: Properties | None = None
        while self.text[self.pos] in "&!":
            own = self.merged(own, self.properties(flow=True))
            self._gap(n, opened)
        if self.text[self.pos] in ",]}" or self._value_sign():
            self.empty(own)
            return False
        return self.content(n, own, flow=True)

    def _entry(self, n: int, opened: int) -> None:
        if self.sign("?"):
            self.pos += 1
            self._gap(n, opened)
        if self.text[self.pos] in ",}":  # only a ? was here
            self.empty(None)
            self.empty(None)
            return
        json = self._element(n, opened)
        self._gap(n, opened)
        self._value(n, opened, json=json)

    def _value(self, n: int, opened: int, *, json: bool) -> None:
        """The value after a key, with its sign; null if there is none."""
        if not (self._value_sign() or (json and self.text[self.pos] == ":")):
            self.empty(None)
            return
        self.pos += 1
        apart = json or self.text[self.pos] in AFTER
        self._gap(n, opened)
        if self.text[self.pos] in ",]}":
            self.empty(None)
        elif apart:
            self._element(n, opened)
        else:
            self.fail("a space must follow this ':'", "put a space there", self.pos)

    def _item(self, n: int, opened: int) -> None:
        at, begun = len(self.out), self.pos
        asked = self.sign("?")
        if asked:
            self.pos += 1
            self._gap(n, opened)
        if asked and self.text[self.pos] in ",]":
            self.empty(None)
            json = False
        else:
            json = self._element(n, opened)
        if asked:
            self._gap(n, opened)
        elif not self._keys_item(begun, json=json):
            return
        self.deeper()
        self.out.insert(at, self.start(None, begun, table=True))
        self._value(n, opened, json=json)
        self.skip()
        self.end(self.mark(self.pos), self.mark(self.pos))

    def _keys_item(self, begun: int, *, json: bool) -> bool:
        """Whether what was read from `begun` on is the key of a map of one entry inside a list."""
        self.blanks()
        if not (self._value_sign() or (json and self.text[self.pos] == ":")):
            return False
        self.check_key(begun)
        return True

    def check_key(self, begun: int) -> None:
        """A key before : is in one line, and not longer than YAML allows."""
        if self.line_of(begun) != self.line_of(self.pos):
            self.fail(
                "a key over several lines, or a line without ':'",
                "write `key: value`; a text over several lines needs quotes, | or >",
                begun,
            )
        if self.pos - begun > LONGEST_KEY or self.text[self.pos] == END:
            self.fail(f"a key of more than {LONGEST_KEY:,} characters", "write `? key` in lines of its own", begun)
