"""Which belief is meant: from the words of a person or a program to the slot that statements compete in."""

from __future__ import annotations

from simflow.errors import BadInput, NotFound
from simflow.memory.claims import Slot
from simflow.memory.explain import Record, slots_of


def find_slot(record: Record, of: int, *, topic: str | None = None, towards: int | None = None, kind: str | None = None) -> Slot:
    """The slot of an agent's relation: an opinion on a topic, or with `towards` an attitude, unless `kind` says otherwise.

    Raises NotFound for a topic or kind that the scenario does not have, BadInput where something more has to be said.
    """
    declared = {r.name: r for r in record.cell.extract.relations}
    kind = kind or ("opinion" if towards is None else "attitude")
    if kind not in declared:
        raise NotFound(f"there is no relation kind '{kind}'", hint=f"kinds: {', '.join(declared)}")
    known = {t.name.casefold(): t.name for t in record.cell.subjects}
    if topic is not None:
        if topic.casefold() not in known:
            raise NotFound(f"there is no topic '{topic}'", hint=f"topics: {', '.join(known.values())}")
        topic = known[topic.casefold()]
    if declared[kind].on != "agent":
        if topic is None:
            raise BadInput(f"{kind} is on a topic", hint=f"say which: {', '.join(known.values())}")
        return Slot(kind, of, None, topic, None)
    if towards is None:
        raise BadInput(f"{kind} is towards an agent", hint="say towards whom")
    held = [s for s in slots_of(record, of) if s.kind == kind and s.on_agent == towards and (topic is None or s.about == topic)]
    if len(held) > 1:
        abouts = ", ".join(s.about or "nothing in particular" for s in held)
        raise BadInput(f"there is more than one {kind} towards that agent", hint=f"say about which topic: {abouts}")
    return held[0] if held else Slot(kind, of, towards, None, topic)
