"""A follow graph from a file of two columns: who follows whom."""

from __future__ import annotations

import dataclasses

from simflow.scenario.build.context import Context
from simflow.scenario.build.recording import find
from simflow.scenario.kinds import Section
from simflow.scenario.people.records import read_records
from simflow.scenario.problems import Unreadable

_FROM = ("follower", "source", "from", "a", "u")
_TO = ("followee", "followed", "target", "to", "b", "v")


def read_edges(context: Context, section: Section) -> tuple[tuple[str, str], ...]:
    """(follower id, followee id) pairs, each once. Ids that nobody has are a problem if the residents come from a file."""
    span = section.span("edges")
    path = find(context, section["edges"], span)
    if path is None:
        return ()
    try:
        records = read_records(path, section["edges"])
    except Unreadable as error:
        problem = error.problem
        context.reader.problems.append(dataclasses.replace(problem, span=span) if problem.span is None else problem)
        return ()
    names = {c.casefold(): c for c in records.columns}
    one = next((names[c] for c in _FROM if c in names), records.columns[0] if len(records.columns) == 2 else None)
    two = next((names[c] for c in _TO if c in names), records.columns[1] if len(records.columns) == 2 else None)
    if one is None or two is None:
        context.reader.add(
            "SF517", f"{section['edges']} has no columns 'follower' and 'followee'", span, f"its columns: {', '.join(records.columns[:8])}"
        )
        return ()
    pairs = dict.fromkeys(
        (str(r.data.get(one, "")).strip().removeprefix("@"), str(r.data.get(two, "")).strip().removeprefix("@")) for r in records.rows
    )
    kept = tuple(p for p in pairs if all(p) and p[0] != p[1])
    if len(kept) < len(records.rows):
        context.reader.warn(
            "SF812", f"{section['edges']}: {len(records.rows) - len(kept):,} links that are empty, repeated or to oneself, left out", span
        )
    known = context.residents | {v.name for v in context.voices}
    missing = sorted({i for p in kept for i in p if i not in known}) if context.residents and not context.root_agents else []
    if missing:
        context.reader.add(
            "SF517",
            f"{len(missing):,} ids of {section['edges']} are nobody's, such as '{missing[0]}'",
            span,
            "ids are those of `population.people`",
        )
    return kept
