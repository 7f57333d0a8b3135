"""The compiled scenario: plain frozen values that every room understands.

`simflow.scenario` turns YAML into these; `world`, `memory`, `run` and the evaluation read them. Nothing in here knows YAML, files,
numpy or Arrow, so importing it is cheap. Every duration and time is in ticks, every share in 0..1, every stance in -1..1.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

# --------------------------------------------------------------------------------------------------------------- distributions


@dataclass(frozen=True, slots=True)
class Constant:
    """Always `value`."""

    value: float


@dataclass(frozen=True, slots=True)
class Uniform:
    """Uniform between `low` and `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal with `mean` and standard deviation `sd`, clipped to the range of what it is drawn for."""

    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Beta:
    """Beta(a, b) on 0..1; small integer parameters are drawn as order statistics."""

    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Choice:
    """One of `options`, (value, share) pairs whose shares sum to 1; values are text."""

    options: tuple[tuple[str, float], ...]


Distribution = Constant | Uniform | Normal | Beta | Choice

# -------------------------------------------------------------------------------------------------------------------- the world


@dataclass(frozen=True, slots=True)
class Topic:
    """What residents have a stance on. `scale` holds the verbs of -1, 0 and +1; `words` name it in text (its name is always one)."""

    name: str
    about: str = ""
    scale: tuple[str, str, str] = ("opposes", "is unsure about", "supports")
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Persona:
    """A kind of resident (a stratum). `count` is already resolved from shares.

    `stance` maps topic to a distribution in -1..1; topics left out get the engine's default. `traits` are free; `activity` (0..1),
    and the trait that `network.homophily_by` names, are read by the world. `susceptibility` and `stubbornness` may differ by topic.
    """

    name: str
    count: int
    voice: str = ""
    goals: tuple[str, ...] = ()
    traits: Mapping[str, Distribution] = field(default_factory=dict)
    stance: Mapping[str, Distribution] = field(default_factory=dict)
    susceptibility: Mapping[str, Distribution] = field(default_factory=dict)
    stubbornness: Mapping[str, Distribution] = field(default_factory=dict)
    feed: Feed | None = None
    engine: str | None = None
    model: str | None = None
    joins: int = 0
    leaves: int | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """One named resident read from a people file."""

    id: str
    name: str
    persona: str
    about: str = ""
    traits: Mapping[str, str | float] = field(default_factory=dict)
    stance: Mapping[str, float] = field(default_factory=dict)
    follows: tuple[str, ...] = ()
    posts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Voice:
    """An account that acts only through events; `followers` is the share of residents that follow it from the start."""

    name: str
    followers: float = 0.5
    about: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """The follow graph at the start. `links`: mean number of accounts that one resident follows.

    `edges`: (follower id, followee id) pairs from an edge file; then `shape` is `file`.
    """

    shape: Literal["small_world", "preferential", "blocks", "configuration", "file"] = "small_world"
    links: int = 8
    rewire: float = 0.1
    homophily_by: str | None = None
    homophily_strength: float = 0.0
    edges: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Feed:
    """How a session's posts are ranked: weights of the terms, all >= 0, and how many posts are shown."""

    kind: Literal["mix", "chronological", "hot", "interest", "follow_first"] = "mix"
    posts: int = 5
    recency: float = 0.4
    popularity: float = 0.3
    affinity: float = 0.3
    follow: float = 0.3
    similarity: float = 0.5
    explore: float = 0.2
    noise: float = 0.15
    horizon: int = 144


@dataclass(frozen=True, slots=True)
class Platform:
    """What residents can do, and what they are shown."""

    kind: str = "microblog"
    actions: tuple[str, ...] = ("post", "reply", "repost", "quote", "like", "dislike", "follow", "unfollow", "mute")
    feed: Feed = field(default_factory=Feed)


@dataclass(frozen=True, slots=True)
class Dynamics:
    """How stances move; equations and defaults in docs/science.md (all chosen, not fitted, unless a calibration says so)."""

    model: Literal["bounded_confidence", "social_judgement", "degroot", "friedkin_johnsen"] = "bounded_confidence"
    rate: float = 0.06
    confidence: float = 0.7
    rejection: float = 1.2
    repulsion: float = 0.0
    anchor: float = 0.01
    noise: float = 0.05
    contrarians: float = 0.03
    posting_tail: Literal["mild", "strong"] = "mild"


@dataclass(frozen=True, slots=True)
class Language:
    """Language of the generated texts and the dials of their difficulty, each 0..1. `split` selects a half of the paraphrases."""

    code: str = "en"
    hedge: float = 0.1
    negation: float = 0.1
    sarcasm: float = 0.03
    ellipsis: float = 0.25
    typo: float = 0.0
    code_switch: float = 0.0
    split: Literal["all", "train", "held_out"] = "all"


@dataclass(frozen=True, slots=True)
class Clock:
    """Time. `minutes` is the length of a tick; `active` holds 24 weights by hour of day with mean 1, `weekday` 7 from Monday."""

    ticks: int = 480
    minutes: int = 60
    window: int = 120
    active: tuple[float, ...] | None = None
    weekday: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """Fires at the first tick at which `measure` of `topic` goes `above` or `below` a value."""

    measure: str
    topic: str | None = None
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True, slots=True)
class Audience:
    """Whom an event is aimed at; None means everybody. All given conditions must hold."""

    personas: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    topic: str | None = None
    stance_min: float = -1.0
    stance_max: float = 1.0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the scenario makes happen. `name` is its identity. One verb, its arguments in the fields that it needs.

    post: `by` (a voice or an agent; None is the newsroom), `text`, `topic`, `stance`. broadcast: as post, shown to all of `to` at
    once. nudge: `to`, `topic`, `amount`. mute and ban: `target`, until `until`. join and leave: `to` or `persona` and `amount`.
    feed: `feed`. agenda: `topic`, `amount` (multiplies how often residents write on it).
    Takes effect at `at`; if `until`, is undone then (mute, ban, feed, agenda); if `every`, repeats each `every` ticks up to `until`.
    """

    name: str
    verb: Literal["post", "broadcast", "nudge", "mute", "ban", "join", "leave", "feed", "agenda"]
    at: int
    until: int | None = None
    every: int | None = None
    when: Trigger | None = None
    by: str | None = None
    text: str | None = None
    topic: str | None = None
    stance: float | None = None
    amount: float | None = None
    target: str | None = None
    persona: str | None = None
    to: Audience = field(default_factory=Audience)
    feed: Feed | None = None


# -------------------------------------------------------------------------------------------------------------------- the memory


@dataclass(frozen=True, slots=True)
class Memory:
    """Recall and its hard caps, in tokens per turn. `half_life`, `refresh` in ticks."""

    mode: Literal["vectors", "graph", "hybrid"] = "hybrid"
    scope: Literal["witnessed", "world"] = "witnessed"
    top: int = 8
    half_life: int = 500
    relations: int = 12
    hops: int = 2
    refresh: int = 250
    persona_tokens: int = 160
    relation_tokens: int = 200
    episode_tokens: int = 440


@dataclass(frozen=True, slots=True)
class RelationKind:
    """A kind of edge. `of` is who holds it; `on` what it is towards; `about` the topic, if it has one.

    `wins`: the newest supersedes per (of, on, about); `adds`: every statement counts.
    """

    name: str
    of: Literal["agent"] = "agent"
    on: Literal["agent", "topic"] = "topic"
    about: Literal["topic"] | None = None
    newest: Literal["wins", "adds"] = "wins"


DEFAULT_RELATIONS = (
    RelationKind("opinion", on="topic"),
    RelationKind("attitude", on="agent", about="topic"),
    RelationKind("influence", on="agent", about="topic", newest="adds"),
)


@dataclass(frozen=True, slots=True)
class Extract:
    """Extraction: a batch every `every` ticks, at most `batch` episodes a call, `evidence_half_life` ticks for weighing evidence."""

    every: int = 50
    batch: int = 20
    relations: tuple[RelationKind, ...] = DEFAULT_RELATIONS
    evidence_half_life: int = 100
    accept: float = 0.9
    audit: float = 0.02


@dataclass(frozen=True, slots=True)
class Models:
    """Names under the entry point groups, plus the model names that an endpoint knows."""

    engine: str = "builtin"
    extractor: str = "builtin"
    embedder: str = "builtin"
    model: str | None = None


# -------------------------------------------------------------------------------------------------------- the study around a cell


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold at the end. `kind`: `covered`, `share`, ...; `args` as validated by the scenario room."""

    kind: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question put to agents at a tick, answered from their memory."""

    name: str
    question: str
    at: int
    persona: str | None = None
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """A run stops at the next window boundary past a limit; a plan warns. None is no limit. `cost` in USD."""

    tokens: int | None = None
    cost: float | None = None
    hours: float | None = None


@dataclass(frozen=True, slots=True)
class Replay:
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


@dataclass(frozen=True, slots=True)
class Cell:
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
    source: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A short name, unique within the plan and safe in a path: variant, sweep values, seed."""
        parts = [slug(self.variant), *(f"{slug(k.rsplit('.', 1)[-1])}-{slug(str(v))}" for k, v in sorted(self.sweep.items()))]
        return "-".join([*parts, f"s{self.seed}"])

    @property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """(start, stop) in ticks of each window, stop excluded; the last one may be shorter."""
        size, end = self.clock.window, self.clock.ticks
        return tuple((start, min(start + size, end)) for start in range(0, end, size))


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled scenario: its cells and where it came from."""

    scenario: str
    path: str
    about: str
    cells: tuple[Cell, ...]


# Not behaviour: changing these must not change a window. `clock.ticks` is left out too, so that a longer run reuses its windows.
_OUTSIDE = frozenset(
    {"scenario", "variant", "sweep", "events", "about", "owner", "checks", "patterns", "ask", "limits", "schedule", "source"}
)


def behaviour(cell: Cell) -> dict[str, Any]:
    """Everything but the events that shapes what a cell computes, as plain JSON values."""
    plain = {k: v for k, v in canonical(cell).items() if k not in _OUTSIDE}
    plain["clock"] = {k: v for k, v in plain["clock"].items() if k not in {"ticks", "window"}}
    if plain["replay"]:
        plain["replay"].pop("path")
    return plain


def window_key(cell: Cell, number: int, previous: str | None, ids: Mapping[str, str]) -> str:
    """The content address of window `number`: 64 hex digits.

    previous: the key of the window before, None for the first. ids: versions of the parts that compute it, by part.
    """
    start, stop = cell.windows[number]
    parts: dict[str, Any] = {
        "previous": previous,
        "start": start,
        "stop": stop,
        "events": [canonical(event) for event in cell.events if event.at < stop],
    }
    if previous is None:
        parts["behaviour"] = behaviour(cell)
        parts["ids"] = dict(sorted(ids.items()))
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def canonical(value: Any) -> Any:
    """Dataclasses, mappings and tuples as JSON values; a dataclass in a union carries its class name, so no two plans look alike."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {f.name: canonical(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"=": type(value).__name__, **plain} if isinstance(value, Distribution) else plain
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(v) for v in value]
    return value


def slug(text: str) -> str:
    """Lower case letters and digits of any script, other runs as one dash."""
    kept = "".join(c if c.isalnum() else " " for c in text.lower())
    return "-".join(kept.split()) or "x"
