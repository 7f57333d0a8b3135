"""Clock, platform, feeds, dynamics, language."""

from __future__ import annotations

import dataclasses
from typing import Any

from simflow.plan import Clock, Dynamics, Feed, Language, Platform
from simflow.scenario.build.context import Context, length
from simflow.scenario.keys.platform import PARTS_OF_DAY, SHORTHANDS, WEEKDAYS
from simflow.scenario.kinds import Section
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
    return Clock(ticks, minutes, window, _active(context, section), _weekday(context, section))


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
    changes: dict[str, Any] = {k: v for k, v in section.items() if k != "horizon"}
    if "horizon" in section:
        changes["horizon"] = context.ticks(section["horizon"], section.span("horizon"), least=1)
    made = dataclasses.replace(base, **changes)
    if made.kind == "mix" and made.recency + made.popularity + made.affinity + made.follow <= 0:
        context.reader.add(
            "SF303", "all weights of this feed are 0", section.node.span, "give at least one of recency, popularity, affinity, follow"
        )
    for weight in ("recency", "popularity", "affinity", "follow", "similarity"):
        if weight in section and made.kind not in _USES[weight]:
            text = f"'{weight}' has no effect in a {made.kind} feed"
            context.reader.warn("SF808", text, section.key(weight), "use `kind: mix`, or take it out")
    return made


_USES = {
    "recency": {"mix", "chronological", "follow_first", "interest"},
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
    return Platform(section.get("kind", base.kind), actions, feed(context, section.get("feed"), base.feed))


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
