"""Memory, extraction, models."""

from __future__ import annotations

import dataclasses
from typing import Any

from simflow.plan import Extract, Memory, Models, RelationKind
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
    if section is not None:
        changes = {k: section[k] for k in ("batch", "accept", "audit") if k in section}
        base = dataclasses.replace(base, **changes)
        for name in ("every", "evidence_half_life"):
            if name in section:
                base = dataclasses.replace(base, **_ticks(context, section, name))
        if isinstance(section.get("relations"), Named):
            base = dataclasses.replace(base, relations=tuple(_relation(context, n, s) for n, s in section["relations"].items()))
    _fits(context, section, base)
    return base


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


def _relation(context: Context, name: str, section: Section) -> RelationKind:
    base = RelationKind(name)
    made = dataclasses.replace(base, **{k: section[k] for k in ("of", "on", "about", "newest") if k in section})
    if made.on == "topic" and made.about == "topic":
        context.reader.add(
            "SF414", f"'{name}' is on a topic and about a topic", section.key("about"), "take `about` out, or write `on: agent`"
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
