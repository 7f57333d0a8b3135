"""The tree of a YAML text: scalars, lists and maps that know where they stand and where they came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simflow.plan.record import Record
from simflow.scenario.problems import Span

Plain = None | bool | int | float | str


class Scalar(NamedTuple):
    """One value. `text` as written; `value` as the YAML 1.2 core rules read it; `quoted` when it can only be text."""

    text: str
    value: Plain
    span: Span
    quoted: bool = False
    size: int = 1
    height: int = 1


class Items(Record):
    """A list."""

    items: tuple[Node, ...]
    span: Span
    size: int = 1
    height: int = 1


class Entry(NamedTuple):
    """One key of a map with its value; the key is always text."""

    key: Scalar
    value: Node

    @property
    def name(self) -> str:
        """The key."""
        return self.key.text


class Table(Record):
    """A map, in the order of the text. `size` counts nodes with aliases written out; `height` is the depth below and with this."""

    entries: dict[str, Entry]
    span: Span
    size: int = 1
    height: int = 1
    removed: tuple[Entry, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def get(self, name: str) -> Node | None:
        """The value under `name`."""
        entry = self.entries.get(name)
        return entry.value if entry else None


Node = Scalar | Items | Table


def is_null(node: Node) -> bool:
    """Whether this is YAML's null: `null`, `~` or nothing."""
    return isinstance(node, Scalar) and node.value is None and not node.quoted


def at(node: Node, path: tuple[str, ...]) -> Node | None:
    """The node at a path of keys; None if a part of the path is not there."""
    found: Node | None = node
    for part in path:
        if not isinstance(found, Table):
            return None
        found = found.get(part)
    return found


def plain(node: Node) -> object:
    """The tree as Python values: dict, list, text, numbers."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {entry.name: plain(entry.value) for entry in node}
