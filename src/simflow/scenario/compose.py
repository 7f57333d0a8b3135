"""Composition of trees: `from:` (files below files), `null` removal, dotted overrides, and `${vars}` filled after parsing."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simflow.scenario import source
from simflow.scenario.kinds import did_you_mean, nearest, shown
from simflow.scenario.nodes import Entry, Items, Node, Scalar, Table, is_null
from simflow.scenario.problems import Problem, SourceText, Span, Unreadable
from simflow.scenario.tree import resolve

MAX_FILES = 50
_VARIABLE = re.compile(r"\$(\$?)\{([^{}]*)\}")
OUTSIDE = frozenset({"corpora"})
"""Variables that come from outside the scenario, and may stand in `file:` only."""


@dataclass(slots=True, eq=False, repr=False)
class Composer:
    """Reads a scenario with the files below it. Problems are collected; what can be read is read."""

    problems: list[Problem] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def load(self, path: Path, shown_as: str | None = None) -> Table | None:
        """The composed tree of the file at `path`; None if there is none."""
        return self._file(path, shown_as or str(path), (), None)

    def _file(self, path: Path, name: str, chain: tuple[Path, ...], asked: Span | None) -> Table | None:
        real = path.resolve()
        if real in chain:
            loop = " -> ".join(p.name for p in (*chain[chain.index(real) :], real))
            self.problems.append(Problem("SF201", f"these files are built on each other: {loop}", asked, "take one `from:` out"))
            return None
        self.files.append(real)
        if len(self.files) > MAX_FILES:
            self.problems.append(Problem("SF202", f"more than {MAX_FILES} files below this scenario", asked))
            return None
        try:
            text = source.decode(source.read_bytes(path, name), name)
            documents = source.parse(text, name, self.problems)
        except Unreadable as error:
            self.problems.append(_below(error.problem, asked))
            return None
        start = Span(SourceText(name, source.lines_of(text)), 1, 1, 1, 2)
        if not documents or is_null(documents[0]):
            self.problems.append(Problem("SF104", f"{name} holds no keys", start, "a scenario starts with `scenario: NAME`"))
            return None
        top = documents[0]
        if not isinstance(top, Table):
            found = f"a scenario is a map of keys; this is {shown(top)}"
            self.problems.append(Problem("SF302", found, top.span, "start with `scenario: NAME`"))
            return None
        return self._below(top, path, (*chain, real))

    def _below(self, top: Table, path: Path, chain: tuple[Path, ...]) -> Table | None:
        entry = top.entries.get("from")
        if entry is None:
            return top
        own = dataclasses.replace(top, entries={k: v for k, v in top.entries.items() if k != "from"})
        names = entry.value.items if isinstance(entry.value, Items) else (entry.value,)
        merged: Table | None = None
        for name in names:
            if not isinstance(name, Scalar) or is_null(name):
                self.problems.append(
                    Problem("SF302", f"{shown(name)} is not the path of a file", name.span, "write `from: library/city.yaml`")
                )
                continue
            target = path.parent / name.text
            below = self._file(target, _short(target), chain, name.span)
            if below is not None:
                merged = below if merged is None else self.merge(merged, below)
        return own if merged is None else self.merge(merged, own)

    def merge(self, base: Table, over: Table) -> Table:
        """`over` on `base`: maps merge, everything else replaces, null removes."""
        entries = dict(base.entries)
        for entry in over:
            old = entries.get(entry.name)
            if is_null(entry.value):
                if old is None:
                    what = f"'{entry.name}' has no value, and there is none below to remove"
                    near = nearest(entry.name, base.entries)
                    hint = f"did you mean '{near}'?" if near else "give it a value, or take the line out"
                    self.problems.append(Problem("SF806", what, entry.key.span, hint, "warning"))
                entries.pop(entry.name, None)
            elif old is not None and isinstance(old.value, Table) and isinstance(entry.value, Table):
                entries[entry.name] = Entry(entry.key, self.merge(old.value, entry.value))
            else:
                entries[entry.name] = entry
        return dataclasses.replace(over, entries=entries)

    def override(self, tree: Table, changes: Iterable[Entry]) -> Table:
        """`tree` with each change applied; a key such as `events.announcement.post` names a place in the tree."""
        for change in changes:
            tree = self._set(tree, change.name.split("."), change)
        return tree

    def _set(self, tree: Table, parts: list[str], change: Entry) -> Table:
        # A name that the author chose may hold dots: the longest name that exists wins.
        for n in range(len(parts), 0, -1):
            name = ".".join(parts[:n])
            if name in tree.entries or n == 1:
                break
        rest = parts[n:]
        old = tree.entries.get(name)
        if not rest:
            key = change.key._replace(text=name, value=name)
            return self.merge(tree, Table({name: Entry(key, change.value)}, tree.span))
        if old is not None and isinstance(old.value, Table):
            below = self._set(old.value, rest, change)
            return dataclasses.replace(tree, entries={**tree.entries, name: Entry(old.key, below)})
        if old is not None and isinstance(old.value, Scalar) and not is_null(old.value):
            what = f"'{name}' is {shown(old.value)}, and has nothing called '{rest[0]}' inside"
            self.problems.append(Problem("SF601", what, change.key.span))
            return tree
        key = change.key._replace(text=name, value=name)
        below = self._set(Table({}, change.key.span), rest, change)
        return dataclasses.replace(tree, entries={**tree.entries, name: Entry(key, below)})


def _below(problem: Problem, asked: Span | None) -> Problem:
    # A file that cannot be opened at all is reported where it is asked for.
    return dataclasses.replace(problem, span=asked) if asked and problem.span is None else problem


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


@dataclass(slots=True, eq=False, repr=False)
class Filler:
    """Fills `${vars}`. `used` collects the names that were needed."""

    variables: Mapping[str, Node]
    problems: list[Problem]
    used: set[str] = field(default_factory=set)
    _done: dict[str, Node | None] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _written: int = 0
    _full: bool = False
    _missing: set[tuple[str, Span]] = field(default_factory=set)

    def fill(self, node: Node, *, file: bool = False) -> Node:
        """The tree with variables filled in all values; the same object where nothing was to fill."""
        if isinstance(node, Scalar):
            return self._scalar(node, file=file) if "${" in node.text else node
        if isinstance(node, Items):
            items = tuple(self.fill(i, file=file) for i in node.items)
            return node if all(a is b for a, b in zip(items, node.items, strict=True)) else dataclasses.replace(node, items=items)
        entries: dict[str, Entry] = {}
        changed = False
        for entry in node:
            value = self.fill(entry.value, file=entry.name in {"file", "people", "edges"} or file)
            if "${" in entry.name:
                self.problems.append(Problem("SF203", "variables are filled in values, not in keys", entry.key.span))
            changed = changed or value is not entry.value
            entries[entry.name] = entry if value is entry.value else Entry(entry.key, value)
        return dataclasses.replace(node, entries=entries) if changed else node

    def _scalar(self, node: Scalar, *, file: bool) -> Node:
        whole = _VARIABLE.fullmatch(node.text.strip())
        # In `{}` YAML wants `${name}` in quotes, so a quoted one takes the variable's own kind too.
        if whole and not whole.group(1) and not (file and whole.group(2).strip() in OUTSIDE):
            return self._value(whole.group(2).strip(), node) or node

        def one(found: re.Match[str]) -> str:
            if found.group(1):
                return "${" + found.group(2) + "}"
            name = found.group(2).strip()
            if file and name in OUTSIDE:
                return found.group(0)
            value = self._value(name, node)
            if value is None:
                return found.group(0)
            if not isinstance(value, Scalar):
                where = node.span.within(found.group(0))
                self.problems.append(Problem("SF203", f"'{name}' is {shown(value)}; only text and numbers can stand inside a text", where))
                return found.group(0)
            return value.text

        text = _VARIABLE.sub(one, node.text)
        self._written += len(text)
        if self._written > source.MAX_BYTES:
            if not self._full:
                self.problems.append(Problem("SF103", f"more than {source.MAX_BYTES:,} characters once variables are filled", node.span))
            self._full = True
            return node
        return Scalar(text, text if node.quoted else resolve(text), node.span, node.quoted)

    def _value(self, name: str, node: Scalar) -> Node | None:
        if name in OUTSIDE:
            where = node.span.within("${" + name + "}")
            self.problems.append(Problem("SF203", f"${{{name}}} may stand in `file:` only", where))
            return None
        if name not in self.variables:
            if (name, node.span) in self._missing:
                return None
            self._missing.add((name, node.span))
            where = node.span.within("${" + name + "}")
            hint = did_you_mean(name, self.variables, "variables") if self.variables else f"define it: `vars: {{{name or 'name'}: ...}}`"
            self.problems.append(Problem("SF203", f"the variable '{name}' is not defined", where, hint))
            return None
        self.used.add(name)
        if name in self._open:
            where = node.span.within("${" + name + "}")
            self.problems.append(Problem("SF203", f"the variable '{name}' is made from itself", where))
            return None
        if name not in self._done:
            self._open.append(name)
            self._done[name] = self.fill(self.variables[name])
            self._open.pop()
        return self._done[name]
