"""People, topics, network, platform, dynamics, language, time and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from simflow.plan.distributions import Distribution
from simflow.plan.record import Record


class Topic(Record):
    """What residents have a stance on. `scale` holds the verbs of -1, 0 and +1; `words` name it in text (its name is always one)."""

    name: str
    about: str = ""
    scale: tuple[str, str, str] = ("opposes", "is unsure about", "supports")
    words: tuple[str, ...] = ()


class Persona(Record):
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


class Person(Record):
    """One named resident read from a people file."""

    id: str
    name: str
    persona: str
    about: str = ""
    traits: Mapping[str, str | float] = field(default_factory=dict)
    stance: Mapping[str, float] = field(default_factory=dict)
    follows: tuple[str, ...] = ()
    posts: tuple[str, ...] = ()


class Voice(Record):
    """An account that acts only through events; `followers` is the share of residents that follow it from the start."""

    name: str
    followers: float = 0.5
    about: str = ""


class Network(Record):
    """The follow graph at the start. `links`: mean number of accounts that one resident follows.

    `edges`: (follower id, followee id) pairs from an edge file; then `shape` is `file`.
    """

    shape: Literal["small_world", "preferential", "blocks", "configuration", "file"] = "small_world"
    links: int = 8
    rewire: float = 0.1
    homophily_by: str | None = None
    homophily_strength: float = 0.0
    edges: tuple[tuple[str, str], ...] = ()


class Feed(Record):
    """How a session's posts are ranked: weights of the terms, all >= 0, and how many posts are shown.

    `fade`: minutes after which recency has halved; None for the engine's default.
    """

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
    fade: int | None = None


class Group(Record):
    """Some residents who write to each other out of others' sight. All given conditions must hold; `share` of those who meet them belong to it."""

    name: str
    personas: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    share: float = 1.0


class Platform(Record):
    """What residents can do, and what they are shown.

    `rates`: how often, by action, where it is not as in the engine. `hide_after`: reports after which a post is hidden. `results`: posts that
    a search or a look at the trends shows. `trend_span`: ticks of acts that make a trend. `groups`: who shares a group; without any, groups of
    about `group_size` form along the follow graph.
    """

    kind: str = "microblog"
    actions: tuple[str, ...] = ("post", "reply", "repost", "quote", "like", "dislike", "follow", "unfollow", "mute")
    feed: Feed = field(default_factory=Feed)
    rates: Mapping[str, float] = field(default_factory=dict)
    hide_after: int = 5
    results: int = 3
    trend_span: int = 36
    groups: tuple[Group, ...] = ()
    group_size: int = 12


class Dynamics(Record):
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


class Language(Record):
    """Language of the generated texts and the dials of their difficulty, each 0..1. `split` selects a half of the paraphrases."""

    code: str = "en"
    hedge: float = 0.1
    negation: float = 0.1
    sarcasm: float = 0.03
    ellipsis: float = 0.25
    typo: float = 0.0
    code_switch: float = 0.0
    split: Literal["all", "train", "held_out"] = "all"


class Clock(Record):
    """Time. `minutes` is the length of a tick; `active` holds 24 weights by hour of day with mean 1, `weekday` 7 from Monday.

    `sessions`: visits of a resident a day in ticks of ten minutes, those within one tick counting as one; None for the engine's default.
    """

    ticks: int = 480
    minutes: int = 60
    window: int = 120
    active: tuple[float, ...] | None = None
    weekday: tuple[float, ...] | None = None
    sessions: float | None = None


class Trigger(Record):
    """Fires at the first tick at which `measure` of `topic` goes `above` or `below` a value."""

    measure: str
    topic: str | None = None
    above: float | None = None
    below: float | None = None


class Audience(Record):
    """Whom an event is aimed at; None means everybody. All given conditions must hold."""

    personas: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    topic: str | None = None
    stance_min: float = -1.0
    stance_max: float = 1.0


class Event(Record):
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
