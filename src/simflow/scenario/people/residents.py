"""The people of a scenario: a people file, read and checked against personas and topics."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from simflow.plan import Person
from simflow.scenario.build.context import Context
from simflow.scenario.build.recording import find
from simflow.scenario.kinds import Named, Section, did_you_mean
from simflow.scenario.people import tools
from simflow.scenario.people.gather import PeopleFile, read_people
from simflow.scenario.problems import Span, Unreadable


def residents(context: Context, section: Section) -> tuple[Person, ...]:
    """The persons, each with a persona of the scenario. Problems stand at the scenario's key, or at the line of the file."""
    if "file" not in section:
        return ()
    span = section.span("file")
    path = find(context, section["file"], span, folder=True)
    if path is None:
        return ()
    columns = section.get("columns", {})
    try:
        found = _read(
            path,
            section["file"],
            section.get("format", "auto"),
            tuple(columns.items()),
            section.get("persona"),
            section.get("encoding", "utf-8"),
            _stamp(path),
        )
    except Unreadable as error:
        problem = error.problem
        context.reader.problems.append(dataclasses.replace(problem, span=span) if problem.span is None else problem)
        return ()
    _columns(context, section, columns, found)
    if not found.people:
        context.reader.add("SF514", f"{section['file']} holds no persons", span, "; ".join(found.notes) or None)
    if found.dropped:
        listed = ", ".join(f"'{c}' ({why})" for c, why in list(found.dropped.items())[:12])
        context.reader.warn("SF811", f"columns that nothing reads: {listed}", span, "name them under `columns:` if they matter")
    for note, count in found.notes.items():
        context.reader.warn("SF812", f"{section['file']}: {count:,} {note}", span)
    return _placed(context, section, found, span)


@lru_cache(maxsize=16)
def _read(
    path: Path, shown: str, form: str, columns: tuple[tuple[str, str], ...], persona: str | None, encoding: str, stamp: object
) -> PeopleFile:
    del stamp  # cells of one scenario share the file, as long as it does not change
    return read_people(path, shown, form=form, columns=dict(columns), persona=persona, encoding=encoding)


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _columns(context: Context, section: Section, columns: Mapping[str, str], found: PeopleFile) -> None:
    seen = {*found.used, *found.dropped}
    for name, column in columns.items():
        assert isinstance(columns, Named)
        if name not in tools.FIELDS:
            context.reader.add("SF515", f"a person has no field '{name}'", columns.key(name), did_you_mean(name, tools.FIELDS, "fields"))
        if column not in seen:
            context.reader.add(
                "SF515", f"{section['file']} has no column '{column}'", columns.span(name), did_you_mean(column, sorted(seen), "columns")
            )


def _placed(context: Context, section: Section, found: PeopleFile, span: Span) -> tuple[Person, ...]:
    population = context.section("population")
    named = population.get("personas") if population else None
    known = list(named) if isinstance(named, Named) else []
    topics = {t.name for t in context.topics}
    only = section.get("persona") or (known[0] if len(known) == 1 else None if known else "resident")
    if section.get("persona") and known and section["persona"] not in known:
        context.reader.add(
            "SF403",
            f"there is no persona '{section['persona']}'",
            section.span("persona"),
            did_you_mean(section["persona"], known, "personas"),
        )
        return ()
    made, lost, strange = [], 0, set()
    for person in found.people:
        persona = person.persona or only
        if persona is None:
            lost += 1
            persona = known[0]
        elif known and persona not in known:
            strange.add(persona)
        strange_topics = [t for t in person.stance if t not in topics]
        if strange_topics:
            hint = did_you_mean(strange_topics[0], topics, "topics")
            context.reader.add("SF402", f"{section['file']} has a stance on '{strange_topics[0]}', which is no topic", span, hint)
            return ()
        made.append(dataclasses.replace(person, persona=persona))
    if lost:
        context.reader.add(
            "SF516",
            f"{lost:,} of {len(found.people):,} persons have no persona",
            span,
            "name one for them: `people: {file: ..., persona: ...}`",
        )
    for persona in sorted(strange)[:5]:
        context.reader.add(
            "SF403",
            f"{section['file']} names the persona '{persona}', which is not declared",
            span,
            did_you_mean(persona, known, "personas"),
        )
    return tuple(made)
