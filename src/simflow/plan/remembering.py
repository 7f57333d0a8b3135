"""Memory, extraction and the models that do the work."""

from __future__ import annotations

from typing import Literal

from simflow.plan.record import Record


class Memory(Record):
    """Recall and its hard caps, in tokens per turn. `half_life`, `refresh` in ticks."""

    mode: Literal["vectors", "graph", "hybrid"] = "hybrid"
    scope: Literal["witnessed", "world"] = "witnessed"
    top: int = 8
    half_life: int = 500
    relations: int = 12
    hops: int = 2
    refresh: int = 120
    persona_tokens: int = 160
    relation_tokens: int = 200
    episode_tokens: int = 440


class Entity(Record):
    """Something with a name that people speak of, and the other words that mean it."""

    name: str
    words: tuple[str, ...] = ()


class EntityKind(Record):
    """A kind of thing that relations may be towards: places, organisations, arguments. Its `entities` are all there are of it."""

    name: str
    about: str = ""
    entities: tuple[Entity, ...] = ()


class RelationKind(Record):
    """A kind of edge. `of` is who holds it; `on` what it is towards: an agent, a topic, or an entity of the kind named there.

    `about`: the topic, if it has one.

    `wins`: the newest supersedes per (of, on, about); `adds`: every statement counts.
    """

    name: str
    of: Literal["agent"] = "agent"
    on: str = "topic"
    about: Literal["topic"] | None = None
    newest: Literal["wins", "adds"] = "wins"


DEFAULT_RELATIONS = (
    RelationKind("opinion", on="topic"),
    RelationKind("attitude", on="agent", about="topic"),
    RelationKind("influence", on="agent", about="topic", newest="adds"),
)


class Extract(Record):
    """Extraction: a batch every `every` ticks, at most `batch` episodes a call, `evidence_half_life` ticks for weighing evidence."""

    every: int = 40
    batch: int = 20
    relations: tuple[RelationKind, ...] = DEFAULT_RELATIONS
    evidence_half_life: int = 100
    accept: float = 0.9
    audit: float = 0.02
    entities: tuple[EntityKind, ...] = ()


class Models(Record):
    """Names under the entry point groups, plus the model names that an endpoint knows."""

    engine: str = "builtin"
    extractor: str = "builtin"
    embedder: str = "builtin"
    model: str | None = None
