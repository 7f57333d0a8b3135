"""Which belief is meant: from the words of a person or a program to the slot that statements compete in."""

from __future__ import annotations

from collections.abc import Mapping

from simflow.errors import BadInput, NotFound
from simflow.memory.claims import Slot
from simflow.memory.explain import Record, slots_of
from simflow.plan import Cell, RelationKind


def find_slot(record: Record, of: int, *, topic: str | None = None, towards: int | None = None, kind: str | None = None) -> Slot:
    """The slot of an agent's relation: an opinion on a topic, or with `towards` an attitude, unless `kind` says otherwise.

    `topic` may be a declared entity: then it is the relation that may be towards its kind. Raises NotFound for a topic or kind that the
    scenario does not have, BadInput where something more has to be said.
    """
    declared = {r.name: r for r in record.cell.extract.relations}
    topic, sort = _subject(record.cell, topic)
    kind = kind or (_towards_entity(declared, topic, sort) if topic is not None and sort != "topic" else None)
    kind = kind or ("opinion" if towards is None else "attitude")
    if kind not in declared:
        raise NotFound(f"there is no relation kind '{kind}'", hint=f"kinds: {', '.join(declared)}")
    on = declared[kind].on
    if on != "agent":
        known = ", ".join(_named(record.cell, on))
        if topic is None:
            raise BadInput(f"{kind} is on {_a(on)}", hint=f"say which: {known}")
        if sort != on:
            raise BadInput(f"{kind} is on {_a(on)}, and '{topic}' is {_a(sort)}", hint=f"say which: {known}")
        return Slot(kind, of, None, topic, None)
    if towards is None:
        raise BadInput(f"{kind} is towards an agent", hint="say towards whom")
    held = [s for s in slots_of(record, of) if s.kind == kind and s.on_agent == towards and (topic is None or s.about == topic)]
    if len(held) > 1:
        abouts = ", ".join(s.about or "nothing in particular" for s in held)
        raise BadInput(f"there is more than one {kind} towards that agent", hint=f"say about which topic: {abouts}")
    return held[0] if held else Slot(kind, of, towards, None, topic)


def is_entity(cell: Cell, name: str) -> bool:
    """Whether the scenario declares an entity of that name."""
    return any(e.name.casefold() == name.casefold() for kind in cell.extract.entities for e in kind.entities)


def _named(cell: Cell, sort: str) -> list[str]:
    """What there is of a sort: the topics, or the entities of a kind."""
    if sort == "topic":
        return [t.name for t in cell.topics]
    return [e.name for kind in cell.extract.entities if kind.name == sort for e in kind.entities]


def _subject(cell: Cell, name: str | None) -> tuple[str | None, str]:
    """The topic or entity of that name, as the scenario writes it, and what it is: `topic`, or its kind."""
    if name is None:
        return None, "topic"
    sorts = ["topic", *(kind.name for kind in cell.extract.entities)]
    known = {each.casefold(): (each, sort) for sort in reversed(sorts) for each in _named(cell, sort)}
    if name.casefold() not in known:
        raise NotFound(f"there is no topic '{name}'", hint=f"topics: {', '.join(t.name for t in cell.subjects)}")
    return known[name.casefold()]


def _towards_entity(declared: Mapping[str, RelationKind], name: str, sort: str) -> str:
    """The one relation kind that may be towards a kind of entity."""
    fits = [r.name for r in declared.values() if r.on == sort]
    if not fits:
        raise BadInput(f"'{name}' is {_a(sort)}, and no relation is towards that", hint=f"kinds: {', '.join(declared)}")
    if len(fits) > 1:
        raise BadInput(f"'{name}' is {_a(sort)}, and more than one relation may be towards that", hint=f"say which kind: {', '.join(fits)}")
    return fits[0]


def _a(sort: str) -> str:
    return f"{'an' if sort[:1].casefold() in 'aeiou' else 'a'} {sort}"
