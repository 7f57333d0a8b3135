"""How many ticks a recorded trace lasts, read with the standard library alone."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from simflow.plan import labelled

By = Literal["ts", "tick", "order"]


@dataclass(frozen=True, slots=True)
class Length:
    """Ticks from the first act to the last, both included; by which column rows are placed in time; rows read; what they are on."""

    ticks: int
    time: By
    rows: int
    topics: tuple[str, ...] = ()


def trace_length(path: Path, form: str, by: By | None, minutes: int, topic_by: str | None = None) -> Length:
    """The length of a trace in ticks of `minutes`. by: what places a row in time; None: ticks if all rows have one, else times, else order.

    topic_by: the column that says what a row is on; its values come back in the order in which they are first met.

    Raises ValueError, with the line, where the file is not what `form` says or lacks what `by` needs; OSError where it cannot be read.
    """
    rows, ticks, times = 0, _Range(), _Range()
    topics: dict[str, None] = {}
    for line, row in _rows(path, form, topic_by):
        rows += 1
        if topic_by and (topic := str(labelled(row, topic_by) or "").strip()):
            topics[topic] = None
        ticks.add(_whole(row.get("tick"), path, line))
        times.add(_seconds(row.get("ts"), path, line) if by != "tick" else None)
    if not rows:
        raise ValueError(f"{path} holds no rows")
    if by is None:
        by = "tick" if ticks.count == rows else "ts" if times.count else "order"
    if by == "order":
        return Length(rows, by, rows, tuple(topics))
    found = ticks if by == "tick" else times
    if not found.count or (by == "tick" and found.count < rows):
        raise ValueError(
            f"{rows - found.count:,} of {rows:,} rows of {path} have no `{by}`; write `time: {'ts' if by == 'tick' else 'order'}`"
        )
    span = found.high - found.low
    return Length(int(span // (1 if by == "tick" else 60 * minutes)) + 1, by, rows, tuple(topics))


@dataclass(slots=True)
class _Range:
    low: float = 0
    high: float = 0
    count: int = 0

    def add(self, value: float | None) -> None:
        if value is None:
            return
        self.low = value if not self.count else min(self.low, value)
        self.high = value if not self.count else max(self.high, value)
        self.count += 1


def _rows(path: Path, form: str, topic_by: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        if form == "jsonl":
            yield from _jsonl(path)
        elif form == "csv":
            with path.open(encoding="utf-8-sig", newline="") as source:
                reader = csv.DictReader(source, restkey="")
                for raw in reader:
                    yield reader.line_num, {str(k): v for k, v in raw.items()}
        elif form == "oasis":
            yield from _oasis(path)
        else:
            yield from _parquet(path, topic_by)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except csv.Error as error:
        raise ValueError(f"{path} is not CSV: {error}") from None


def _jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="\n") as source:
        for line, text in enumerate(source, 1):
            if not text.strip():
                continue
            try:
                raw = json.loads(text)
            except (ValueError, RecursionError):
                raise ValueError(f"{path}:{line} is not a JSON object") from None
            if not isinstance(raw, dict):
                raise ValueError(f"{path}:{line} is a JSON {type(raw).__name__}, not an object")  # noqa: TRY004 - of the file, not of an argument
            yield line, raw


def _oasis(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            line = 0
            for table in ("post", "comment", "like", "dislike", "follow", "mute"):
                try:
                    found = database.execute(f'select created_at from "{table}"').fetchall()  # noqa: S608 - names above
                except sqlite3.OperationalError:
                    continue
                for (created,) in found:
                    line += 1
                    yield line, {"tick": created} if str(created).isdigit() else {"ts": created}
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path} is not an OASIS database: {error}") from None


def _parquet(path: Path, topic_by: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa  # noqa: PLC0415 - a check may cost this only where the trace itself is Parquet
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(path) as file:
            wanted = {"tick", "ts", *([topic_by.split(".")[0], topic_by] if topic_by else ())}
            columns = [name for name in file.schema_arrow.names if name in wanted]
            line = 0
            if not columns:  # only the order is known: the footer says how many rows there are
                yield from ((n, {}) for n in range(1, file.metadata.num_rows + 1))
                return
            for batch in file.iter_batches(columns=columns):
                for row in batch.to_pylist():
                    line += 1
                    yield line, row
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file ({error})") from None


def _whole(value: Any, path: Path, line: int) -> int | None:
    if value is None or value == "":
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{path}:{line}: `tick` is {str(value)[:40]!r}, not a whole number") from None


def _seconds(value: Any, path: Path, line: int) -> float | None:
    if value is None or value == "":
        return None
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{path}:{line}: `ts` is {str(value)[:40]!r}, not a time in ISO 8601") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
