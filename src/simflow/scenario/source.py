"""Bytes to a tree: files of limited size, UTF-8, and the reader that suits the size of a text."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable
from pathlib import Path

from simflow.scenario.nodes import Node
from simflow.scenario.problems import Problem, SourceText, Span, Unreadable
from simflow.scenario.tree import Builder
from simflow.scenario.yaml12 import Broken, Event, read

MAX_BYTES = 1_000_000
LARGE = 100_000
"""Characters from which on libyaml reads a text: the reader of YAML 1.2 takes ten times as long."""

_BOMS = ((b"\xff\xfe\x00\x00", "UTF-32"), (b"\x00\x00\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
# What YAML 1.2 does not allow in a stream, even escaped by nothing.
_FORBIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]"
_FAR = r"[\ud800-\udfff\ufffe\uffff]"
_BREAKS = r"[\x85\u2028\u2029]"
"""What libyaml takes for line breaks, as YAML 1.1 did."""


def read_bytes(path: Path, shown: str, *, limit: int = MAX_BYTES) -> bytes:
    """Content of a regular file of at most `limit` bytes; Unreadable otherwise."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            what = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise Unreadable(Problem("SF101", f"{shown} is {what}", file=shown, hint="give the path of a YAML file"))
        if found.st_size > limit:
            message = f"{shown} has {found.st_size:,} bytes; at most {limit:,} are read"
            raise Unreadable(
                Problem("SF103", message, file=shown, hint="people and traces belong in files of their own: `people:`, `replay:`")
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise Unreadable(Problem("SF101", f"there is no file {shown}", file=shown, hint=_near(path))) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Unreadable(Problem("SF101", f"{shown} cannot be read: {reason.lower()}", file=shown)) from None


def decode(raw: bytes, shown: str) -> str:
    """UTF-8, with or without a byte order mark; Unreadable, with the place of the first broken byte, otherwise."""
    for mark, name in _BOMS:
        if raw.startswith(mark):
            raise Unreadable(_encoding(shown, raw, 0, f"{shown} is {name}, not UTF-8"))
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if b"\x00" in raw[:4] and len(raw) % 2 == 0:
            raise Unreadable(_encoding(shown, raw, 0, f"{shown} looks like UTF-16 without a byte order mark, not UTF-8")) from None
        byte = f"0x{raw[error.start]:02x}"
        raise Unreadable(_encoding(shown, raw, error.start, f"byte {byte} is not UTF-8")) from None
    if "\x00" in text[:4] and len(raw) % 2 == 0:
        raise Unreadable(_encoding(shown, raw, 0, f"{shown} looks like UTF-16 without a byte order mark, not UTF-8"))
    return text


def _events(text: str) -> Iterable[Event]:
    if len(text) <= LARGE:
        return read(text)
    from simflow.scenario.libyaml import events  # noqa: PLC0415 - for large texts alone

    return events(text)


def _encoding(shown: str, raw: bytes, at: int, message: str) -> Problem:
    before = raw[:at].decode("utf-8", errors="replace")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    whole = raw[: raw.find(b"\n", at) if raw.find(b"\n", at) >= 0 else len(raw)].decode("utf-8", errors="replace")
    text = SourceText(shown, lines_of(whole)[:line] if at else [])
    return Problem(
        "SF102", message, Span(text, line, column, line, column + 1), "save the file as UTF-8 (`iconv -f latin1 -t utf-8` for old files)"
    )


def lines_of(text: str) -> list[str]:
    """Lines as YAML counts them: only line feed and carriage return end one."""
    return re.split(r"\r\n|\r|\n", text)


def parse(text: str, shown: str, problems: list[Problem], *, many: bool = False) -> list[Node]:
    """The documents of a YAML text as trees. Faults that leave a tree (duplicate keys, ...) are added to `problems`.

    Raises Unreadable when there is no tree at all. Unless `many`, a second document is a problem.
    """
    source = SourceText(shown, lines_of(text))
    if (place := _forbidden(text)) is not None:
        raise Unreadable(_character(source, text, place))
    builder = Builder(source, problems)
    if text.rsplit("\n", 1)[-1].isspace():
        text += "\n"  # a last line of spaces belongs to the text above it only if it ends
    try:
        for event in _events(text):
            builder.take(event)
            if not many and len(builder.documents) > 1:
                break
    except Broken as error:
        code, at, message, hint = error.fault
        message = f"this is not YAML: {message}" if code == "SF104" else message
        raise Unreadable(Problem(code, message, _at(source, text, at), hint)) from None
    if not many and len(builder.documents) > 1:
        problems.append(Problem("SF106", "a second document starts here; a scenario is one document", builder.documents[1].span))
    return builder.documents


def _forbidden(text: str) -> int | None:
    # Patterns are compiled when they are needed, which most texts do not.
    patterns = [_FORBIDDEN]
    if text and max(text) >= "\ud800":
        patterns.append(_FAR)
    if len(text) > LARGE:
        patterns.append(_BREAKS)
    return min((found.start() for found in (re.search(p, text) for p in patterns) if found), default=None)


def _point(source: SourceText, line: int, column: int) -> Span:
    line = min(line, max(0, len(source.lines) - 1))
    return Span(source, line + 1, column + 1, line + 1, column + 2)


def _at(source: SourceText, text: str, index: int) -> Span:
    lines = lines_of(text[:index])
    return _point(source, len(lines) - 1, len(lines[-1]))


def _character(source: SourceText, text: str, index: int) -> Problem:
    name = f"U+{ord(text[index]):04X}"
    return Problem(
        "SF102",
        f"the character {name} may not stand in YAML",
        _at(source, text, index),
        f'write "\\u{ord(text[index]):04x}" in double quotes',
    )


def _near(path: Path) -> str | None:
    import difflib  # noqa: PLC0415 - only for a file that is missing

    try:
        names = [p.name for p in path.parent.iterdir() if p.suffix in {".yaml", ".yml"}]
    except OSError:
        return f"there is no folder {path.parent} either"
    if close := difflib.get_close_matches(path.name, names, 3, 0.6):
        return "did you mean " + " or ".join(str(path.with_name(n)) for n in close) + "?"
    return f"scenarios here: {', '.join(sorted(names)[:6])}" if names else None
