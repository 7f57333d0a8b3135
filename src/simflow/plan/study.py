"""A cell: one variant x one sweep value x one seed, and what surrounds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from simflow.plan.address import slug
from simflow.plan.record import Record
from simflow.plan.remembering import Extract, Memory, Models
from simflow.plan.society import Clock, Dynamics, Event, Language, Network, Person, Persona, Platform, Topic, Voice

ENTITY_SCALE = ("speaks against", "is unsure about", "speaks for")
"""The verbs of -1, 0 and +1 towards an entity."""


class Check(Record):
    """What must hold at the end. `kind`: `covered`, `share`, ...; `args` as validated by the scenario room."""

    kind: str
    args: Mapping[str, Any]


class Ask(Record):
    """A question put to agents at a tick, answered from their memory."""

    name: str
    question: str
    at: int
    persona: str | None = None
    agents: tuple[str, ...] = ()


class Limits(Record):
    """A run stops at the next window boundary past a limit; a plan warns. None is no limit. `cost` in USD."""

    tokens: int | None = None
    cost: float | None = None
    hours: float | None = None


class Outputs(Record):
    """What a finished run leaves in the project, as files for people: below `folder`, in a folder for each cell.

    folder: relative to the project. tables: names, each written whole. report: a page in Markdown.
    """

    folder: str = "outputs"
    tables: tuple[str, ...] = ()
    format: Literal["csv", "parquet"] = "csv"
    report: bool = True


class Replay(Record):
    """A recorded trace instead of a generated world.

    `path` is absolute and outside the content address; `sha256` of the file is inside. `time` says what orders the rows: their `ts`,
    their `tick`, or their place in the file; with `ts`, a tick is `minutes` long (None: the clock's).
    """

    path: str
    format: Literal["jsonl", "csv", "parquet", "oasis"] = "jsonl"
    sha256: str = ""
    time: Literal["ts", "tick", "order"] = "ts"
    minutes: int | None = None
    topic_by: str | None = None


def labelled(row: Mapping[str, Any], column: str) -> Any:
    """The value of a column of a recorded row; a dot steps into an object: `labels.topic`. None where there is none."""
    if column in row:
        return row[column]
    first, _, rest = column.partition(".")
    inner = row.get(first)
    return labelled(inner, rest) if rest and isinstance(inner, Mapping) else None


class Cell(Record):
    """One variant x one sweep value x one seed: everything that one run needs.

    `source` maps dotted keys to "file:line", for errors and code references; it never enters a content address.
    """

    scenario: str
    variant: str
    sweep: Mapping[str, Any]
    seed: int
    topics: tuple[Topic, ...]
    personas: tuple[Persona, ...] = ()
    people: tuple[Person, ...] = ()
    voices: tuple[Voice, ...] = ()
    network: Network = field(default_factory=Network)
    platform: Platform = field(default_factory=Platform)
    dynamics: Dynamics = field(default_factory=Dynamics)
    language: Language = field(default_factory=Language)
    clock: Clock = field(default_factory=Clock)
    events: tuple[Event, ...] = ()
    memory: Memory = field(default_factory=Memory)
    extract: Extract = field(default_factory=Extract)
    models: Models = field(default_factory=Models)
    replay: Replay | None = None
    # Below: outside every content address.
    about: str = ""
    owner: str | None = None
    checks: tuple[Check, ...] = ()
    patterns: tuple[Check, ...] = ()
    ask: tuple[Ask, ...] = ()
    limits: Limits = field(default_factory=Limits)
    schedule: str | None = None
    outputs: Outputs | None = None
    source: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A short name, unique within the plan and safe in a path: variant, sweep values, seed."""
        parts = [slug(self.variant), *(f"{slug(k.rsplit('.', 1)[-1])}-{_signed(v)}" for k, v in sorted(self.sweep.items()))]
        return "-".join([*parts, f"s{self.seed}"])

    @property
    def subjects(self) -> tuple[Topic, ...]:
        """What a text can name besides agents: the topics, then the entities of each kind, as topics with a scale of their own."""
        named = (e for kind in self.extract.entities for e in kind.entities)
        return (*self.topics, *(Topic(e.name, scale=ENTITY_SCALE, words=e.words) for e in named))

    @property
    def speaks(self) -> bool:
        """Whether a model speaks for any residents."""
        return any(self.speaks_for(persona) for persona in self.personas)

    def speaks_for(self, persona: Persona) -> bool:
        """Whether a model speaks for the residents of a persona."""
        return (persona.engine or self.models.engine) == "llm"

    @property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """(start, stop) in ticks of each window, stop excluded; the last one may be shorter."""
        size, end = self.clock.window, self.clock.ticks
        return tuple((start, min(start + size, end)) for start in range(0, end, size))


def _signed(value: Any) -> str:
    # A minus in front of a number is part of the value: -0.2 and 0.2 must not share a name.
    return slug(re.sub(r"(?<![\w.])-(?=[\d.])", "minus ", str(value)))


class Plan(Record):
    """A compiled scenario: its cells and where it came from."""

    scenario: str
    path: str
    about: str
    cells: tuple[Cell, ...]
