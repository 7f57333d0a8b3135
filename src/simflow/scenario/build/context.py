"""What the builders share: the problems, the clock, and the names that other keys may refer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simflow.plan import Clock, Persona, Topic, Voice
from simflow.scenario.kinds import Reader, Section, did_you_mean
from simflow.scenario.problems import Span
from simflow.scenario.values import Time


@dataclass(slots=True, eq=False, repr=False)
class Context:
    """Filled in the order in which sections are built: clock, topics, personas, voices, people."""

    reader: Reader
    root: Section
    folder: Path
    clock: Clock = field(default_factory=Clock)
    topics: tuple[Topic, ...] = ()
    personas: tuple[Persona, ...] = ()
    voices: tuple[Voice, ...] = ()
    residents: frozenset[str] = frozenset()
    recorded: tuple[str, ...] = ()
    """What the rows of a trace say they are on."""
    lasting: bool = True
    """Whether it is known how long the run lasts; not if its trace could not be read."""

    def section(self, name: str) -> Section | None:
        """A section of the scenario; None if it was left out or could not be read."""
        found = self.root.get(name)
        return found if isinstance(found, Section) else None

    def ticks(self, time: Time, span: Span, *, least: int = 0) -> int:
        """A time as whole ticks; a problem if it falls inside a tick or below `least`."""
        exact = time.ticks(self.clock.minutes, self.clock.ticks)
        ticks = round(exact)
        if abs(exact - ticks) > 1e-9:
            hint = f"a tick is {length(self.clock.minutes)}; write {ticks} ticks or a multiple of that"
            self.reader.add("SF401", f"this is {exact:g} ticks, which is not whole", span, hint)
        elif ticks < least:
            self.reader.add("SF303", f"this is {ticks} ticks; at least {least} are needed", span)
        elif ticks >= 2**31:
            self.reader.add("SF303", f"this is {ticks:,} ticks, more than can be counted", span)
            return least
        return max(ticks, least)

    def topic(self, name: str, span: Span) -> str | None:
        """A topic's name; a problem if there is none of that name."""
        return self.name(name, [t.name for t in self.topics], "topics", "SF402", span)

    def persona(self, name: str, span: Span) -> str | None:
        """A persona's name; a problem if there is none of that name."""
        return self.name(name, [p.name for p in self.personas], "personas", "SF403", span)

    def account(self, name: str, span: Span) -> str | None:
        """The name of a voice or the id of a resident."""
        handle = name.removeprefix("@")
        if handle in self.residents or (self.root_agents and generated(handle)):
            return handle
        return self.name(name, [v.name for v in self.voices], "voices", "SF404", span)

    @property
    def root_agents(self) -> bool:
        """Whether there are residents that the engine names by itself."""
        return sum(p.count for p in self.personas) > len(self.residents)

    def name(self, name: str, known: Sequence[str], what: str, code: str, span: Span) -> str | None:
        """`name` if it is among the known ones."""
        if name in known:
            return name
        hint = did_you_mean(name, known, what)
        if what == "voices" and not known:
            hint = f"declare it: `population: {{voices: {{{name}: {{followers: 50%}}}}}}`"
        self.reader.add(code, f"there is no {what.removesuffix('s')} '{name}'", span, hint)
        return None

    def only_topic(self, section: Section) -> str | None:
        """The topic that a section names, or the only one there is."""
        if "topic" in section:
            return self.topic(section["topic"], section.span("topic"))
        if "topic" in section.node.entries:
            return None
        if len(self.topics) == 1:
            return self.topics[0].name
        hint = f"topics: {', '.join(t.name for t in self.topics)}" if self.topics else None
        self.reader.add("SF307", "which topic?", section.node.span, hint)
        return None


def generated(handle: str) -> bool:
    """Whether this may be a resident that the built-in world names: first name and number, `rosa14`."""
    head = handle.rstrip("0123456789")
    return head.isalpha() and head.islower() and len(head) < len(handle)


def length(minutes: float) -> str:
    """Minutes in the units that people use: `1 h`, `10 d`, `62 d 12 h`."""
    parts = []
    rest = minutes
    for unit, size in (("d", 1440), ("h", 60)):
        if rest >= size:
            parts.append(f"{int(rest // size):,} {unit}")
            rest %= size
    if rest or not parts:
        parts.append(f"{rest:g} min")
    return " ".join(parts)
