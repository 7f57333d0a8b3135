"""Events of a YAML text to a tree: YAML 1.2 core rules, aliases, keys that are there twice, and limits that a hostile file cannot pass."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from simflow.scenario.nodes import Entry, Items, Node, Plain, Scalar, Table
from simflow.scenario.problems import Problem, SourceText, Span, Unreadable
from simflow.scenario.yaml12 import Event, Mark

MAX_DEPTH = 40
MAX_NODES = 100_000
"""Nodes of a file with its aliases written out: a bomb of nested aliases ends here, before anything is copied."""

_INT = re.compile(r"[-+]?[0-9]{1,300}\Z")
_OCT = r"0o[0-7]{1,100}\Z"
_HEX = r"0x[0-9a-fA-F]{1,100}\Z"
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?\Z")
_INF = r"([-+]?)\.(inf|Inf|INF)\Z"
_WORDS: dict[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = {f"{_CORE}{t}" for t in ("str", "int", "float", "bool", "null")}


@dataclass(slots=True, eq=False, repr=False)
class _Frame:
    mark: Mark
    anchor: str | None
    table: bool
    key: Scalar | None = None
    skip: bool = False
    entries: dict[str, Entry] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    size: int = 1
    height: int = 1


@dataclass(slots=True, eq=False, repr=False)
class Builder:
    """Takes the events of one text, in order; `documents` has what they make, `problems` what is wrong but leaves a tree."""

    source: SourceText
    problems: list[Problem]
    documents: list[Node] = field(default_factory=list)
    stack: list[_Frame] = field(default_factory=list)
    anchors: dict[str, Node | None] = field(default_factory=dict)
    nodes: int = 0

    def take(self, event: Event) -> None:
        """One parser event."""
        kind = event.kind
        if kind == "scalar":
            self._leaf(self._scalar(event), event.anchor)
        elif kind == "alias":
            self._alias(event)
        elif kind == "end":
            self._close(event)
        elif kind == "document":
            self.anchors = {}
        else:
            self._open(event, table=kind == "map")

    def _span(self, start: Mark, end: Mark) -> Span:
        return Span(self.source, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def _stop(self, code: str, message: str, span: Span, hint: str | None = None) -> Unreadable:
        return Unreadable(Problem(code, message, span, hint))

    def _count(self, more: int, depth: int, span: Span) -> None:
        self.nodes += more
        if self.nodes > MAX_NODES:
            raise self._stop("SF103", f"more than {MAX_NODES:,} values, aliases written out", span)
        if depth > MAX_DEPTH:
            raise self._stop("SF103", f"nested more than {MAX_DEPTH} deep", span)

    def _scalar(self, event: Event) -> Scalar:
        span = self._span(event.start, event.end)
        self._count(1, len(self.stack) + 1, span)
        text: str = event.value
        tag = event.tag
        plain = event.style is None
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

    def _alias(self, event: Event) -> None:
        span = self._span(event.start, event.end)
        node = self.anchors.get(event.value)
        if node is None:
            what = "contains itself" if event.value in self.anchors else "is not defined above"
            raise self._stop("SF108", f"*{event.value} {what}", span, f"put &{event.value} before the value that it names")
        self._count(node.size, len(self.stack) + node.height, span)
        self._put(node)

    def _leaf(self, node: Scalar, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = node
        self._put(node)

    def _open(self, event: Event, *, table: bool) -> None:
        span = self._span(event.start, event.end)
        self._count(1, len(self.stack) + 1, span)
        if event.tag and event.tag not in {"!", f"{_CORE}map" if table else f"{_CORE}seq"}:
            self._tag(event.tag, span)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append(_Frame(event.start, event.anchor, table))

    def _close(self, event: Event) -> None:
        frame = self.stack.pop()
        end = event.end if event.end.column or event.end.line == frame.mark.line else event.start
        span = self._span(frame.mark, end)
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
        if node.height >= frame.height:
            frame.height = node.height + 1
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
        if re.match(_OCT, text):
            return int(text, 0)
        if re.match(_HEX, text):
            return int(text, 0)
        if _FLOAT.match(text):
            return float(text)
        if found := re.match(_INF, text):
            return float("-inf") if found.group(1) == "-" else float("inf")
    return text
