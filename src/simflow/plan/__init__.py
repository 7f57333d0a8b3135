"""The compiled scenario: plain frozen values that every room understands.

`simflow.scenario` turns YAML into these; `world`, `memory`, `run` and the evaluation read them. Nothing in here knows YAML, files,
numpy or Arrow, so importing it is cheap. Every duration and time is in ticks, every share in 0..1, every stance in -1..1.
"""

from __future__ import annotations

from simflow.plan.address import behaviour, canonical, slug, window_key
from simflow.plan.distributions import Beta, Case, Choice, Constant, Distribution, Given, Normal, Uniform
from simflow.plan.remembering import DEFAULT_RELATIONS, Entity, EntityKind, Extract, Memory, Models, RelationKind
from simflow.plan.revive import revive
from simflow.plan.society import (
    Audience,
    Clock,
    Dynamics,
    Event,
    Feed,
    Group,
    Language,
    Network,
    Person,
    Persona,
    Platform,
    Topic,
    Trigger,
    Voice,
)
from simflow.plan.study import Ask, Cell, Check, Limits, Outputs, Plan, Replay, labelled

__all__ = [
    "DEFAULT_RELATIONS",
    "Ask",
    "Audience",
    "Beta",
    "Case",
    "Cell",
    "Check",
    "Choice",
    "Clock",
    "Constant",
    "Distribution",
    "Dynamics",
    "Entity",
    "EntityKind",
    "Event",
    "Extract",
    "Feed",
    "Given",
    "Group",
    "Language",
    "Limits",
    "Memory",
    "Models",
    "Network",
    "Normal",
    "Outputs",
    "Person",
    "Persona",
    "Plan",
    "Platform",
    "RelationKind",
    "Replay",
    "Topic",
    "Trigger",
    "Uniform",
    "Voice",
    "behaviour",
    "canonical",
    "labelled",
    "revive",
    "slug",
    "window_key",
]
