"""Clock, platform, feeds, dynamics, language."""

from __future__ import annotations

import dataclasses
from typing import Any

from simflow.plan import Clock, Dynamics, Feed, Group, Language, Platform
from simflow.scenario.build.context import Context, length
from simflow.scenario.keys.platform import PARTS_OF_DAY, SHORTHANDS, WEEKDAYS
from simflow.scenario.kinds import Named, Section
from simflow.scenario.values import Time


def clock(context: Context, recorded: int | None) -> Clock:
    """The clock. recorded: ticks of the trace that is replayed, if one is."""
    section = context.section("clock")
    base = Clock() if recorded is None else Clock(ticks=max(1, recorded))
    if section is None:
        return base
    minutes = _minutes(context, section)
    context.clock = dataclasses.replace(base, minutes=minutes)
    ticks = context.ticks(section["ticks"], section.span("ticks"), least=1) if "ticks" in section else base.ticks
    window = context.ticks(section["window"], section.span("window"), least=1) if "window" in section else min(base.window, ticks)
    if window > ticks and "window" in section and context.lasting:
        text = f"a window of {window:,} ticks is longer than the run of {ticks:,}: the run is one window"
        context.reader.warn("SF807", text, section.span("window"))
    return Clock(ticks, minutes, window, _active(context, section), _weekday(context, section), section.get("sessions"))


def _minutes(context: Context, section: Section) -> int:
    tick: Time | None = section.get("tick")
    if tick is None:
        return Clock().minutes
    if tick.unit != "minutes":
        context.reader.add("SF302", "the length of a tick is a time, not a number of ticks", section.span("tick"), "write 10min, 1h, 1d")
        return Clock().minutes
    if tick.amount < 1 or tick.amount != int(tick.amount):
        context.reader.add("SF303", f"a tick of {length(tick.amount)} is not a whole number of minutes", section.span("tick"))
        return Clock().minutes
    return int(tick.amount)


def _active(context: Context, section: Section) -> tuple[float, ...] | None:
    given = section.get("active")
    if given is None:
        return None
    if isinstance(given, tuple):
        hours = list(given)
    else:
        hours = [1.0] * 24
        for part, span in PARTS_OF_DAY.items():
            for hour in span:
                hours[hour] = given.get(part, 1.0)
    return _mean_one(context, section, "active", hours)


def _weekday(context: Context, section: Section) -> tuple[float, ...] | None:
    given = section.get("weekday")
    return None if given is None else _mean_one(context, section, "weekday", [given.get(day, 1.0) for day in WEEKDAYS])


def _mean_one(context: Context, section: Section, name: str, weights: list[float]) -> tuple[float, ...] | None:
    total = sum(weights)
    if total <= 0:
        context.reader.add("SF303", "nobody is ever active", section.span(name), "give at least one weight above 0")
        return None
    return tuple(w * len(weights) / total for w in weights)


def feed(context: Context, section: Section | None, base: Feed) -> Feed:
    """A feed; what is left out is as in `base`."""
    if section is None:
        return base
    changes: dict[str, Any] = {k: v for k, v in section.items() if k not in {"horizon", "fade"}}
    if "horizon" in section:
        changes["horizon"] = context.ticks(section["horizon"], section.span("horizon"), least=1)
    if "fade" in section:
        minutes = section["fade"].ticks(context.clock.minutes, context.clock.ticks) * context.clock.minutes
        if minutes < 1:
            context.reader.add("SF303", "a feed cannot fade in less than a minute", section.span("fade"))
        changes["fade"] = max(1, round(minutes))
    made = dataclasses.replace(base, **changes)
    if made.kind == "mix" and made.recency + made.popularity + made.affinity + made.follow <= 0:
        context.reader.add(
            "SF303", "all weights of this feed are 0", section.node.span, "give at least one of recency, popularity, affinity, follow"
        )
    for weight in ("recency", "popularity", "affinity", "follow", "similarity", "fade"):
        if weight in section and made.kind not in _USES[weight]:
            text = f"'{weight}' has no effect in a {made.kind} feed"
            context.reader.warn("SF808", text, section.key(weight), "use `kind: mix`, or take it out")
    return made


