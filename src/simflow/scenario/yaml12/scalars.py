"""Scalars: plain, in quotes, and the blocks after | and >."""

from __future__ import annotations

import re

from simflow.scenario.yaml12.cursor import AFTER, BLANK, BREAKS, END, Cursor, Properties

_SAFE = {False: r"[^ \t\r\n\0\ufeff]", True: r"[^ \t\r\n\0\ufeff,\[\]{}]"}
"""What may follow a : inside plain text; `True` in brackets."""
_INNER = {False: r"[^ \t\r\n\0\ufeff:#]", True: r"[^ \t\r\n\0\ufeff:#,\[\]{}]"}
_MORE = {
    k: re.compile(rf"(?:[ \t]*+(?:{_INNER[k]}++|:(?={safe})|(?<=[^ \t\r\n\ufeff])#))*+")  # what goes on in a line that has begun
    for k, safe in _SAFE.items()
}
_QUOTED = {"'": re.compile(r"[^'\r\n\0]*"), '"': re.compile(r'[^"\\\r\n\0]*')}
_HEADER = r"[|>](?:([1-9])([-+])?|([-+])([1-9])?)?"
_STOPS = {False: AFTER + "\ufeff", True: AFTER + "\ufeff,[]{}"}
"""What ends plain text; `True` in brackets."""
_CODE = {"x": 2, "u": 4, "U": 8}
_ESCAPES = dict(
    zip('0abt\tnvfre "/\\N_LP', '\0\a\b\t\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True),
)


class Scalars(Cursor):
    """Reads one scalar."""

    def plain(self, n: int, own: Properties | None, *, flow: bool) -> None:
        """Text without quotes; further lines are indented by `n` spaces at least."""
        start = self.pos
        if self.text[start] in " \t\r\n\0\ufeff,[]{}#&*!|>'\"%@`" or (self.text[start] in "?:-" and self.text[start + 1] in _STOPS[flow]):
            self._no_value()
        self.pos += 1
        self._go_on(flow=flow)
        value = [self.text[start : self.pos]]
        while True:
            end = self.pos
            folded = self._fold(n)
            if folded is None or self.ended() or not self._again_text(flow=flow):
                break
            begun = self.pos
            self.pos += 1
            self._go_on(flow=flow)
            value += [folded, self.text[begun : self.pos]]
        self.pos = end
        self.scalar("".join(value), start, end, own)

    def _again_text(self, *, flow: bool) -> bool:
        """Whether a further line of plain text may begin here."""
        char = self.text[self.pos]
        return char not in _STOPS[flow] and char != "#" and not (char == ":" and self.text[self.pos + 1] in _STOPS[flow])

    def _no_value(self) -> None:
        char = self.text[self.pos]
        if char == END:
            self.fail("the text ends where a value was expected", "close what is open")
        if char == "\ufeff":
            self.fail("a byte order mark stands inside the text", 'write "\\ufeff" in double quotes')
        if char == "%" and self.column() == 0:
            self.directive()
        if char == "#":
            self.fail("a comment needs a space before its #", "put a space there, or the text in quotes")
        if char == "-":
            self.fail("a - alone in a list is neither text nor an item", 'write "-" for the text')
        self.fail(f"text cannot begin with {char}", "put the text in quotes")

    def _go_on(self, *, flow: bool) -> None:
        found = _MORE[flow].match(self.text, self.pos)
        self.pos = found.end() if found else self.pos

    def _fold(self, n: int) -> str | None:
        """Go to the text of the next line that has some: what stands for the line breaks, or None if it is not indented enough."""
        self.blanks()
        breaks = 0
        while self.line_break():
            breaks += 1
            self.blanks()
        if not breaks or self.indent() < n:
            return None
        return " " if breaks == 1 else "\n" * (breaks - 1)

    def quoted(self, n: int, own: Properties | None) -> None:
        """Text in single or double quotes; further lines are indented by `n` spaces at least."""
        start, quote = self.pos, self.text[self.pos]
        self.pos += 1
        parts: list[str] = []
        while True:
            found = _QUOTED[quote].match(self.text, self.pos)
            chunk = found.group() if found else ""
            self.pos += len(chunk)
            parts.append(chunk)
            char = self.text[self.pos]
            if char in BREAKS:
                parts[-1] = chunk.rstrip(BLANK)
                parts.append(self._next_line(n, start))
            elif char == END:
                self.fail("the text ends inside quotes", "close the quotes", start)
            elif char == "\\":
                parts.append(self._escape(n, start))
            elif quote == "'" and self.text[self.pos + 1] == "'":
                parts.append("'")
                self.pos += 2
            else:
                break
        self.pos += 1
        self.scalar("".join(parts), start, self.pos, own, quote)

    def _next_line(self, n: int, start: int) -> str:
        folded = self._fold(n)
        if self.border():
            self.fail("a document ends inside quotes", "close the quotes", start)
        if folded is None and self.text[self.pos] != END:
            self.fail("this goes on from the line before, and is indented too little", f"indent it by at least {n}")
        return folded or ""

    def _escape(self, n: int, start: int) -> str:
        at = self.pos
        char = self.text[at + 1]
        if char in BREAKS:
            self.pos += 1
            return self._next_line(n, start).removeprefix(" ")
        if char in _ESCAPES:
            self.pos += 2
            return _ESCAPES[char]
        size = _CODE.get(char, 0)
        digits = self.text[at + 2 : at + 2 + size]
        if not size or not re.fullmatch(rf"[0-9a-fA-F]{{{size}}}", digits):
            self.fail("this escape is not known in double quotes", "write \\\\ for a backslash, or use single quotes")
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            self.fail(f"there is no character U+{code:04X}", "write the character itself")
        self.pos += 2 + size
        return chr(code)

    def block(self, n: int, own: Properties | None) -> None:
        """Text after | or >; `n` is the indentation of what it is a value of."""
        start = self.pos
        header = re.match(_HEADER, self.text[start : start + 3])
        assert header is not None
        digit, chomp = header.group(1) or header.group(4), header.group(2) or header.group(3)
        self.pos = start + header.end()
        if self.text[self.pos] not in AFTER + "#":
            self.fail("only a digit from 1 to 9, - or + may follow | and >", "begin the text in the next line")
        self.finish_line()
        self.line_break()
        indent = max(n, 0) + int(digit) if digit else self._detected(n)
        lines, end = self._lines(indent)
        value = _literal(lines) if self.text[start] == "|" else _folded(lines)
        trailing = next((k for k, line in enumerate(reversed(lines)) if line), len(lines))
        whole = self.text[end - 1] in BREAKS or trailing > 0  # the last line of text has an end
        if trailing < len(lines):
            value += "" if chomp == "-" or not whole else "\n" if chomp is None else "\n" * (trailing + 1)
        elif chomp == "+":
            value = "\n" * trailing
        self.scalar(value, start, end, own, self.text[start])

    def _detected(self, n: int) -> int:
        here, most, where = self.pos, 0, self.pos
        while True:
            line = self.rest()
            spaces = len(line) - len(line.lstrip(" "))
            if spaces < len(line) or self.text[self.pos + len(line)] == END:
                break
            if spaces > most:
                most, where = spaces, self.pos
            self.pos += len(line)
            self.line_break()
        empty = spaces == len(line) or spaces <= n or (spaces == 0 and self.border())
        self.pos = here
        if empty:
            return max(most, n + 1)
        if most > spaces:
            self.fail("an empty line before the text is indented more than the text", "take its spaces out", where)
        return spaces

    def _lines(self, indent: int) -> tuple[list[str], int]:
        lines: list[str] = []
        while self.text[self.pos] != END:
            line = self.rest()
            spaces = len(line) - len(line.lstrip(" "))
            if spaces < indent and spaces < len(line):
                if not line.strip(BLANK) or line[spaces] == "\t":
                    self.fail("a tab stands where the text in this block has ended", "indent with spaces", self.pos + spaces)
                break
            if self.border():
                break
            lines.append(line[indent:])
            self.pos += len(line)
            self.line_break()
        return lines, self.pos


def _literal(lines: list[str]) -> str:
    return "\n".join(lines).rstrip("\n")


def _folded(lines: list[str]) -> str:
    value: list[str] = []
    breaks, before = 0, False
    for line in lines:
        if not line:
            breaks += 1
            continue
        more = line[0] in BLANK
        if not value:
            value.append("\n" * breaks)
        elif more or before:
            value.append("\n" * (breaks + 1))
        else:
            value.append("\n" * breaks or " ")
        value.append(line)
        breaks, before = 0, more
    return "".join(value)
