"""Bytes to a tree: UTF-8, YAML 1.2 core rules, exact spans, and limits that a hostile file cannot pass."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simflow.scenario.nodes import Entry, Items, Node, Plain, Scalar, Table
from simflow.scenario.problems import Problem, SourceText, Span
from simflow.scenario.strict import Strict

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 100_000
"""Nodes of a file with its aliases written out: a bomb of nested aliases ends here, before anything is copied."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?[0-9]{1,300}\Z")
_OCT = re.compile(r"0o[0-7]{1,100}\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,100}\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?\Z")
_INF = re.compile(r"([-+]?)\.(inf|Inf|INF)\Z")
_WORDS: dict[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = {f"{_CORE}{t}" for t in ("str", "int", "float", "bool", "null")}
_BOMS = ((b"\xff\xfe\x00\x00", "UTF-32"), (b"\x00\x00\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
# What YAML 1.2 does not allow in a stream, even escaped by nothing.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


class Unreadable(Exception):
    """A text that gives no tree; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


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
    if found := _FORBIDDEN.search(text):
        raise Unreadable(_character(source, text, found.start()))
    builder, strict = _Builder(source, problems), Strict(text)
    if text.rsplit("\n", 1)[-1].isspace():
        text += "\n"  # a last line of spaces belongs to the text above it only if it ends
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if fault := strict.look(event):
                raise Unreadable(Problem(fault.code, fault.message, _at(source, text, fault.at), fault.hint))
            builder.take(event)
            if not many and len(builder.documents) > 1:
                break
    except yaml.MarkedYAMLError as error:
        raise Unreadable(_syntax(source, error)) from None
    except yaml.YAMLError as error:
        raise Unreadable(Problem("SF104", f"this is not YAML: {error}".split("\n", 1)[0], _point(source, 0, 0))) from None
    except RecursionError:
        raise Unreadable(Problem("SF103", "this is nested too deeply", _point(source, 0, 0))) from None
    if not many and len(builder.documents) > 1:
        problems.append(Problem("SF106", "a second document starts here; a scenario is one document", builder.documents[1].span))
    return builder.documents


@dataclass(slots=True)
class _Frame:
    mark: Any
    anchor: str | None
    table: bool
    key: Scalar | None = None
    skip: bool = False
    entries: dict[str, Entry] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    size: int = 1
    height: int = 1


@dataclass(slots=True)
class _Builder:
    source: SourceText
    problems: list[Problem]
    documents: list[Node] = field(default_factory=list)
    stack: list[_Frame] = field(default_factory=list)
    anchors: dict[str, Node | None] = field(default_factory=dict)
    nodes: int = 0

    def take(self, event: Any) -> None:
        """One parser event."""
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._leaf(self._scalar(event), event.anchor)
        elif kind == "AliasEvent":
            self._alias(event)
        elif kind in {"MappingStartEvent", "SequenceStartEvent"}:
            self._open(event, table=kind == "MappingStartEvent")
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            self._close(event)
        elif kind == "DocumentStartEvent":
            self.anchors = {}

    def span(self, start: Any, end: Any) -> Span:
        return Span(self.source, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def _stop(self, code: str, message: str, span: Span, hint: str | None = None) -> Unreadable:
        return Unreadable(Problem(code, message, span, hint))

    def _count(self, more: int, depth: int, span: Span) -> None:
        self.nodes += more
        if self.nodes > MAX_NODES:
            raise self._stop("SF103", f"more than {MAX_NODES:,} values, aliases written out", span)
        if depth > MAX_DEPTH:
            raise self._stop("SF103", f"nested more than {MAX_DEPTH} deep", span)

    def _scalar(self, event: Any) -> Scalar:
        span = self.span(event.start_mark, event.end_mark)
        self._count(1, len(self.stack) + 1, span)
        text: str = event.value
        tag = event.tag
        plain = event.style in {None, ""}
        if tag is not None and tag != "!":
            if tag not in _SCALAR_TAGS:
                self._tag(tag, span)
                return Scalar(text, text, span, quoted=True)
            if tag == f"{_CORE}str":
                return Scalar(text, text, span, quoted=True)
            return Scalar(text, resolve(text), span)
        if tag == "!" or not plain:
            return Scalar(text, text, span, quoted=True)
        return Scalar(text, resolve(text), span)

    def _tag(self, tag: str, span: Span) -> None:
        hint = "a scenario is data: text, numbers, lists and maps; leave the tag out"
        self.problems.append(Problem("SF107", f"the tag {tag.replace(_CORE, '!!')} is not known here", span, hint))

    def _alias(self, event: Any) -> None:
        span = self.span(event.start_mark, event.end_mark)
        node = self.anchors.get(event.anchor)
        if node is None:
            what = "contains itself" if event.anchor in self.anchors else "is not defined above"
            raise self._stop("SF108", f"*{event.anchor} {what}", span, f"put &{event.anchor} before the value that it names")
        self._count(node.size, len(self.stack) + node.height, span)
        self._put(node)

    def _leaf(self, node: Scalar, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = node
        self._put(node)

    def _open(self, event: Any, *, table: bool) -> None:
        span = self.span(event.start_mark, event.end_mark)
        self._count(1, len(self.stack) + 1, span)
        if event.tag not in {None, "!", f"{_CORE}map" if table else f"{_CORE}seq"}:
            self._tag(event.tag, span)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append(_Frame(event.start_mark, event.anchor, table))

    def _close(self, event: Any) -> None:
        frame = self.stack.pop()
        end = event.end_mark if event.end_mark.column or event.end_mark.line == frame.mark.line else event.start_mark
        span = self.span(frame.mark, end)
        node: Node
        if frame.table:
            node = Table(frame.entries, span, frame.size, frame.height)
        else:
            node = Items(tuple(frame.items), span, frame.size, frame.height)
        if frame.anchor:
            self.anchors[frame.anchor] = node
        self._put(node)

    def _put(self, node: Node) -> None:
        if not self.stack:
            self.documents.append(node)
            return
        frame = self.stack[-1]
        frame.size += node.size
        frame.height = max(frame.height, node.height + 1)
        if not frame.table:
            frame.items.append(node)
        elif frame.key is None and not frame.skip:
            self._key(frame, node)
        else:
            if frame.key is not None:
                frame.entries[frame.key.text] = Entry(frame.key, node)
            frame.key, frame.skip = None, False

    def _key(self, frame: _Frame, node: Node) -> None:
        # A key that cannot be used is reported and its value passed over, so that the rest of the text is still checked.
        frame.skip = True
        if not isinstance(node, Scalar):
            self.problems.append(
                Problem("SF109", "a key must be text, not a list or a map", node.span, "quote it if it starts with [ or {")
            )
        elif node.text == "<<" and not node.quoted:
            hint = "YAML 1.2 has no merge keys; repeat the keys, or put what is shared into a file and name it in `from:`"
            self.problems.append(Problem("SF110", "merge keys (<<) are not part of the language", node.span, hint))
        elif node.text in frame.entries:
            first = frame.entries[node.text].key.span
            hint = f"it is already at line {first.line}; keep one, or give one another name"
            self.problems.append(Problem("SF105", f"the key '{node.text}' is here twice", node.span, hint))
        else:
            frame.key, frame.skip = node, False


def resolve(text: str) -> Plain:
    """A plain scalar under the core schema of YAML 1.2: `on`, `no` and `18:00` stay text."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first.isdigit() or first in "+-.":
        if _INT.match(text):
            return int(text)
        if _OCT.match(text):
            return int(text, 0)
        if _HEX.match(text):
            return int(text, 0)
        if _FLOAT.match(text):
            return float(text)
        if found := _INF.match(text):
            return float("-inf") if found.group(1) == "-" else float("inf")
    return text


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


_SAYS = (
    ("found character '\\t' that cannot start any token", "a tab cannot indent YAML", "indent with spaces"),
    ("found character that cannot start any token", "this character cannot start a value", "put the text in quotes"),
    (
        "mapping values are not allowed in this context",
        "a second ': ' in one line, or a key that is indented too far",
        "put text that contains ': ' in quotes",
    ),
    ("could not find expected ':'", "a key without ':'", "write `key: value`; a text over several lines needs quotes, | or >"),
    (
        "did not find expected ',' or '}'",
        "this { is not closed, or a ',' is missing",
        "close it with } and put text that contains , [ ] { } in quotes",
    ),
    (
        "did not find expected ',' or ']'",
        "this [ is not closed, or a ',' is missing",
        "close it with ] and put text that contains , [ ] { } in quotes",
    ),
    ("did not find expected key", "a key was expected here", "check the indentation: keys of one map start in the same column"),
    ("found unexpected end of stream", "the text ends inside quotes", "close the quotes"),
    ("found unexpected ':'", "a ':' stands where no key ends", "put text that begins with or contains ':' in quotes"),
    ("did not find expected node content", "a value was expected here", "put text that begins with one of , : ] } % @ ` in quotes"),
    ("did not find expected <document start>", "text goes on after the value of the whole file", "a file is one map: `key: value` lines"),
    ("alphabetic or numeric character", "a name after & or * needs letters or digits", "name it with letters a to z, digits, - and _"),
    ("found unexpected non-alphabetical character", "this name has a character it may not have", "use letters a to z, digits, - and _"),
    ("found unknown escape character", "this escape is not known in double quotes", "write \\\\ for a backslash, or use single quotes"),
    ("did not find expected '-' indicator", "an item of the list was expected here", "start each item with `- ` in the same column"),
)


def _syntax(source: SourceText, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or str(error)
    message, hint = problem, "see https://yaml.org/spec/1.2.2 for what may stand here"
    for said, ours, how in _SAYS:
        if said in problem:
            message, hint = ours, how
            break
    span = _point(source, mark.line, mark.column) if mark else _point(source, 0, 0)
    if span.source.lstrip(" ").startswith("\t") or re.match(r"\s*\t", span.source):
        message, hint = "a tab cannot indent YAML", "indent with spaces"
    context = error.context_mark
    if context is not None and mark is not None and context.line != mark.line:
        message += f" (it began at line {context.line + 1})"
    if "directive" in problem or "incompatible YAML document" in problem:
        what = "a line with % can only say `%YAML 1.2`, at the very beginning"
        return Problem(
            "SF111", what, _point(source, mark.line, 0) if mark else span, "take the line out: scenarios are YAML 1.2 without tags"
        )
    return Problem("SF104", f"this is not YAML: {message}", span, hint)


def _near(path: Path) -> str | None:
    import difflib  # noqa: PLC0415 - only for a file that is missing

    try:
        names = [p.name for p in path.parent.iterdir() if p.suffix in {".yaml", ".yml"}]
    except OSError:
        return f"there is no folder {path.parent} either"
    if close := difflib.get_close_matches(path.name, names, 3, 0.6):
        return "did you mean " + " or ".join(str(path.with_name(n)) for n in close) + "?"
    return f"scenarios here: {', '.join(sorted(names)[:6])}" if names else None