_USES = {
    "recency": {"mix", "chronological", "follow_first", "interest"},
    "fade": {"mix", "chronological", "follow_first", "interest"},
    "popularity": {"mix", "hot", "follow_first"},
    "affinity": {"mix", "interest", "follow_first"},
    "follow": {"mix", "follow_first"},
    "similarity": {"mix", "interest", "follow_first"},
}


def platform(context: Context) -> Platform:
    """The platform."""
    section = context.section("platform")
    if section is None:
        return Platform()
    base = Platform()
    actions = base.actions
    if "actions" in section:
        named = [a for word in section["actions"] for a in SHORTHANDS.get(word, (word,))]
        actions = tuple(dict.fromkeys(named))
        if len(actions) < len(named):
            context.reader.warn("SF809", "an action is named twice", section.span("actions"))
    rates: Section | None = section.get("rates")
    given: dict[str, Any] = {k: section[k] for k in ("hide_after", "results", "group_size") if k in section}
    if "trend_span" in section:
        given["trend_span"] = context.ticks(section["trend_span"], section.span("trend_span"), least=1)
    _idle(context, section, actions)
    return Platform(
        section.get("kind", base.kind),
        actions,
        feed(context, section.get("feed"), base.feed),
        rates=dict(rates or {}),
        **given,
    )


_FOR = {"hide_after": {"report"}, "results": {"search", "trend"}, "trend_span": {"trend"}, "groups": {"group"}, "group_size": {"group"}}
"""Keys that only some actions read."""


def _idle(context: Context, section: Section, actions: tuple[str, ...]) -> None:
    """Warn of what is set for actions that the platform does not offer."""
    if "actions" in section.node.entries and "actions" not in section:
        return  # they could not be read
    rates: Section | None = section.get("rates")
    for action in rates or ():
        if rates is not None and action in rates.node.entries and action not in actions:
            hint = "add it to `actions`, or take the rate out"
            context.reader.warn("SF808", f"nobody can {action}, so that its rate has no effect", rates.key(action), hint)
    for name, needed in _FOR.items():
        if name in section and needed.isdisjoint(actions):
            hint = f"`actions` would have to name {' or '.join(sorted(needed))}"
            context.reader.warn("SF808", f"'{name}' has no effect on this platform", section.key(name), hint)
    if "groups" in section and "group_size" in section:
        context.reader.warn("SF808", "'group_size' has no effect beside groups that are named", section.key("group_size"))


def grouped(context: Context, made: Platform) -> Platform:
    """`made` with its groups, which name personas and residents."""
    section = context.section("platform")
    named = section.get("groups") if section else None
    if not isinstance(named, Named):
        return made
    return dataclasses.replace(made, groups=tuple(_group(context, name, one) for name, one in named.items()))


def _group(context: Context, name: str, section: Section) -> Group:
    personas = agents = None
    if "personas" in section:
        found = [context.persona(p, section.span("personas")) for p in section["personas"]]
        personas = tuple(p for p in found if p)
    if "agents" in section:
        found = [context.account(a, section.span("agents")) for a in section["agents"]]
        agents = tuple(a for a in found if a)
        for voice in {v.name for v in context.voices} & set(agents):
            context.reader.add("SF404", f"'{voice}' is a voice, and voices are in no group", section.span("agents"), "take it out")
    return Group(name, personas, agents, section.get("share", 1.0))


def dynamics(context: Context) -> Dynamics:
    """How stances move."""
    section = context.section("dynamics")
    if section is None:
        return Dynamics()
    made = dataclasses.replace(Dynamics(), **section)
    if made.model == "social_judgement" and made.rejection < made.confidence:
        text = f"rejection ({made.rejection:g}) is below confidence ({made.confidence:g})"
        context.reader.add(
            "SF303",
            text,
            section.span("rejection" if "rejection" in section else "confidence"),
            "people reject what is further away than what convinces them",
        )
    for name, models in (
        ("rejection", {"social_judgement"}),
        ("repulsion", {"social_judgement"}),
        ("confidence", {"bounded_confidence", "social_judgement"}),
    ):
        if name in section and made.model not in models:
            context.reader.warn("SF808", f"'{name}' has no effect with {made.model}", section.key(name))
    return made


def language(context: Context) -> Language:
    """How residents write."""
    section = context.section("language")
    return Language() if section is None else dataclasses.replace(Language(), **section)
