"""The trace of a replay: where it is, what it is, and how long it lasts."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from simflow.plan import Clock, Extract, Replay
from simflow.scenario.build.context import Context
from simflow.scenario.build.length import Length, trace_length
from simflow.scenario.kinds import Section
from simflow.scenario.problems import Span
from simflow.scenario.values import Time

FORMATS = ("jsonl", "csv", "parquet", "oasis")
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".db": "oasis", ".sqlite": "oasis"}


def recording(context: Context) -> tuple[Replay | None, int | None]:
    """The trace and its length in ticks, rounded up so that the last batch of extraction is not left waiting."""
    section = context.section("replay")
    if section is None or "file" not in section:
        return None, None
    path = find(context, section["file"], section.span("file"))
    form: Any = section.get("format") or _ENDINGS.get(Path(section["file"]).suffix.lower())
    if form is None:
        context.reader.add(
            "SF511", f"what kind of file is {section['file']}?", section.span("file"), f"add `format:`, one of {', '.join(FORMATS)}"
        )
    if path is None or form is None:
        return None, None
    clock = context.section("clock")
    minutes = _minutes(context, section, clock)
    try:
        length = trace_length(path, form, section.get("time"), minutes, section.get("topic_by"))
    except ValueError as error:
        context.reader.add("SF511", str(error), section.span("file"))
        return None, None
    except OSError as error:
        context.reader.add("SF510", f"{path} cannot be read: {(error.strerror or str(error)).lower()}", section.span("file"))
        return None, None
    if "topic_by" in section and not length.topics:
        text = f"no row of {section['file']} has anything in '{section['topic_by']}'"
        context.reader.add("SF515", text, section.span("topic_by"), "the name of a column; `labels.topic` for one inside an object")
    context.recorded = length.topics
    replay = Replay(str(path), form, _digest(path), length.time, minutes, section.get("topic_by"))
    return replay, _rounded(context, length)


def _rounded(context: Context, length: Length) -> int:
    extract = context.section("extract")
    every: Time | None = extract.get("every") if extract else None
    clock = context.section("clock")
    tick: Time | None = clock.get("tick") if clock else None
    minutes = int(tick.amount) if tick and tick.unit == "minutes" and tick.amount >= 1 else Clock().minutes
    size = Extract().every if every is None else max(1, round(every.ticks(minutes, length.ticks)))
    return -(-max(1, length.ticks) // size) * size


def _minutes(context: Context, section: Section, clock: Section | None) -> int:
    for where in (section, clock):
        tick: Time | None = where.get("tick") if where else None
        if where is None or tick is None:
            continue
        if tick.unit == "minutes" and tick.amount >= 1 and tick.amount == int(tick.amount):
            return int(tick.amount)
        if where is section:
            context.reader.add("SF302", "the length of a tick is a time in whole minutes", where.span("tick"), "write 10min, 1h, 1d")
    return Clock().minutes


def find(context: Context, name: str, span: Span, *, folder: bool = False) -> Path | None:
    """The file that a scenario names: relative to the scenario, or below ${corpora}; a problem if it is not there.

    folder: a folder will do as well.
    """
    if "${corpora}" in name:
        given = os.environ.get("SIMFLOW_CORPORA")
        if not given:
            hint = "export SIMFLOW_CORPORA=/path/to/corpora, the folder that holds DATASETS.json"
            context.reader.add("SF512", "${corpora} is the folder that SIMFLOW_CORPORA names, and that is not set", span, hint)
            return None
        path = Path(name.replace("${corpora}", given))
    else:
        path = context.folder / name
    try:
        there = path.is_file() or (folder and path.is_dir())
    except (OSError, ValueError):
        there = False
    if not there:
        hint = "paths are relative to the scenario file" if "${corpora}" not in name else "is the name right, and the set complete?"
        context.reader.add("SF510", f"there is no file {name}", span, hint)
        return None
    return path.resolve()


def _digest(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
