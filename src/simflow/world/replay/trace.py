"""Reads a recorded trace into rows of one neutral form, whatever the file was. Nothing in a file is evaluated or followed."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simflow.errors import BadInput
from simflow.plan import labelled

KNOWN = frozenset(
    {"id", "tick", "ts", "seq", "actor", "type", "parent_id", "target_actor", "text", "lang", "thread", "conv", "session", "speakers"}
)
"""Columns that are read; everything else in a file is reported and left alone."""

KINDS = frozenset(
    {"post", "reply", "repost", "quote", "message", "like", "dislike", "follow", "unfollow", "mute", "unmute", "report", "join", "leave"}
)


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded act. `line`: where it stands in the file, from 1. Times as the file has them."""

    line: int
    id: str
    actor: str
    kind: str
    text: str | None
    parent: str | None
    target: str | None
    tick: int | None
    ts: str | None
    seq: int
    lang: str | None
    group: str | None
    speakers: tuple[str, ...]
    topic: str | None = None


@dataclass(slots=True)
class Trace:
    """The rows of a file in file order, and counts of what a person should know about it."""

    rows: list[Row]
    notes: dict[str, int | str] = field(default_factory=dict)


def read(path: Path, form: str, topic_by: str | None = None) -> Trace:
    """Read a trace. form: jsonl, csv, parquet or oasis (a database written by OASIS). topic_by: column that says what a row is on.

    Raises BadInput with file and line where something cannot be read.
    """
    readers = {"jsonl": _jsonl, "csv": _csv, "parquet": _parquet, "oasis": _oasis}
    if form not in readers:
        raise BadInput(f"there is no trace format '{form}'", hint=f"known: {', '.join(readers)}")
    if not path.is_file():
        raise BadInput(f"the trace {path} does not exist or is no file", hint="`replay.file` is relative to the scenario file")
    rows: list[Row] = []
    unknown: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    try:
        for line, raw in readers[form](path):
            unknown.update(k for k in raw if k not in KNOWN and k != (topic_by or "").split(".")[0])
            topic = _text(labelled(raw, topic_by)) if topic_by else None
            rows.append(replace(_row(path, line, raw, notes), topic=topic))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})", hint="convert it to UTF-8 first") from error
    found: dict[str, int | str] = dict(notes)
    if unknown:
        found["columns that nothing reads"] = ", ".join(sorted(unknown))
    return Trace(rows, found)


def _row(path: Path, line: int, raw: Mapping[str, Any], notes: Counter[str]) -> Row:
    actor = _text(raw.get("actor"))
    if not actor:
        notes["rows without an actor, taken as @unknown"] += 1
        actor = "unknown"
    identity = _text(raw.get("id"))
    if not identity:
        notes["rows without an id, named by their line"] += 1
        identity = f"line-{line}"
    parent, speakers = _text(raw.get("parent_id")), raw.get("speakers")
    kind = _text(raw.get("type")) or ("reply" if parent else "message" if raw.get("conv") else "post")
    if kind not in KINDS:
        notes[f"rows of the unknown type '{kind[:40]}', taken as posts"] += 1
        kind = "post"
    return Row(
        line=line,
        id=identity,
        actor=actor.removeprefix("@"),
        kind=kind,
        text=_text(raw.get("text"), strip=False),
        parent=parent,
        target=(_text(raw.get("target_actor")) or "").removeprefix("@") or None,
        tick=_whole(path, line, "tick", raw.get("tick")),
        ts=_text(raw.get("ts")),
        seq=_whole(path, line, "seq", raw.get("seq")) or 0,
        lang=_text(raw.get("lang")),
        group=_text(raw.get("thread")) or _text(raw.get("conv")),
        speakers=tuple(str(s).removeprefix("@") for s in speakers) if isinstance(speakers, list) else (),
    )


def _text(value: Any, *, strip: bool = True) -> str | None:
    if value is None:
        return None
    text = str(value)
    # A NUL or a lone surrogate cannot be stored as text anywhere downstream.
    text = text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    return (text.strip() if strip else text) or None


def _whole(path: Path, line: int, column: str, value: Any) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(
            f"{path}:{line}: `{column}` is {value!r}, not a whole number", hint="correct the row, or use `replay.time: order`"
        ) from None
    if not -(2**31) <= number < 2**31:
        raise BadInput(f"{path}:{line}: `{column}` is {number}, which is no tick", hint="ticks fit in 32 bits")
    return number


def _jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="\n") as source:
        for line, text in enumerate(source, 1):
            if not text.strip():
                continue
            try:
                raw = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{path}:{line}: is not a JSON object ({error})", hint="one complete object a line") from None
            if not isinstance(raw, dict):
                raise BadInput(
                    f"{path}:{line}: is a JSON {type(raw).__name__}, not an object",
                    hint='a row looks like {"id": ..., "actor": ..., "text": ...}',
                )
            yield line, raw


def _csv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="") as source:
        reader = csv.DictReader(source, restkey="(more cells than columns)")
        try:
            for raw in reader:
                yield reader.line_num, {str(k): v for k, v in raw.items()}
        except csv.Error as error:
            raise BadInput(f"{path}:{reader.line_num}: {error}", hint="is it really a CSV file?") from None


def _parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa  # noqa: PLC0415 - only this format needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise BadInput(f"{path}: is not a Parquet file ({error})") from None
    yield from enumerate(table.to_pylist(), 1)


def _oasis(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    # An OASIS database keeps posts, comments, likes and follows in tables of their own; `user` maps their ids to names.
    wanted = {
        "post": "select 'post-' || post_id as id, user_id, created_at, content as text, original_post_id, quote_content from post",
        "comment": "select 'comment-' || comment_id as id, user_id, created_at, content as text, post_id from comment",
        "like": "select 'like-' || like_id as id, user_id, created_at, post_id from \"like\"",
        "dislike": "select 'dislike-' || dislike_id as id, user_id, created_at, post_id from dislike",
        "follow": "select 'follow-' || follow_id as id, follower_id as user_id, followee_id, created_at from follow",
        "mute": "select 'mute-' || mute_id as id, muter_id as user_id, mutee_id as followee_id, created_at from mute",
    }
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            names = {
                row["user_id"]: row["user_name"] or row["name"] or f"user{row['user_id']}" for row in database.execute("select * from user")
            }
            line = 0
            for kind, query in wanted.items():
                try:
                    rows = database.execute(query).fetchall()
                except sqlite3.OperationalError:  # a table or column that this version of OASIS did not have
                    continue
                for row in rows:
                    line += 1
                    yield line, _oasis_row(kind, dict(row), names)
    except sqlite3.DatabaseError as error:
        raise BadInput(f"{path}: is not an OASIS database ({error})", hint="it needs at least the table `user`") from None


def _oasis_row(kind: str, row: dict[str, Any], names: Mapping[Any, str]) -> dict[str, Any]:
    original = row.get("original_post_id")
    parent = original if original is not None else row.get("post_id")
    kinds = {"post": "quote" if row.get("quote_content") else "repost" if original is not None else "post", "comment": "reply"}
    created = row.get("created_at")
    return {
        "id": row["id"],
        "actor": names.get(row["user_id"], f"user{row['user_id']}"),
        "type": kinds.get(kind, kind),
        "text": row.get("quote_content") or row.get("text"),
        "parent_id": f"post-{parent}" if parent is not None else None,
        "target_actor": names.get(row["followee_id"]) if "followee_id" in row else None,
        # OASIS writes a time step (a number) or a date, by how it was run.
        **({"tick": created} if str(created).isdigit() else {"ts": created}),
    }
