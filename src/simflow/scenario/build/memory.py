"""Memory, extraction, models."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from simflow.plan import Entity, EntityKind, Extract, Memory, Models, RelationKind
from simflow.scenario.build.context import Context
from simflow.scenario.kinds import Named, Section


def memory(context: Context) -> Memory:
    """What agents remember."""
    section = context.section("memory")
    if section is None:
        return Memory()
    episodes, relations = _part(section, "episodes"), _part(section, "relations")
    persona, tokens = _part(section, "persona"), _part(section, "tokens")
    base = Memory()
    made = dataclasses.replace(
        base,
        mode=section.get("mode", base.mode),
        scope=section.get("scope", base.scope),
        top=episodes.get("top", base.top),
        relations=relations.get("top", base.relations),
        hops=relations.get("hops", base.hops),
        persona_tokens=tokens.get("persona", base.persona_tokens),
        relation_tokens=tokens.get("relations", base.relation_tokens),
        episode_tokens=tokens.get("episodes", base.episode_tokens),
    )
    if "half_life" in episodes:
        made = dataclasses.replace(made, half_life=context.ticks(episodes["half_life"], episodes.span("half_life"), least=1))
    if "refresh" in persona:
        made = dataclasses.replace(made, refresh=context.ticks(persona["refresh"], persona.span("refresh"), least=1))
    _budgets(context, tokens)
    unused = {"vectors": ("relations",), "graph": ("episodes",)}.get(made.mode, ())
    for name in unused:
        if name in section:
            context.reader.warn("SF808", f"'memory.{name}' has no effect with `mode: {made.mode}`", section.key(name))
    return made


SMALL = {"persona": 60, "relations": 20, "episodes": 40}
"""Tokens that one persona state, one relation, one episode need."""


def _budgets(context: Context, tokens: Section) -> None:
    for name, least in SMALL.items():
        if name in tokens and 0 < tokens[name] < least:
            what = {"persona": "one persona state", "relations": "one relation", "episodes": "one episode"}[name]
            context.reader.warn(
                "SF804",
                f"{tokens[name]} tokens do not hold {what}, which needs about {least}",
                tokens.span(name),
                "0 leaves it out on purpose",
            )


def _part(section: Section, name: str) -> Section:
    found = section.get(name)
    return found if isinstance(found, Section) else Section(section.node)


def extract(context: Context) -> Extract:
    """How relations are distilled."""
    section = context.section("extract")
    base = Extract()
    if context.lasting:
        base = dataclasses.replace(base, every=_part_of(context.clock.window, base.every))
    if section is not None:
        changes = {k: section[k] for k in ("batch", "accept", "audit") if k in section}
        base = dataclasses.replace(base, **changes)
        for name in ("every", "evidence_half_life"):
            if name in section:
                base = dataclasses.replace(base, **_ticks(context, section, name))
        if isinstance(section.get("entities"), Named):
            base = dataclasses.replace(base, entities=_entities(context, section["entities"]))
        if isinstance(section.get("relations"), Named):
            kinds = [e.name for e in base.entities]
            base = dataclasses.replace(base, relations=tuple(_relation(context, n, s, kinds) for n, s in section["relations"].items()))
        _towards(context, section, base)
    _fits(context, section, base)
    return base


def _part_of(window: int, most: int) -> int:
    """The longest stretch of at most `most` ticks that a window is made of; `most` where that would be less than half of it."""
    return next((n for n in range(most, most // 2 - 1, -1) if window % n == 0), min(most, window))


def _ticks(context: Context, section: Section, name: str) -> dict[str, Any]:
    return {name: context.ticks(section[name], section.span(name), least=1)}


def _fits(context: Context, section: Section | None, made: Extract) -> None:
    if not context.lasting:
        return
    clock, at = context.section("clock"), context.root.node.span
    if section is not None and "every" in section:
        at = section.span("every")
    elif clock is not None:
        at = clock.span("window" if "window" in clock else "ticks" if "ticks" in clock else None)
    window, ticks, every = context.clock.window, context.clock.ticks, made.every
    if window < ticks and window % every:
        text = f"a window of {window:,} ticks is no multiple of extract.every ({every:,}): the rest of each window waits for the next"
        context.reader.warn("SF805", text, at, f"a window of {max(1, round(window / every)) * every:,} ticks, or another `extract.every`")
    elif ticks % every:
        text = f"{ticks:,} ticks are no multiple of extract.every ({every:,}): the last {ticks % every:,} ticks are never extracted"
        context.reader.warn("SF805", text, at, f"{-(-ticks // every) * every:,} ticks, or another `extract.every`")


def _entities(context: Context, named: Named) -> tuple[EntityKind, ...]:
    taken = {t.name.casefold(): "a topic" for t in context.topics}
    made = []
    for kind, section in named.items():
        if kind in {"agent", "topic"}:
            text = f"'{kind}' is a kind already: agents are who lives here, topics stand under `topics`"
            context.reader.add("SF421", text, named.key(kind), "name this kind otherwise: person, place, organisation, argument")
        for name, _ in section.get("names", ()):
            if (other := taken.setdefault(name.casefold(), f"a '{kind}'")) != f"a '{kind}'":
                text = f"'{name}' is {other} already, and one name means one thing"
                context.reader.add("SF421", text, section.span("names"), "give one of them another name, and both their words")
        entities = tuple(Entity(name, words) for name, words in section.get("names", ()))
        made.append(EntityKind(kind, section.get("about", ""), entities))
    return tuple(made)


def _towards(context: Context, section: Section, made: Extract) -> None:
    for kind in made.entities:
        if all(r.on != kind.name for r in made.relations):
            hint = f"for example `relations: {{view: {{on: {kind.name}}}}}`; recall still knows the names"
            context.reader.warn("SF808", f"no relation is towards a '{kind.name}'", section["entities"].key(kind.name), hint)


def _relation(context: Context, name: str, section: Section, kinds: Sequence[str]) -> RelationKind:
    base = RelationKind(name)
    if "on" in section and section["on"] not in {"agent", "topic"}:
        context.name(section["on"], [*kinds, "agent", "topic"], "entity kinds", "SF420", section.span("on"))
    made = dataclasses.replace(base, **{k: section[k] for k in ("of", "on", "about", "newest") if k in section})
    if made.on != "agent" and made.about == "topic":
        on = "a topic" if made.on == "topic" else f"a {made.on}"
        context.reader.add(
            "SF414", f"'{name}' is on {on} and about a topic", section.key("about"), "take `about` out, or write `on: agent`"
        )
    return made


def models(context: Context, *, replay: bool) -> Models:
    """The parts that do the work."""
    section = context.section("models")
    base = Models(engine="replay") if replay else Models()
    if section is None:
        return base
    made = dataclasses.replace(base, **section)
    if replay and made.engine != "replay":
        context.reader.add(
            "SF415",
            f"a recorded trace is replayed by the engine 'replay', not '{made.engine}'",
            section.span("engine"),
            "take `models.engine` or `replay` out",
        )
    elif made.engine == "replay" and not replay:
        context.reader.add("SF415", "the engine 'replay' needs a trace", section.span("engine"), "add `replay: {file: trace.jsonl}`")
    return made
