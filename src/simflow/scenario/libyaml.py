"""Large texts through libyaml, which is many times as fast as a reader in Python, and follows YAML 1.1 in places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from simflow.scenario.strict import Strict
from simflow.scenario.yaml12 import Broken, Event, Fault, Mark
from simflow.scenario.yaml12.events import Kind

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KINDS: dict[str, Kind] = {
    "DocumentStartEvent": "document",
    "ScalarEvent": "scalar",
    "AliasEvent": "alias",
    "MappingStartEvent": "map",
    "SequenceStartEvent": "list",
    "MappingEndEvent": "end",
    "SequenceEndEvent": "end",
}
_TABBED = re.compile(r"[ ]*\t")
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


def events(text: str) -> Iterator[Any]:
    """The events of all documents. Raises Broken at the first fault, which may be that YAML 1.2 means something else by the text."""
    strict = Strict(text)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if fault := strict.look(event):
                raise Broken(fault)
            if made := _event(event):
                yield made
    except yaml.MarkedYAMLError as error:
        raise Broken(_fault(text, error)) from None
    except yaml.YAMLError as error:
        raise Broken(Fault("SF104", 0, f"{error}".split("\n", 1)[0], "see https://yaml.org/spec/1.2.2 for what may stand here")) from None


def _event(event: Any) -> Event | None:
    kind = _KINDS.get(type(event).__name__)
    if kind is None:
        return None
    start, end = event.start_mark, event.end_mark
    first, last = Mark(start.line, start.column, start.index), Mark(end.line, end.column, end.index)
    if kind == "scalar":
        return Event(kind, first, last, event.value, event.anchor, event.tag, event.style or None)
    if kind == "alias":
        return Event(kind, first, last, event.anchor)
    if kind in {"map", "list"}:
        return Event(kind, first, last, "", event.anchor, event.tag)
    return Event(kind, first, last)


def _fault(text: str, error: yaml.MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or str(error)
    at = min(mark.index, len(text)) if mark else 0
    line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    if "directive" in problem or "incompatible YAML document" in problem:
        what = "a line with % can only say `%YAML 1.2`, at the very beginning"
        return Fault("SF111", line, what, "take the line out: scenarios are YAML 1.2 without tags")
    message, hint = problem, "see https://yaml.org/spec/1.2.2 for what may stand here"
    for said, ours, how in _SAYS:
        if said in problem:
            message, hint = ours, how
            break
    if _TABBED.match(text, line):
        message, hint = "a tab cannot indent YAML", "indent with spaces"
    context = error.context_mark
    if context is not None and mark is not None and context.line != mark.line:
        message += f" (it began at line {context.line + 1})"
    return Fault("SF104", at, message, hint)
