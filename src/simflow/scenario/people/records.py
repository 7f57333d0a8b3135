"""Rows of a CSV, JSON, JSONL or YAML file, each with the line on which it starts. Strict about the format, silent about the content."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.scenario import source
from simflow.scenario.nodes import Items, Table, plain
from simflow.scenario.problems import Problem, SourceText, Span, Unreadable

MAX_BYTES = 200_000_000
ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1251", "cp1252", "gb18030", "shift_jis")
_DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Record:
    """One row: its columns, and the line on which it starts, from 1."""

    line: int
    data: dict[str, Any]
    file: str = ""


@dataclass(slots=True)
class Records:
    """The rows of a file. `notes` counts what was passed over; `other` holds values that are no rows (texts, numbers) of a JSON list."""

    rows: list[Record] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    columns: list[str] = field(default_factory=list)
    other: int = 0


def read_records(path: Path, shown: str, encoding: str = "utf-8") -> Records:
    """The rows of a file, by its ending. Raises `Unreadable` with file, line and column where it is not what it says it is."""
    raw = source.read_bytes(path, shown, limit=MAX_BYTES)
    text = source.decode(raw, shown) if encoding == "utf-8" else _declared(raw, shown, encoding)
    ending = path.suffix.lower()
    if ending in {".csv", ".tsv"}:
        return read_csv(text, shown)
    if ending in {".jsonl", ".ndjson"}:
        return read_jsonl(text, shown)
    if ending in {".yaml", ".yml"}:
        return read_yaml(text, shown)
    if ending == ".json":
        return read_json(text, shown)
    hint = "people files are .csv, .tsv, .json, .jsonl or .yaml"
    raise Unreadable(Problem("SF513", f"what kind of file is {shown}?", _at(text, shown, 1, 1), hint))


def _declared(raw: bytes, shown: str, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        span = Span(SourceText(shown, []), line, 1, line, 2)
        raise Unreadable(Problem("SF102", f"byte 0x{raw[error.start]:02x} is not {encoding}", span)) from None


def read_csv(text: str, shown: str) -> Records:
    """Comma, semicolon, tab or bar, whichever the first line has most of. The first row names the columns."""
    records = Records()
    if text.startswith("sep="):
        text = text[text.find("\n") + 1 :]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    try:
        header = next(reader, None)
        if header is None:
            raise Unreadable(Problem("SF513", f"{shown} holds no rows", _at(text, shown, 1, 1), "the first row names the columns"))
        records.columns = _distinct(header, records.notes)
        line = reader.line_num + 1
        for cells in reader:
            if any(c.strip() for c in cells):
                if len(cells) > len(header) and any(c.strip() for c in cells[len(header) :]):
                    what = f"this row has {len(cells)} cells, and the first row names {len(header)} columns"
                    raise Unreadable(Problem("SF513", what, _at(text, shown, line, 1), "put a cell that contains the separator in quotes"))
                if len(cells) < len(header):
                    records.notes["rows with fewer cells than columns"] += 1
                records.rows.append(Record(line, dict(zip(records.columns, cells, strict=False)), shown))
            line = reader.line_num + 1
    except csv.Error as error:
        raise Unreadable(
            Problem("SF513", f"this is not CSV: {error}", _at(text, shown, max(1, reader.line_num), 1), "is a quote left open?")
        ) from None
    return records


def _delimiter(text: str) -> str:
    head, inside = Counter[str](), False
    for character in text[:100_000]:
        if character == '"':
            inside = not inside
        elif character in "\r\n" and not inside:
            break
        elif character in _DELIMITERS and not inside:
            head[character] += 1
    return head.most_common(1)[0][0] if head else ","


def _distinct(header: list[str], notes: Counter[str]) -> list[str]:
    seen: Counter[str] = Counter()
    names = []
    for cell in header:
        name = cell.strip()
        seen[name] += 1
        if seen[name] > 1:
            notes["columns with a name that was there before"] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def read_json(text: str, shown: str) -> Records:
    """A list of objects, one object, or an object whose one list holds the objects."""
    records = Records()
    value = _loads(text, shown, records.notes, 1)
    rows = value if isinstance(value, list) else [value]
    if isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list) and v and all(isinstance(i, dict) for i in v)]
        plain_rest = all(not isinstance(v, dict | list) or v in lists for v in value.values())
        if len(lists) == 1 and plain_rest:
            rows = lists[0]
    _take(records, [(1, row) for row in rows], shown)
    return records


def read_jsonl(text: str, shown: str) -> Records:
    """One object a line; empty lines are passed over."""
    records = Records()
    found = []
    for line, row in enumerate(text.split("\n"), 1):
        if row.strip():
            found.append((line, _loads(row, shown, records.notes, line)))
    _take(records, found, shown)
    return records


def read_yaml(text: str, shown: str) -> Records:
    """A list of maps, or one map; the same rules as for scenarios."""
    records = Records()
    problems: list[Problem] = []
    documents = source.parse(text, shown, problems, many=True)
    if problems:
        raise Unreadable(problems[0])
    rows = [item for document in documents for item in (document.items if isinstance(document, Items) else (document,))]
    _take(records, [(node.span.line, plain(node) if isinstance(node, Table) else None) for node in rows], shown)
    return records


def _take(records: Records, rows: list[tuple[int, Any]], shown: str) -> None:
    columns: dict[str, None] = {}
    for line, row in rows:
        if isinstance(row, dict):
            records.rows.append(Record(line, row, shown))
            columns |= dict.fromkeys(row)
        else:
            records.other += 1
    records.columns = list(columns)


def _loads(text: str, shown: str, notes: Counter[str], first: int) -> Any:
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) < len(found):
            notes["keys that are in one object twice, the last one taken"] += len(found) - len(made)
        return made

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        column = error.colno
        problem = Problem("SF513", f"this is not JSON: {error.msg.lower()}", _at(text, shown, error.lineno, column, first))
    except RecursionError:
        problem = Problem("SF103", "this is nested too deeply", _at(text, shown, 1, 1, first))
    except ValueError as error:
        at = next((text.find(n) for n in ("NaN", "Infinity") if n in text and n in str(error)), -1)
        message = str(error) if at >= 0 else "a number in this JSON has too many digits"
        line = text.count("\n", 0, max(0, at)) + 1
        column = max(0, at) - (text.rfind("\n", 0, max(0, at)) + 1) + 1
        problem = Problem(
            "SF513", f"this is not JSON: {message}", _at(text, shown, line, column, first), "write null for what is not known"
        )
    raise Unreadable(problem)


def _at(text: str, shown: str, line: int, column: int, first: int = 1) -> Span:
    # Only the line itself is kept: a people file may be large.
    lines = source.lines_of(text[:MAX_BYTES])
    row = lines[line - 1] if 0 < line <= len(lines) else ""
    number = line + first - 1
    return Span(SourceText(shown, _One(number, row)), number, column, number, column + 1)


class _One(list[str]):
    """A text of which one line is known."""

    def __init__(self, number: int, line: str) -> None:
        super().__init__([line])
        self.number = number

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(0) if index == self.number - 1 else ""
