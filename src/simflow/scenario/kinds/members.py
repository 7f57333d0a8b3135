"""Names, each with other words that mean the same: a list, or a map from name to words."""

from __future__ import annotations

from typing import Any

from simflow.scenario.kinds.base import INVALID, Invalid, Kind, Reader
from simflow.scenario.kinds.maps import ListOf
from simflow.scenario.kinds.scalars import Text
from simflow.scenario.nodes import Items, Node, Table, is_null

_WORDS = ListOf(Text())


class Members(Kind):
    """`[harbour, old town]` or `{harbour: [docks, port], old town: []}`."""

    says = "a list of names, or a map from each name to other words for it"

    def read(self, node: Node, reader: Reader) -> Any:
        """A tuple of (name, words)."""
        if isinstance(node, Items) or not isinstance(node, Table):
            names = _WORDS.read(node, reader)
            found = names if isinstance(names, Invalid) else tuple((name, ()) for name in names)
        else:
            read = [(e.name, () if is_null(e.value) else _WORDS.read(e.value, reader)) for e in node]
            found = INVALID if any(isinstance(words, Invalid) for _, words in read) else tuple(read)
        if isinstance(found, Invalid):
            return INVALID
        if not found:
            return reader.add("SF302", "at least one name is needed", node.span)
        twice = next((name for n, (name, _) in enumerate(found) if name in {other for other, _ in found[:n]}), None)
        return reader.add("SF302", f"'{twice}' is here twice", node.span, "one name, one thing") if twice else found

    def schema(self) -> dict[str, Any]:
        """An array of names, or an object with free keys."""
        words = _WORDS.schema()
        return {"anyOf": [words, {"type": "object", "minProperties": 1, "additionalProperties": {"anyOf": [words, {"type": "null"}]}}]}
