"""When the events of a scenario happen and what is in force at a tick. Never looks past the tick that it is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Cell, Event, Trigger
from simflow.world.draws import GRID, I64, Bools, Ints, name_key
from simflow.world.society import Society

LASTING = frozenset({"mute", "ban", "feed", "agenda"})
"""Verbs that are in force from `at` until `until`; the others happen at moments."""
SIDE = 0.15
"""A stance beyond this counts as taking a side."""
MEASURES = ("mean", "variance", "spread", "support", "opposition", "undecided", "posts")
"""What a trigger may ask for."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A cell's events in order of time and name, with the tick at which each trigger fired in one replicate."""

    events: tuple[Event, ...]

    @classmethod
    def of(cls, cell: Cell) -> Timeline:
        """The events of a cell."""
        return cls(tuple(sorted(cell.events, key=lambda e: (e.at, e.name))))

    def starts(self, event: Event, fired: Mapping[int, int]) -> int | None:
        """The tick at which an event begins; None while its trigger has not fired."""
        if event.when is None:
            return event.at
        return fired.get(name_key(event.name))

    def moments(self, tick: int, fired: Mapping[int, int]) -> list[Event]:
        """Events that happen at `tick`."""
        return [e for e in self.events if e.verb not in LASTING and self._due(e, tick, fired)]

    def in_force(self, tick: int, fired: Mapping[int, int]) -> list[Event]:
        """Lasting events that are in force at `tick`, in order of their beginning."""
        found = []
        for event in self.events:
            start = self.starts(event, fired)
            if event.verb in LASTING and start is not None and start <= tick and (event.until is None or tick < event.until):
                found.append((start, event.name, event))
        return [event for *_, event in sorted(found, key=lambda f: f[:2])]

    def waiting(self, tick: int, fired: Mapping[int, int]) -> list[Event]:
        """Triggered events that may fire at `tick`."""
        return [e for e in self.events if e.when is not None and e.at <= tick and name_key(e.name) not in fired]

    def changes(self, start: int, stop: int, fired: Mapping[int, int]) -> frozenset[int]:
        """Ticks in [start, stop) at which something may begin, end or repeat, as far as it is known by `fired`."""
        ticks: set[int] = set()
        for event in self.events:
            begins = self.starts(event, fired)
            if begins is None:
                continue
            ticks.add(begins)
            if event.every:
                end = stop if event.until is None else min(stop, event.until + 1)
                first = begins + max(0, -(-(start - begins) // event.every)) * event.every
                ticks.update(range(first, end, event.every))
            if event.until is not None:
                ticks.add(event.until)
        return frozenset(t for t in ticks if start <= t < stop)

    def _due(self, event: Event, tick: int, fired: Mapping[int, int]) -> bool:
        start = self.starts(event, fired)
        if start is None or tick < start:
            return False
        if not event.every:
            return tick == start
        return (tick - start) % event.every == 0 and (event.until is None or tick <= event.until)


def fired_ticks(society: Society, replicate: int) -> dict[int, int]:
    """Key of a triggered event's name -> the tick at which it fired."""
    rows = society.fired[society.fired[:, 0] == replicate]
    return {int(key): int(tick) for _, key, tick in rows}


def holds(trigger: Trigger, society: Society, residents: Ints, topics: Mapping[str, int], posts: int) -> bool:
    """Whether a trigger's condition holds for the present stances of `residents`. posts: posts in the last tick."""
    value = measure(trigger.measure, society.x, residents, topics[trigger.topic] if trigger.topic else None, posts)
    above = trigger.above is None or value > trigger.above
    below = trigger.below is None or value < trigger.below
    return above and below


def measure(name: str, x: I64, residents: Ints, topic: int | None, posts: int) -> float:
    """A measure of a topic (of the first one if None): mean, variance, spread, support, opposition, undecided, or posts (a tick)."""
    if name == "posts":
        return float(posts)
    if not len(residents):
        return 0.0
    values = x[residents, topic or 0]
    # Exact sums of whole numbers, so that the order of residents cannot matter.
    count = len(values)
    match name:
        case "mean":
            return int(values.sum()) / count / GRID
        case "variance":
            small = (values >> 16).astype(object)
            mean = sum(small) / count
            return float(sum(v * v for v in small) / count - mean * mean) / float(1 << 32)
        case "spread":
            return float(values.max() - values.min()) / GRID
        case "support":
            return int((values > SIDE * GRID).sum()) / count
        case "opposition":
            return int((values < -SIDE * GRID).sum()) / count
        case _:
            return int((np.abs(values) <= SIDE * GRID).sum()) / count


def audience(
    event: Event, society: Society, residents: Ints, personas: Mapping[str, int], topics: Mapping[str, int], named: Mapping[str, int]
) -> Ints:
    """Those of `residents` that an event is aimed at. `named`: row by readable id."""
    to = event.to
    keep: Bools = np.ones(len(residents), dtype=bool)
    if to.personas is not None:
        keep &= np.isin(society.persona[residents], [personas[name] for name in to.personas if name in personas])
    if to.agents is not None:
        keep &= np.isin(residents, [row_of(name, named, event) for name in to.agents])
    if to.topic is not None or to.stance_min > -1.0 or to.stance_max < 1.0:
        topic = topics[to.topic or event.topic or next(iter(topics))]
        values = society.x[residents, topic] / GRID
        keep &= (values >= to.stance_min) & (values <= to.stance_max)
    return residents[keep]


def row_of(name: str, named: Mapping[str, int], event: Event) -> int:
    """Row of a resident or voice by its readable id or name. Raises BadInput with names like it."""
    if (row := named.get(name.removeprefix("@"))) is not None:
        return row
    near = [known for known in named if name.lower()[:3] == known.lower()[:3]]
    raise BadInput(
        f"event '{event.name}' names '{name}', who does not exist", hint=f"did you mean {', '.join(near[:5])}?" if near else None
    )


def topic_of(event: Event, words: Sequence[tuple[str, ...]], names: Mapping[str, int]) -> int:
    """Index of an event's topic: given, the only one, or the one whose words its text has most of; -1 if none."""
    return names[event.topic] if event.topic is not None else topic_in(event.text or "", words)


def topic_in(text: str, words: Sequence[tuple[str, ...]]) -> int:
    """Index of the topic that a text is about, by `words` for each topic: the only one, or the one with most hits; -1 if none."""
    if len(words) == 1:
        return 0
    plain = f" {' '.join(''.join(c if c.isalnum() else ' ' for c in text.lower()).split())} "
    best, found = 0, -1
    for at, phrases in enumerate(words):
        # A whole phrase, plural or not, weighs four times a word of it.
        hits = sum(4 for p in phrases if f" {p.lower()} " in plain or f" {p.lower()}s " in plain)
        hits += sum(1 for p in phrases for part in p.lower().split() if len(part) > 3 and f" {part}" in plain)
        if hits > best:
            best, found = hits, at
    return found
