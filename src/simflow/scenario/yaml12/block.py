"""Documents, and the lists and maps that indentation makes."""

from __future__ import annotations

import re
from typing import NoReturn

from simflow.scenario.yaml12.cursor import BLANK, BREAKS, END, Properties
from simflow.scenario.yaml12.events import Event
from simflow.scenario.yaml12.flow import Flow

NO_INDENT = 1 << 30
"""More spaces than any line has: no further line belongs to a text."""
_VERSION = re.compile(r"%YAML[ \t]+1\.2[ \t]*(?:[ \t]#.*)?\Z")


class Block(Flow):
    """Reads a whole text."""

    def stream(self) -> None:
        """All documents."""
        bare, first = True, True
        while True:
            self._prefix()
            if self.text[self.pos] == END:
                return
            if self.text[self.pos] == "%" and self.column() == 0 and bare:
                self._directives(first=first)
            if self.border() and self.text[self.pos] == ".":
                self.pos += 3
                self.finish_line()
                bare = True
                continue
            explicit = self.border()
            if not explicit and not bare:
                self.fail("text goes on after the value of the whole file", "a file is one map: `key: value` lines")
            self._document(explicit=explicit)
            bare, first = False, False

    def _prefix(self) -> None:
        while True:
            self.skip()
            if self.text[self.pos] != "\ufeff" or self.column():
                return
            self.pos += 1

    def _directives(self, *, first: bool) -> None:
        if not first or not _VERSION.match(self.rest()):
            self.directive()
        self.pos += len(self.rest())
        self.skip()
        if self.text[self.pos] == "%":
            self.directive()
        if not self.border() or self.text[self.pos] != "-":
            self.fail("a line with --- must follow %YAML", "write --- in the next line")

    def _document(self, *, explicit: bool) -> None:
        self.out.append(Event("document", self.mark(self.pos), self.mark(self.pos)))
        if explicit:
            self.pos += 3
            self._node(-1, out=False, compact=False)
        else:
            self._content(-1, self.pos, out=False, crossed=True, alone=True)
        self.skip()
        if not self.ended():
            self.fail("text goes on after the value of the whole file", "a file is one map: `key: value` lines")

    def _node(self, n: int, *, out: bool, compact: bool) -> None:
        """What follows a sign: a value of something indented by `n`.

        `out`: a value in a map, whose list may stand as far left as its key. `compact`: a list or a map may begin in this line.
        """
        after = self.pos
        crossed = self.skip()
        alone = compact and "\t" not in self.text[after : self.pos]
        self._content(n, after, out=out, crossed=crossed, alone=alone)

    def _content(self, n: int, after: int, *, out: bool, crossed: bool, alone: bool) -> None:
        """The value here; `after` is where the sign before it ended, and `alone` says that only spaces stand between."""
        outer: Properties | None = None
        while True:
            begun = self.pos
            if self.ended() or (crossed and self._outdented(n, out=out)):
                self.empty(outer, after if n >= 0 else None)
                return
            if crossed:
                alone = self.column() == self.indent()
            if self.sign("-") or self.sign("?") or self.sign(":"):
                self._collection(outer, alone=alone)
                return
            own = self.properties(flow=False)
            if own is None or self.text[self.pos] not in BREAKS + "#" + END:
                break
            outer = self.merged(outer, own)
            crossed = self.skip()
        if self.text[self.pos] in "|>":
            self.block(n, self.merged(outer, own))
            return
        self._inline(n, begun, outer, own, alone=alone)

    def _outdented(self, n: int, *, out: bool) -> bool:
        indent = self.indent()
        return indent <= n and not (out and indent == n == self.column() and self.sign("-"))

    def _collection(self, outer: Properties | None, *, alone: bool) -> None:
        if not alone:
            what = {"-": "a list", "?": "a key", ":": "a value"}[self.text[self.pos]]
            self._misplaced(self.pos, f"{what} cannot begin here", "begin it in a line of its own, indented with spaces")
        table = self.text[self.pos] != "-"
        self.deeper()
        self.out.append(self.start(outer, self.pos, table=table))
        if table:
            self._map(self.column(), keyed=False)
        else:
            self._list(self.column())

    def _misplaced(self, begun: int, message: str, hint: str) -> NoReturn:
        """Refuse a list or a map that begins where it may not; a tab before it may be why."""
        line = self.text[begun - self.mark(begun).column : begun]
        if "\t" in line and not line.strip(BLANK):
            self.fail("a tab cannot indent YAML", "indent with spaces", begun - 1)
        self.fail(message, hint)

    def _inline(self, n: int, begun: int, outer: Properties | None, own: Properties | None, *, alone: bool) -> None:
        """A value that is no block, or the key of a map if a : follows it."""
        at, column = len(self.out), self.mark(begun).column
        if own and self.sign(":"):
            self.empty(own)
        elif own and (self.sign("-") or self.sign("?")):
            self.fail("a list or a map cannot begin in the line of its name or tag", "begin it in the next line")
        else:
            self.content(n + 1, own, flow=False)
        end = self.pos
        self.blanks()
        if self.sign(":"):
            if not alone:
                what = "a second ': ' in one line, or a key that is indented too far"
                self._misplaced(begun, what, "put text that contains ': ' in quotes")
            self.check_key(begun)
            self.deeper()
            self.out.insert(at, self.start(outer, begun, table=True))
            self._map(column, keyed=True)
            return
        self.pos = end
        self.finish_line()
        if outer:
            self._named(at, outer, own)

    def _named(self, at: int, outer: Properties, own: Properties | None) -> None:
        event = self.out[at]
        if event.kind == "alias":
            self.fail("an alias can have neither a name nor a tag", "leave it out", outer.start)
        both = self.merged(outer, own)
        assert both is not None
        self.out[at] = event._replace(anchor=both.anchor, tag=both.tag, start=self.mark(both.start))

    def _again(self, column: int) -> bool:
        """Go to the next token: whether it stands in this column, and so goes on with the collection."""
        self.skip()
        if self.ended():
            return False
        here = self.column()
        if here != self.indent():
            self.fail("a tab cannot indent YAML", "indent with spaces", self.pos - 1)
        if here > column:
            self.fail("a line that is indented too far", "check the indentation: keys of one map start in the same column")
        return here == column

    def _list(self, column: int) -> None:
        again = True
        while again:
            self.pos += 1
            self._node(column, out=False, compact=True)
            again = self._again(column) and self.sign("-")
        self.end(self.over(), self.over())

    def _map(self, column: int, *, keyed: bool) -> None:
        """Entries of a map; `keyed` if the first key has been read and its : is here."""
        again = True
        while again:
            if self.sign("?") and not keyed:
                self.pos += 1
                self._node(column, out=True, compact=True)
                again = self._again(column)
                if not (again and self.sign(":")):
                    self.empty(None)
                    continue
                compact = True
            else:
                if not keyed:
                    self._key()
                compact = False
            self.pos += 1
            self._node(column, out=True, compact=compact)
            again = self._again(column)
            keyed = False
        self.end(self.over(), self.over())

    def _key(self) -> None:
        begun = self.pos
        own = self.properties(flow=False)
        if self.sign(":"):
            self.empty(own)
            return
        if self.sign("-"):
            self.fail("an item of a list among the keys of a map", "indent it under its key")
        if self.text[self.pos] in "*'\"[{":
            self.content(0, own, flow=False)
        else:
            self.plain(NO_INDENT, own, flow=False)  # in one line
        self.blanks()
        if not self.sign(":"):
            self.fail("a key without ':'", "write `key: value`; a text over several lines needs quotes, | or >")
        self.check_key(begun)
