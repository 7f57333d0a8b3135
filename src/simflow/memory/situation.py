# ruff: noqa: RUF001 - words of four languages
"""What a situation is about: agents, topics, and the time that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simflow.memory.linking import Links, Names
from simflow.memory.topics import Gazetteer, stem, words
from simflow.plan import Clock, Event

_N = r"(\d{1,9})"
_TICK = r"(?:ticks?|тік(?:у|ів|и)?)"
_BETWEEN = re.compile(
    rf"\b(?:between|from|entre|від|між)\s+(?:{_TICK}\s+)?{_N}\s+(?:and|to|e|y|до|і|та|a)\s+(?:{_TICK}\s+)?{_N}\b", re.IGNORECASE
)
_RANGE = re.compile(rf"\b{_TICK}\s+{_N}\s*(?:-|–|\.\.)\s*{_N}\b|\[\s*{_N}\s*,\s*{_N}\s*\]", re.IGNORECASE)
_AT = re.compile(
    rf"\b(?P<how>before|prior to|after|since|until|till|up to|by|as of|at|on|in|around|antes d[oe]l?|depois d[oe]|después de(?:l)?|desde"
    rf"|até|hasta|no|na|en(?: el)?|до|перед|після|на|у|в)\s+(?:the\s+)?{_TICK}\s+{_N}\b",
    re.IGNORECASE,
)
_DAY = re.compile(rf"\b(?P<how>before|after|since|until|by|on|at)\s+day\s+{_N}\b", re.IGNORECASE)
_AGO = re.compile(rf"\b{_N}\s+(ticks?|hours?|days?|weeks?)\s+ago\b", re.IGNORECASE)
_EVENT = re.compile(
    r"\b(?P<how>before|prior to|after|since|until|at the time of|antes d[oea]s?l?|antes de (?:la|los|las)|depois d[oea]s?|después de(?:l| la)?"
    r"|desde|até|hasta|до|перед|після)\s+(?P<rest>\S[^,.;:?!]{0,80})",
    re.IGNORECASE,
)
_ARTICLES = frozenset({"the", "a", "an", "o", "os", "as", "la", "el", "los", "las"})
_BEFORE = frozenset({"before", "prior to", "antes", "перед"})
_AFTER = frozenset({"after", "since", "depois", "después", "desde", "після"})
_NOW = re.compile(
    r"\b(now|right now|currently|at the moment|these days|lately|latest|recent(?:ly)?|today|being said|(?:are|is) (?:people|everyone|everybody) "
    r"(?:saying|talking)|agora|ultimamente|ahora|últimamente|зараз|останнім часом)\b",
    re.IGNORECASE,
)
_MINUTES = {"hour": 60, "day": 1440, "week": 10080}


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation as the memory reads it.

    as_of: the last tick that it asks about, None for now. since: the first one, None for the beginning. time: the words that say so.
    current: whether it asks for what is being said now. unclear: a time that it names and that nothing here knows.
    """

    text: str
    links: Links
    topics: tuple[int, ...]
    as_of: int | None = None
    since: int | None = None
    time: str | None = None
    current: bool = False
    unclear: str | None = None


class Reader:
    """Reads situations of one run: with its agents, topics, events and clock."""

    def __init__(self, names: Names, topics: Gazetteer, events: Sequence[Event], clock: Clock) -> None:
        self._names = names
        self._topics = topics
        self._minutes = clock.minutes
        self._events: dict[frozenset[str], tuple[str, int]] = {}
        for event in events:
            self._events.setdefault(frozenset(stem(w) for w, _, _ in words(event.name)), (event.name, event.at))

    def read(self, text: str, now: int) -> Situation:
        """A situation that somebody meets at tick `now`. A time after `now` is cut to it: nobody remembers the future."""
        since, as_of, said, unclear = self._time(text, now)
        links, topics = self._names.link(text), tuple(m.topic for m in self._topics.find(text))
        if as_of is not None:
            as_of = min(as_of, now - 1)
        return Situation(text, links, topics, as_of, since, said, as_of is None and bool(_NOW.search(text)), unclear)

    def _time(self, text: str, now: int) -> tuple[int | None, int | None, str | None, str | None]:
        for pattern in (_BETWEEN, _RANGE):
            if found := pattern.search(text):
                low, high = sorted(int(g) for g in found.groups() if g is not None)
                return low, high, found.group(), None
        if found := _AT.search(text):
            return (*_bounds(found["how"], int(found[2]), 1), found.group(), None)
        if found := _DAY.search(text):
            day = 1440 // self._minutes or 1
            return (*_bounds(found["how"], (int(found[2]) - 1) * day, day), found.group(), None)
        if found := _AGO.search(text):
            unit = found[2].lower().rstrip("s")
            size = 1 if unit == "tick" else max(_MINUTES[unit] // self._minutes, 1)
            return None, max(now - int(found[1]) * size, 0), found.group(), None
        unclear = None
        for found in _EVENT.finditer(text):
            known = self._event(found["rest"])
            if known is not None:
                name, at = known
                return (*_bounds(found["how"], at, 1), f"{found['how']} {name} (tick {at})", None)
            unclear = unclear or found.group()
        return None, None, None, unclear

    def _event(self, rest: str) -> tuple[str, int] | None:
        # The longest beginning of the phrase that names one event, wholly or by a word that only one event has.
        said = [stem(w) for w, _, _ in words(rest) if w not in _ARTICLES]
        for size in range(min(len(said), 8), 0, -1):
            part = frozenset(said[:size])
            if part in self._events:
                return self._events[part]
        for size in range(min(len(said), 8), 0, -1):
            part = frozenset(said[:size])
            fitting = {known for key, known in self._events.items() if part <= key}
            if len(fitting) == 1:
                return fitting.pop()
        return None


def _bounds(how: str, at: int, length: int) -> tuple[int | None, int | None]:
    word = how.lower()
    head = word.split(maxsplit=1)[0]
    if word in _BEFORE or head in _BEFORE:
        return None, at - 1
    if head in _AFTER:
        return at, None
    return None, at + length - 1


def describe(situation: Situation, names: Names, topics: Sequence[str]) -> Mapping[str, object]:
    """How it was read, as plain values for people and machines."""
    return {
        "agents": [names.show(a) for a in situation.links.agents],
        "ambiguous": {said: [names.show(a) for a in who] for said, who in situation.links.ambiguous.items()},
        "topics": [topics[t] for t in situation.topics],
        "as_of": situation.as_of,
        "since": situation.since,
        "time": situation.time,
        "current": situation.current,
        "unclear_time": situation.unclear,
    }
