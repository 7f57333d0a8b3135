"""Facts as lines of a memory block: short, with a little history, worth more the nearer they are to what is asked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from simflow.episode import Wording, wording
from simflow.memory.budget import Line
from simflow.memory.claims import Slot
from simflow.memory.graph import Fact, Graph
from simflow.memory.knowledge import Knowledge
from simflow.memory.linking import Names
from simflow.memory.situation import Situation
from simflow.plan import Cell, Memory

MOVED = re.compile(r"influen|persuad|convinc|moved|swayed|вплив|перекон", re.IGNORECASE)
"""Words by which a situation asks who moved whom, in four languages."""
_LEADERS = 5


def graph_arm(
    graph: Graph,
    read: Situation,
    viewer: int,
    *,
    cell: Cell,
    names: Names,
    now: int,
    memory: Memory,
    witnessed: Knowledge | None,
    reach: Callable[[int, int, int], Mapping[int, int]] | None = None,
) -> list[Line]:
    """Relation lines for a situation that `viewer` meets at tick `now`: the agents that it names and the viewer, `memory.hops` out.

    Nothing that happened at or after `now`, or that had not been learnt by then, is used; a time that the situation names is the time answered
    for. witnessed: what the viewer may know, None for everything. reach(topic, since, until): how often each agent's posts on a topic were
    read, which nobody in the world can know, and a question without a witness may use.
    """
    until = now if read.as_of is None else min(read.as_of + 1, now)
    topics = {cell.subjects[t].name for t in read.topics}
    asked = [a for a in read.links.agents if a != viewer]
    lines = []
    if topics and (MOVED.search(read.text) or not asked):
        boost = 100.0 if MOVED.search(read.text) else 0.1
        for number in sorted(read.topics):
            topic, since = cell.subjects[number].name, read.since or 0
            readers = reach(number, since, until) if reach is not None and witnessed is None else {}
            ranked = graph.influence(topic, until=until, since=since, known_at=now, witnessed=witnessed, readers=readers)[:_LEADERS]
            lines += [leader(cell, names, topic, row, boost / (place + 1), place) for place, row in enumerate(ranked)]
    facts = graph.facts([*asked, viewer], hops=memory.hops, until=until, known_at=now, since=read.since, witnessed=witnessed)
    valued = sorted(
        ((_worth(f, set(asked), viewer, topics), f) for f in facts), key=lambda pair: (-pair[0], pair[1].slot.of, str(pair[1].slot))
    )
    keep = max(memory.relations - len(lines), 0) if lines and lines[0].value >= 1 else memory.relations
    lines += [line(cell, names, fact, value) for value, fact in valued[:keep]]
    return lines


def line(cell: Cell, names: Names, fact: Fact, value: float) -> Line:
    """One fact as a line."""
    return Line(
        "relation",
        tell(cell, names, fact),
        value,
        (-value, float(fact.slot.of)),
        tick=fact.last_seen,
        edge=fact.edge,
        refs=fact.evidence[-3:],
    )


def tell(cell: Cell, names: Names, fact: Fact) -> str:
    """A fact in the words of the scenario's language: what is so, since when, how well it is known, what was so before."""
    slot, words = fact.slot, wording(cell.language.code)
    on = shown(words, names, slot)
    about = words.say("fact.about", topic=words.say("topic", topic=slot.about)) if slot.about else ""
    since = "_since" if fact.last_seen == fact.since and slot.kind != "influence" else ""  # the tick is told already
    how = f"fact.times{since}" if fact.last_seen == fact.since else "fact.times_last"
    once = fact.count == 1
    seen = words.say(f"fact.once{since}", last=fact.last_seen) if once else words.count(how, fact.count, last=fact.last_seen)
    if slot.kind == "influence":
        return words.say("fact.moved", of=names.show(slot.of), on=on, about=about, seen=seen)
    verbs, past = verbs_of(cell, slot.on_topic), ""
    if fact.history:
        label, start, stop = fact.history[-1]
        was = past_of(verbs[label + 1], words.code)
        past = words.say("fact.past_topic" if slot.on_topic else "fact.past_agent", was=was, on=on, start=start, stop=stop)
    return words.say(
        "fact.says",
        kind="" if slot.kind in {"opinion", "attitude"} else words.say("fact.kind", kind=slot.kind),
        head=words.say("fact.head", of=names.show(slot.of), verb=verbs[fact.label + 1], on=on),
        about=about,
        since=words.say("fact.since", tick=fact.since),
        seen=seen,
        past=past,
    )


def shown(words: Wording, names: Names, slot: Slot) -> str:
    """What a relation is on, as it stands in a sentence."""
    return names.show(slot.on_agent or 0) if slot.on_topic is None else words.say("topic", topic=slot.on_topic)


def verbs_of(cell: Cell, topic: str | None) -> tuple[str, str, str]:
    """The verbs of -1, 0 and +1 on a topic (None: towards an agent)."""
    words = wording(cell.language.code)
    if topic is None:
        return words.attitudes
    return next((words.scale(t.scale) for t in cell.subjects if t.name == topic), words.verbs)


_IRREGULAR = {"is": "was", "has": "had", "does": "did", "goes": "went", "says": "said", "thinks": "thought", "feels": "felt"} | {
    "sees": "saw", "takes": "took", "stands": "stood", "finds": "found", "fights": "fought", "holds": "held", "keeps": "kept",
}  # fmt: skip


def past_of(verb: str, language: str) -> str:
    """A verb phrase of the third person, such as a scenario's scale holds, in the past; as it is where the language is not English."""
    head, _, rest = verb.partition(" ")
    if language != "en" or not head.endswith("s"):
        return verb
    return " ".join(part for part in (_IRREGULAR.get(head, head[:-1] + ("d" if head[-2:] == "es" else "ed")), rest) if part)


def leader(cell: Cell, names: Names, topic: str, row: tuple[int, float, int, tuple[int, ...]], value: float, place: int) -> Line:
    """Who has moved how many people how often, as a line. row: agent, amount, people, the episodes that moved them."""
    agent, _, people, evidence = row
    words = wording(cell.language.code)
    text = words.say(
        "fact.leader",
        agent=names.show(agent),
        people=words.count("fact.people", people),
        topic=words.say("topic", topic=topic),
        times=words.count("fact.leader_times", len(evidence)),
    )
    return Line("relation", text, value, (-value, float(place)), refs=evidence[-3:])


def _worth(fact: Fact, asked: set[int], viewer: int, topics: set[str]) -> float:
    ends = {fact.slot.of, fact.slot.on_agent} - {None}
    worth = 0.5**fact.distance * (1 + math.log1p(fact.weight))
    if ends & asked:
        worth *= 4
        if len(ends) > 1 and ends <= asked | {viewer}:
            worth *= 4
        if fact.slot.of in asked and fact.slot.on_agent is None:
            worth *= 2
    if topics and (fact.slot.on_topic or fact.slot.about) in topics:
        worth *= 3
    return worth * (0.3 if fact.slot.kind == "influence" else 1.0)
