"""Answers as plain values, in readable ids: what a program, a terminal or a browser gets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from simflow.episode import label
from simflow.memory.beliefs import Edge
from simflow.memory.graph import Fact
from simflow.memory.linking import Names
from simflow.memory.relations import tell
from simflow.plan import Cell


def entities(cell: Cell, agents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Topics, declared entities and agents: kind (`topic`, an entity's own, `agent`, `voice`), id, name, about, metadata."""
    found: list[dict[str, Any]] = [
        {
            "kind": "topic",
            "id": t.name,
            "name": t.name,
            "about": t.about or None,
            "metadata": {"words": list(t.words), "scale": list(t.scale)},
        }
        for t in cell.topics
    ]
    found += [
        {"kind": kind.name, "id": e.name, "name": e.name, "about": kind.about or None, "metadata": {"words": list(e.words)}}
        for kind in cell.extract.entities
        for e in kind.entities
    ]
    for row in agents:
        metadata = {"agent": row["agent"], "persona": row["persona"], "joined": row["joined"], "traits": json.loads(row["traits"] or "{}")}
        kind = "voice" if row["is_voice"] else "agent"
        found.append({"kind": kind, "id": f"@{row['id']}", "name": row["name"], "about": row["about"], "metadata": metadata})
    return found


def edge(names: Names, row: Edge) -> dict[str, Any]:
    """An edge in force."""
    return {
        "edge": label(row.edge),
        "kind": row.kind,
        "of": names.show(row.of),
        "on": row.on_topic if row.on_agent is None else names.show(row.on_agent),
        "about": row.about,
        "value": round(row.value, 4),
        "weight": round(row.weight, 4),
        "count": row.count,
        "since": row.valid_from,
        "last_seen": row.last_seen,
        "learnt": row.learnt,
        "evidence": [label(e) for e in row.evidence],
    }


def fact(cell: Cell, names: Names, row: Fact) -> dict[str, Any]:
    """A fact as one viewer may know it, and the sentence that says it."""
    slot = row.slot
    return {
        "says": tell(cell, names, row),
        "edge": None if row.edge is None else label(row.edge),
        "kind": slot.kind,
        "of": names.show(slot.of),
        "on": slot.on_topic if slot.on_agent is None else names.show(slot.on_agent),
        "about": slot.about,
        "value": round(row.value, 4),
        "weight": round(row.weight, 4),
        "distance": row.distance,
        "since": row.since,
        "last_seen": row.last_seen,
        "evidence": [label(e) for e in row.evidence],
    }
