"""Who lives in the world: residents from personas and people files, drawn once from keys."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Cell, Dynamics, Normal, Person, Persona, Uniform
from simflow.world import names
from simflow.world.draws import F64, I64, Draws, Ints, grid, name_key
from simflow.world.settings import Settings
from simflow.world.traits import Traits

DEFAULT_STANCE = Normal(0.0, 0.4)
DEFAULT_SUSCEPTIBILITY = Uniform(0.5, 1.0)
NEVER = np.iinfo(np.int32).max
VOICE = -1


@dataclass(frozen=True, slots=True)
class Residents:
    """Newly drawn agents: arrays of one row an agent. Stances on the grid, (n, topics)."""

    persona: Ints
    person: Ints
    stance: I64
    susceptibility: F64
    stubbornness: F64
    confidence: F64
    rejection: F64
    contrarian: Ints
    activity: F64
    propensity: F64
    talk: F64
    interests: F64
    phase: Ints
    joined: Ints
    left: Ints


@dataclass(frozen=True, slots=True)
class Roster:
    """Rows for the agents table."""

    agent: list[int]
    id: list[str]
    name: list[str]
    persona: list[str | None]
    is_voice: list[bool]
    joined: list[int]
    about: list[str | None]
    traits: list[str | None]


def roll(cell: Cell) -> tuple[Ints, Ints]:
    """(persona, person) of each resident at the start, by agent: index of the persona, index of the person or -1.

    People of a file come first within their persona, and count towards it.
    """
    known = {persona.name: k for k, persona in enumerate(cell.personas)}
    persona: list[int] = []
    person: list[int] = []
    for p, one in enumerate(cell.people):
        if one.persona not in known:
            raise BadInput(f"person '{one.id}' is a '{one.persona}', which is no persona", hint=f"personas: {', '.join(known) or 'none'}")
        persona.append(known[one.persona])
        person.append(p)
    for k, kind in enumerate(cell.personas):
        rest = max(0, kind.count - persona[: len(cell.people)].count(k))
        persona.extend([k] * rest)
        person.extend([-1] * rest)
    return np.array(persona, dtype=np.int16), np.array(person, dtype=np.int32)


def draw(cell: Cell, settings: Settings, draws: Draws, agents: Ints, persona: Ints, person: Ints) -> Residents:
    """Draw residents with indices `agents`, all of the same replicate; nothing depends on who is drawn together."""
    count, topics = len(agents), len(cell.topics)
    stance = np.zeros((count, topics))
    susceptibility = np.zeros((count, topics))
    stubbornness = np.full((count, topics), np.nan)
    activity = np.ones(count)
    joined, left = np.zeros(count, np.int32), np.full(count, NEVER, np.int32)
    for k, kind in enumerate(cell.personas):
        at = np.flatnonzero(persona == k)
        if not len(at):
            continue
        traits = _traits(cell, kind, draws, agents[at], person[at])
        for t, topic in enumerate(cell.topics):
            name = topic.name
            stance[at, t] = traits.numbers(kind.stance.get(name, DEFAULT_STANCE), f"stance/{name}", -1.0, 1.0)
            openness = kind.susceptibility.get(name, DEFAULT_SUSCEPTIBILITY)
            susceptibility[at, t] = traits.numbers(openness, f"susceptibility/{name}", 0.0, 1.0)
            if name in kind.stubbornness:
                stubbornness[at, t] = traits.numbers(kind.stubbornness[name], f"stubbornness/{name}", 0.0, 1.0)
        if "activity" in kind.traits:
            activity[at] = 2.0 * traits.numbers(kind.traits["activity"], "trait/activity", 0.0, 1.0)
        joined[at] = kind.joins
        left[at] = NEVER if kind.leaves is None else kind.leaves
    for row in np.flatnonzero(person >= 0).tolist():
        one = cell.people[person[row]]
        for t, topic in enumerate(cell.topics):
            if topic.name in one.stance:
                stance[row, t] = min(1.0, max(-1.0, one.stance[topic.name]))
        if isinstance(level := one.traits.get("activity"), int | float):
            activity[row] = 2.0 * min(1.0, max(0.0, float(level)))
    sessions, propensity, talk = _rhythm(cell.dynamics, settings, draws, agents, cell.clock.minutes)
    confidence = cell.dynamics.confidence * (0.6 + 0.8 * draws.unit("confidence", -1, agents))
    return Residents(
        persona=persona.astype(np.int16),
        person=person.astype(np.int32),
        stance=grid(stance),
        susceptibility=susceptibility,
        stubbornness=stubbornness,
        confidence=confidence,
        rejection=np.maximum(confidence, cell.dynamics.rejection),
        contrarian=(draws.unit("contrarian", -1, agents) < cell.dynamics.contrarians).astype(np.int8),
        activity=np.minimum(sessions * activity, settings.busiest),
        propensity=propensity,
        talk=talk,
        interests=_interests(draws, agents, topics),
        phase=(draws.bits("phase", -1, agents) % np.uint64(4)).astype(np.int8),
        joined=joined,
        left=left,
    )


def groups(cell: Cell, draws: Draws, agents: Ints, persona: Ints, person: Ints) -> Ints:
    """Number of the group that `network.homophily_by` puts each agent in; numeric traits in four groups of equal size, without a value -1."""
    by = cell.network.homophily_by
    if by is None or by == "persona":
        return persona.astype(np.int64)
    values: list[str | float | None] = [None] * len(agents)
    for k, kind in enumerate(cell.personas):
        at = np.flatnonzero(persona == k)
        if by in kind.traits and len(at):
            for where, value in zip(at.tolist(), _traits(cell, kind, draws, agents[at], person[at]).labels(by), strict=True):
                values[where] = value
    for row in np.flatnonzero(person >= 0).tolist():
        values[row] = cell.people[person[row]].traits.get(by, values[row])
    if all(value is None for value in values):
        raise BadInput(f"homophily goes by '{by}', a trait that nobody has", hint="name a trait of a persona, or `persona`")
    numbers = sorted(v for v in values if isinstance(v, int | float))
    cuts = [numbers[len(numbers) * q // 4] for q in (1, 2, 3)] if numbers else []
    texts = {text: 4 + k for k, text in enumerate(sorted({v for v in values if isinstance(v, str)}))}
    return np.array([-1 if v is None else texts[v] if isinstance(v, str) else sum(v >= cut for cut in cuts) for v in values], np.int64)


def roster(cell: Cell, draws: Draws, agents: Ints, persona: Ints, person: Ints, joined: Ints) -> Roster:
    """Names, ids and traits of residents."""
    ids, display = names.names(draws, agents, cell.language.code)
    abouts: list[str | None] = [None] * len(agents)
    traits: list[dict[str, str | float]] = [{} for _ in range(len(agents))]
    for k, kind in enumerate(cell.personas):
        rows = np.flatnonzero(persona == k)
        at, drawn = rows.tolist(), _traits(cell, kind, draws, agents[rows], person[rows])
        for trait in kind.traits:
            for where, value in zip(at, drawn.labels(trait), strict=True):
                traits[where][trait] = value
        for where in at:
            abouts[where] = kind.voice or None
    for row in np.flatnonzero(person >= 0).tolist():
        one: Person = cell.people[person[row]]
        ids[row], display[row] = one.id, one.name or one.id
        abouts[row] = one.about or abouts[row]
        traits[row] |= dict(one.traits)
    kinds: list[Persona] = list(cell.personas)
    return Roster(
        agent=agents.tolist(),
        id=ids,
        name=display,
        persona=[kinds[k].name if k >= 0 else None for k in persona.tolist()],
        is_voice=[False] * len(agents),
        joined=joined.tolist(),
        about=abouts,
        traits=[json.dumps(t, ensure_ascii=False, sort_keys=True) if t else None for t in traits],
    )


def _traits(cell: Cell, kind: Persona, draws: Draws, agents: Ints, person: Ints) -> Traits:
    own = [cell.people[p].traits if p >= 0 else {} for p in person.tolist()] if cell.people else ()
    return Traits(kind, draws, agents, own)


def followers(draws: Draws, voice: str, share: float, agents: Ints) -> Ints:
    """Those of `agents` that follow a voice from the start."""
    return agents[draws.pair_unit("follows voice", -1, agents, np.full(len(agents), name_key(voice))) < share]


def _rhythm(dynamics: Dynamics, settings: Settings, draws: Draws, agents: Ints, minutes: int) -> tuple[F64, F64, F64]:
    """(sessions a tick, posts a session, factor on written reactions); heavy tails without a logarithm: 1 / (.02 + u)."""
    u = draws.unit("activity", -1, agents)
    tail = 1.0 / (0.02 + u) / 3.9318256327243257  # ln 51, the mean of 1 / (.02 + u)
    v = draws.unit("propensity", -1, agents)
    own = settings.post * (0.5 + v)
    talk = np.ones(len(agents))
    if dynamics.posting_tail == "strong":
        talk = np.minimum(0.4 * tail * tail, 3.5)
        own = np.minimum(own * talk, 1.0)
    return settings.rate(minutes) * tail, own, talk


def _interests(draws: Draws, agents: Ints, topics: int) -> F64:
    raw = np.empty((len(agents), topics))
    for t in range(topics):
        u = draws.unit(f"interest/{t}", -1, agents)
        raw[:, t] = 0.05 + u * u
    return raw / np.cumsum(raw, axis=1)[:, -1:]
