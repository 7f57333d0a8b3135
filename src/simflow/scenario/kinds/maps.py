"""Lists, maps with chosen names, and maps with fixed keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from simflow.scenario.kinds.base import INVALID, Invalid, Kind, Named, Reader, Section
from simflow.scenario.kinds.names import did_you_mean, nearest
from simflow.scenario.nodes import Entry, Items, Node, Scalar, Table, is_null

MOST_UNKNOWN = 30
"""Unknown keys of one map that are each reported with the key that was probably meant."""


def rejoined(node: Table) -> Iterator[Entry]:
    """The entries of a map; a call that YAML split at its comma (`{age: normal(71, 6)}`) is put together again, to be explained as one."""
    entries = list(node)
    for n, entry in enumerate(entries):
        last = entries[n - 1].value if n else None
        if _tail(entry) and isinstance(last, Scalar) and "(" in last.text:
            continue
        value = entry.value
        if n + 1 < len(entries) and _tail(entries[n + 1]) and isinstance(value, Scalar) and "(" in value.text:
            text = f"{value.text}, {entries[n + 1].name}"
            yield Entry(entry.key, value._replace(text=text, value=text))
        else:
            yield entry


def _tail(entry: Entry) -> bool:
    return entry.name.rstrip().endswith(")") and is_null(entry.value)


class ListOf(Kind):
    """A list; one value alone counts as a list of one."""

    def __init__(self, item: Kind, least: int = 0, exactly: int | None = None) -> None:
        self.item, self.least, self.exactly = item, least, exactly
        self.says = f"a list of {exactly}" if exactly else f"a list, each item {item.says}"

    def read(self, node: Node, reader: Reader) -> Any:
        """A tuple."""
        if isinstance(node, Table) and not isinstance(self.item, Fields):
            return self.wrong(node, reader)
        if is_null(node):
            return self.wrong(node, reader, "leave the key out, or write []")
        nodes = node.items if isinstance(node, Items) else (node,)
        if self.exactly is not None and len(nodes) != self.exactly:
            return reader.add("SF302", f"{len(nodes)} values, where {self.exactly} are needed", node.span)
        if len(nodes) < self.least:
            return reader.add("SF302", f"at least {self.least} are needed", node.span)
        read = [self.item.read(n, reader) for n in nodes]
        return INVALID if any(isinstance(v, Invalid) for v in read) else tuple(read)

    def schema(self) -> dict[str, Any]:
        """An array, or one item."""
        array: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        if self.exactly is not None:
            return array | {"minItems": self.exactly, "maxItems": self.exactly}
        if self.least:
            array["minItems"] = self.least
        return {"anyOf": [array, self.item.schema()]}


class MapOf(Kind):
    """A map whose keys are names that the author chooses. `what` names them in messages."""

    def __init__(self, item: Kind, what: str = "names") -> None:
        self.item, self.what = item, what
        self.says = f"a map of {what}"

    def read(self, node: Node, reader: Reader) -> Any:
        """A `Named`."""
        if not isinstance(node, Table):
            return self.wrong(node, reader, f"write a map: one line for each of the {self.what}, `name: value`")
        named = Named(node)
        for entry in rejoined(node):
            if not entry.name.strip():
                reader.add("SF302", "a name is empty", entry.key.span)
            else:
                value = self.item.read(entry.value, reader)
                if not isinstance(value, Invalid):
                    named[entry.name] = value
        return named

    def schema(self) -> dict[str, Any]:
        """An object with free keys."""
        return {"type": ["object", "null"], "additionalProperties": _or_null(self.item)}


class Key:
    """One key of the language. `to` is the plan value that it sets; `reads` are the stages that read it; `example` is YAML for its value."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        doc: str,
        example: str,
        to: str,
        reads: tuple[str, ...] = (),
        default: str = "",
        *,
        required: bool = False,
    ) -> None:
        self.name, self.kind, self.doc, self.example = name, kind, doc, example
        self.to, self.reads, self.default, self.required = to, reads, default, required

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the value, with what an editor shows on hover. `null` removes; a variable may stand anywhere."""
        takes = "" if isinstance(self.kind, Fields) else f"Takes {self.kind.says}."
        words = [
            self.doc,
            takes,
            f"Default: {self.default}." if self.default else "",
            f"Read by {', '.join(self.reads)}." if self.reads else "",
        ]
        found = {"description": " ".join(w for w in words if w), "examples": [self.example] if self.example else []}
        if _plain_map(self.kind):
            return found | _or_null(self.kind)
        return found | {"anyOf": [self.kind.schema(), {"$ref": "#/$defs/variable"}, {"type": "null"}]}


def _plain_map(kind: Kind) -> bool:
    return isinstance(kind, MapOf) or (isinstance(kind, Fields) and kind.short is None and "anyOf" not in kind.schema())


def _or_null(kind: Kind) -> dict[str, Any]:
    # A map is not wrapped in alternatives: an editor then marks the very key that is wrong, and not the whole section.
    if _plain_map(kind):
        return kind.schema() | {"type": ["object", "null"]}
    return {"anyOf": [kind.schema(), {"type": "null"}]}


class Fields(Kind):
    """A map with fixed keys. `short`: which key a bare value stands for."""

    def __init__(
        self,
        title: str,
        keys: tuple[Key, ...],
        short: str | None = None,
        *,
        check: Callable[[Section, Reader], None] | None = None,
        instead: Mapping[str, str] | None = None,
    ) -> None:
        self.title, self.keys, self.short, self.check = title, keys, short, check
        self.instead = instead or {}
        self.known = {k.name: k for k in keys}
        self.says = f"a map ({', '.join(k.name for k in keys[:6])}{', …' if len(keys) > 6 else ''})"

    def read(self, node: Node, reader: Reader) -> Any:
        """A `Section`. An unknown key that is nearly a known one is read as that one too, so that its value is checked as well."""
        if not isinstance(node, Table):
            return self._short(node, reader)
        section = Section(node)
        unknown = 0
        for entry in rejoined(node):
            key = self.known.get(entry.name)
            if key is None:
                unknown += 1
                if unknown <= MOST_UNKNOWN:
                    self._unknown(entry, section, reader)
            elif is_null(entry.value):
                reader.warn("SF806", f"'{entry.name}' has no value and is treated as left out", entry.key.span)
            else:
                value = key.kind.read(entry.value, reader)
                if not isinstance(value, Invalid):
                    section[entry.name] = value
        self._whole(section, unknown, reader)
        return section

    def _whole(self, section: Section, unknown: int, reader: Reader) -> None:
        node = section.node
        if unknown > MOST_UNKNOWN:
            text = f"{unknown - MOST_UNKNOWN:,} more keys are not keys of {self.title}"
            reader.add("SF301", text, node.span, f"{self.title} takes {', '.join(self.known)}")
        for key in self.keys:
            if key.required and key.name not in node.entries and not self._meant(key.name, node):
                reader.add("SF307", f"{self.title} needs '{key.name}'", node.span, f"for example `{key.name}: {key.example}`")
        if self.check:
            self.check(section, reader)

    def _meant(self, name: str, node: Table) -> bool:
        strangers = [e.name for e in node if e.name not in self.known][:MOST_UNKNOWN]
        return any(nearest(stranger, [name]) for stranger in strangers)

    def _short(self, node: Node, reader: Reader) -> Any:
        # A bare value stands for the one key that is named first in most uses: `topics: {tariff: A rise.}`.
        short = self.known.get(self.short) if self.short else None
        if short is None or is_null(node):
            return self.wrong(node, reader)
        section = Section(Table({short.name: Entry(Scalar(short.name, short.name, node.span), node)}, node.span))
        value = short.kind.read(node, reader)
        if isinstance(value, Invalid):
            return INVALID
        section[short.name] = value
        return section

    def _unknown(self, entry: Entry, section: Section, reader: Reader) -> None:
        hint = self.instead.get(entry.name) or did_you_mean(entry.name, self.known, "known keys")
        reader.add("SF301", f"'{entry.name}' is not a key of {self.title}", entry.key.span, hint)
        close = nearest(entry.name, self.known)
        if close and close not in section.node.entries and not is_null(entry.value):
            value = self.known[close].kind.read(entry.value, reader)
            if not isinstance(value, Invalid):
                section.setdefault(close, value)

    def schema(self) -> dict[str, Any]:
        """An object that takes these keys and no other."""
        found: dict[str, Any] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {k.name: k.schema() for k in self.keys},
        }
        if required := [k.name for k in self.keys if k.required]:
            found["required"] = required
        short = self.known.get(self.short) if self.short else None
        if short is None:
            return found
        bare = short.kind.schema()
        # A map is always read as the section itself, so the bare form has none.
        branches = [b for b in bare["anyOf"] if b.get("type") != "object"] if "anyOf" in bare else [bare]
        return {"anyOf": [found, *branches]}
