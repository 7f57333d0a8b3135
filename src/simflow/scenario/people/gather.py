"""A people file, or a folder of them, to persons; and a report of what became of each column."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.plan import Person, canonical, slug
from simflow.scenario.people import cells, tools
from simflow.scenario.people.records import Record, Records, read_records

_HANDLE = re.compile(r"\w[\w.\-]*\Z")
_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".yaml", ".yml")
_INDEX = re.compile(r"(Unnamed: \d+(\.\d+)*)?\Z")


@dataclass(slots=True)
class PeopleFile:
    """What was read. `dropped`: column -> why it is in no person. `notes`: what a person should know, with counts. `lines`: row of each."""

    people: list[Person] = field(default_factory=list)
    tool: str = "plain"
    rows: int = 0
    used: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    lines: list[int] = field(default_factory=list)


def read_people(
    path: Path,
    shown: str | None = None,
    *,
    form: str = "auto",
    columns: Mapping[str, str] | None = None,
    persona: str | None = None,
    encoding: str = "utf-8",
) -> PeopleFile:
    """The persons of a file, or of all files below a folder.

    columns: field -> column, for files whose columns have other names. persona: of rows that name none.
    Raises `Unreadable`, with file and line, where a file cannot be read.
    """
    shown = shown or str(path)
    if not path.is_dir():
        return persons(read_records(path, shown, encoding), form, columns or {}, persona)
    whole = Records()
    for file in sorted(p for p in path.rglob("*") if p.suffix.lower() in _ENDINGS):
        name = str(Path(shown) / file.relative_to(path))
        found = read_records(file, name, encoding)
        tool = tools.tell(found, form)
        if not found.rows or (tool is tools.PLAIN and not _names_somebody(found)):
            whole.notes["files that hold no persons, passed over"] += 1
            continue
        whole.rows += found.rows
        whole.notes.update(found.notes)
        whole.columns = list(dict.fromkeys([*whole.columns, *found.columns]))
    return persons(whole, form, columns or {}, persona)


def _names_somebody(records: Records) -> bool:
    return bool(set(tools.PLAIN.columns["name"] + tools.PLAIN.columns["id"]) & set(records.columns))


def persons(records: Records, form: str, columns: Mapping[str, str], persona: str | None) -> PeopleFile:
    """Rows to persons. Everybody gets an id of their own; what refers to somebody is joined by name or number, never by place."""
    tool = tools.tell(records, form)
    made = PeopleFile(tool=tool.name, rows=len(records.rows), notes=records.notes)
    if records.other:
        made.notes["values that are no rows, passed over"] += records.other
    rows: list[tuple[Record, dict[str, Any]]] = []
    for record in records.rows:
        data = tools.unpack(record, tool)
        if data is None:
            made.notes["rows that describe no person, passed over"] += 1
        else:
            rows.append((record, data))
    reader = _Columns(tool, columns, made)
    ids = _identities([reader.identity(data) for _, data in rows], made.notes)
    known = _Known(ids, [data for _, data in rows], reader)
    for (record, data), own in zip(rows, ids, strict=True):
        made.people.append(reader.person(data, own, persona, known))
        made.lines.append(record.line)
    for column in dict.fromkeys(c for _, data in rows for c in data):
        if column not in made.used and column not in made.dropped:
            made.dropped[column] = "always empty"
    for column in made.used:
        made.dropped.pop(column, None)
    return made


@dataclass(slots=True)
class _Columns:
    tool: tools.Tool
    given: Mapping[str, str]
    made: PeopleFile

    def names(self, name: str) -> tuple[str, ...]:
        if name in self.given:
            return (self.given[name],)
        return self.tool.columns.get(name, ())

    def identity(self, data: dict[str, Any]) -> tuple[str, str]:
        """(what the id is made from, name)."""
        parts = [
            cells.clean(str(data[c])) for c in self.names("name") if data.get(c) not in {None, ""} and not isinstance(data[c], dict | list)
        ]
        joined = self.tool.name == "genagents" and "name" not in self.given
        name = " ".join(parts) if joined else (parts[0] if parts else "")
        for column in self.names("id"):
            if isinstance(data.get(column), str | int) and str(data[column]).strip():
                self.made.used[column] = "id"
                return cells.clean(str(data[column])), name
        return name, name

    def person(self, data: dict[str, Any], own: str, persona: str | None, known: _Known) -> Person:
        about: list[str] = []
        taken: dict[str, str] = {}
        traits: dict[str, str | float] = {}
        stance: dict[str, float] = {}
        fields = {column: name for name in tools.FIELDS for column in self.names(name)}
        for column in self.names("about"):
            _add(about, _told(data.get(column)))
        for column, value in data.items():
            name = fields.get(column)
            if name is not None:
                taken[column] = name
            elif column.startswith(("stance.", "stance:")):
                self._stance(column[7:], value, stance, taken, column)
            elif column == "stance" and isinstance(value, dict):
                for topic, number in value.items():
                    self._stance(str(topic), number, stance, taken, column)
            elif column == "traits" and isinstance(value, dict):
                traits |= {cells.clean(str(k)): v for k, v in ((k, cells.trait(v)) for k, v in value.items()) if v is not None}
                taken[column] = "traits"
            else:
                self._trait(column, value, traits, taken)
        self.made.used |= taken
        own_persona = next((cells.clean(str(data[c])) for c in self.names("persona") if data.get(c)), None) or persona or ""
        follows = [f for c in self._first("follows", data) for f in known.resolve(cells.items(data[c]), own, self.made.notes)]
        posts = [t for c in self._first("posts", data) for t in cells.texts(data[c])]
        name = self.identity(data)[1]
        return Person(own, name, own_persona, " ".join(about), traits, stance, tuple(dict.fromkeys(follows)), tuple(posts))

    def _first(self, name: str, data: dict[str, Any]) -> Iterator[str]:
        return iter([c for c in self.names(name) if c in data][:1])

    def _stance(self, topic: str, value: Any, stance: dict[str, float], taken: dict[str, str], column: str) -> None:
        number = cells.trait(value)
        if isinstance(number, float) and -1 <= number <= 1:
            stance[topic] = number
            taken[column] = "stance"
        elif number is not None:
            self.made.notes["stances that are no number from -1 to 1, left out"] += 1

    def _trait(self, column: str, value: Any, traits: dict[str, str | float], taken: dict[str, str]) -> None:
        why = self.made.dropped
        if _INDEX.match(column):
            why[column] = "numbers the rows"
        elif column in self.tool.ignore:
            why[column] = "means nothing outside its tool"
        elif isinstance(value, dict) or (isinstance(value, list) and any(isinstance(i, dict | list) for i in value)):
            why[column] = "holds more than a value"
        elif (found := cells.trait(value)) is not None:
            traits[cells.clean(column)] = found
            taken[column] = "trait"
        elif value not in (None, "", []):
            why.setdefault(column, f"longer than {cells.LONGEST_TRAIT} characters, or no value")


def _told(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("description") or value.get("title")
    if isinstance(value, list):
        value = ", ".join(str(i) for i in value if not isinstance(i, dict | list))
    return cells.clean(value) if isinstance(value, str) else ""


def _add(about: list[str], text: str) -> None:
    # Tools often repeat the short description at the start of the long one.
    if text and not any(text in kept for kept in about):
        about[:] = [kept for kept in about if kept not in text] + [text]


def _identities(wanted: list[tuple[str, str]], notes: Counter[str]) -> list[str]:
    taken: set[str] = set()
    ids: list[str] = []
    for text, _ in wanted:
        handle = text.strip().removeprefix("@")
        base = handle if len(handle) <= 60 and _HANDLE.match(handle) else slug(text)[:60].strip("-").replace("-", "_")
        if not text.strip() or not _HANDLE.match(base):
            base = "resident"
            notes["persons without a name of their own, numbered"] += 1
        own, n = (base, 1) if base != "resident" else (f"resident{len(ids) + 1}", 1)
        while own.casefold() in taken:
            n += 1
            own = f"{base}_{n}"
        if n > 1:
            notes["persons who share a name, told apart by a number"] += 1
        taken.add(own.casefold())
        ids.append(own)
    return ids


class _Known:
    """Who is meant by a name, a user name or a number."""

    def __init__(self, ids: list[str], rows: list[dict[str, Any]], reader: _Columns) -> None:
        self.given: dict[str, str | None] = {}
        self.names: dict[str, str | None] = {}
        for own, data in zip(ids, rows, strict=True):
            text, name = reader.identity(data)
            for table, key in ((self.given, text), (self.names, name)):
                folded = key.casefold().removeprefix("@").strip()
                table[folded] = own if table.get(folded, own) == own else None  # what two people have names nobody
        self.numbers: dict[str, str] = {}
        for column in reader.tool.number:
            values = [str(data.get(column, "")).strip() for data in rows]
            if rows and all(v.isdigit() for v in values) and len(set(values)) == len(values):
                self.numbers = dict(zip(values, ids, strict=True))
                break

    def resolve(self, wanted: list[Any], own: str, notes: Counter[str]) -> Iterator[str]:
        for one in wanted:
            text = str(one).strip()
            folded = text.casefold().removeprefix("@")
            found = self.numbers.get(text) if isinstance(one, int) else None
            found = found or self.given.get(folded) or (None if folded in self.given else self.names.get(folded)) or self.numbers.get(text)
            if found is None:
                notes["references to somebody who is not in the file, left out"] += 1
            elif found != own:
                yield found


def write_people(people: list[Person]) -> str:
    """A people file in the neutral form: one JSON object a line; `read_people` gives the same persons back."""
    return "".join(
        json.dumps({k: v for k, v in canonical(person).items() if v not in ("", [], {})}, ensure_ascii=False) + "\n" for person in people
    )
