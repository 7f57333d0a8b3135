"""Questions, checks, patterns, limits, schedule."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from simflow.features import BY_PERSONA
from simflow.plan import Ask, Check, Limits, Outputs
from simflow.scenario.build.context import Context, generated
from simflow.scenario.kinds import Named, Section
from simflow.scenario.values import Time

_CRON = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_FIELD = re.compile(r"(\*|(\d{1,2})(-(\d{1,2}))?)(/(\d{1,2}))?\Z")
_NAMES = {n: i for i, n in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))} | {
    n: i for i, n in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)
}


def asks(context: Context) -> tuple[Ask, ...]:
    """The questions."""
    named = context.root.get("ask")
    if not isinstance(named, Named):
        return ()
    return tuple(_ask(context, name, section) for name, section in named.items())


def _ask(context: Context, name: str, section: Section) -> Ask:
    at = context.ticks(section["at"], section.span("at")) if "at" in section else context.clock.ticks
    if at > context.clock.ticks:
        context.reader.add("SF410", f"this is tick {at:,}, and the run ends at tick {context.clock.ticks:,}", section.span("at"))
    who = section.get("who", ())
    known = [p.name for p in context.personas]
    if len(who) == 1 and who[0] in known:
        return Ask(name, section.get("question", ""), at, persona=who[0])
    agents = []
    for one in who:
        if one in known:
            context.reader.add("SF416", "one persona, or residents by id", section.span("who"), "make it two questions")
        elif (context.residents and one.removeprefix("@") in context.residents) or (
            context.root_agents and generated(one.removeprefix("@"))
        ):
            agents.append(one.removeprefix("@"))
        else:
            context.persona(one, section.span("who"))
    return Ask(name, section.get("question", ""), at, agents=tuple(agents))


def checks(context: Context, name: str) -> tuple[Check, ...]:
    """`checks` or `patterns`: (kind, arguments) with names looked up and times in ticks."""
    made = []
    for single in context.root.get(name, ()):
        for kind, section in single.items():
            made.append(Check(kind, _arguments(context, kind, section)))
    return tuple(made)


def _arguments(context: Context, kind: str, section: Section) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in section.items():
        if isinstance(value, Time):
            ticks = context.ticks(value, section.span(key))
            if ticks > context.clock.ticks:
                context.reader.add("SF410", f"this is tick {ticks:,}, and the run ends at tick {context.clock.ticks:,}", section.span(key))
            found[key] = ticks
        elif key == "persona":
            found[key] = context.persona(value, section.span(key))
        elif key == "between":
            if value[0] > value[1]:
                context.reader.add("SF411", f"nothing lies between {value[0]:g} and {value[1]:g}", section.span(key), "lowest first")
            found[key] = list(value)
        else:
            found[key] = value
    if kind in {"covered", "share"} or "topic" in section or (kind == "measure" and len(context.topics) == 1):
        found["topic"] = context.only_topic(section)
    _measure(context, kind, section)
    if kind == "share" and "stance" in found:
        _stance(context, section, found)
    if (
        kind in {"share", "episodes", "measure", "lost_turns"}
        and "value" not in section
        and not {"between", "at_least", "at_most"} & set(section.node.entries)
    ):
        context.reader.add("SF307", f"{kind} needs 'between', 'at_least' or 'at_most'", section.node.span)
    return found


def _measure(context: Context, kind: str, section: Section) -> None:
    if kind == "measure" and "persona" in section and section.get("name") not in {None, *BY_PERSONA}:
        text = f"'{section['name']}' is not taken for single personas"
        context.reader.add("SF304", text, section.span("persona"), f"measures of a persona: {', '.join(BY_PERSONA)}")


def _stance(context: Context, section: Section, found: dict[str, Any]) -> None:
    topic = next((t for t in context.topics if t.name == found.get("topic")), None)
    if topic is not None and context.name(found["stance"], topic.scale, "verbs", "SF417", section.span("stance")):
        found["stance"] = ("opposes", "unsure", "supports")[topic.scale.index(found["stance"])]


def limits(context: Context) -> Limits:
    """Where a run stops."""
    section = context.section("limits")
    if section is None:
        return Limits()
    tokens = section.get("tokens")
    return Limits(None if tokens is None else int(tokens), section.get("cost"), section.get("hours"))


def outputs(context: Context) -> Outputs | None:
    """What a finished run leaves in the project. The folder cannot lead out of it, whatever the text says."""
    section = context.section("outputs")
    if section is None:
        return None
    made = Outputs(**section)
    if "folder" in section:
        made = dataclasses.replace(made, folder=_inside(context, section))
    if not made.tables and not made.report:
        context.reader.warn("SF808", "no table and no report: this leaves nothing", section.node.span, "name some `tables`")
    return made


def _inside(context: Context, section: Section) -> str:
    text: str = section["folder"]
    parts = text.replace("\\", "/").split("/")
    rooted = text.startswith(("/", "\\", "~")) or ":" in parts[0]
    if rooted or ".." in parts or any(p.startswith(".simflow") for p in parts) or any(not c.isprintable() for c in text):
        hint = "a folder below the project, such as `results`; `..`, absolute paths and .simflow are not"
        context.reader.add("SF422", f"'{text}' is not a folder inside the project", section.span("folder"), hint)
        return Outputs().folder
    return "/".join(p.strip() for p in parts if p.strip() not in {"", "."}) or Outputs().folder


def schedule(context: Context) -> str | None:
    """Five fields of cron; a problem names the field that is wrong."""
    text: str | None = context.root.get("schedule")
    if text is None:
        return None
    span = context.root.span("schedule")
    fields = text.split()
    if text.strip() in {"@hourly", "@daily", "@weekly", "@monthly", "@yearly"}:
        return text.strip()
    if len(fields) != 5:
        context.reader.add(
            "SF418",
            f"a schedule has five fields; this has {len(fields)}",
            span,
            'minute hour day month weekday: "0 6 * * 1" is Mondays at 6:00',
        )
        return None
    for value, (low, high), what in zip(fields, _CRON, ("minute", "hour", "day", "month", "weekday"), strict=True):
        if not all(_cron(part, low, high) for part in value.split(",")):
            context.reader.add("SF418", f"'{value}' is no {what}", span.within(value), f"{low} to {high}, *, lists, ranges and steps")
            return None
    return " ".join(fields)


def _cron(part: str, low: int, high: int) -> bool:
    for name, number in _NAMES.items():
        part = part.lower().replace(name, str(number))
    found = _FIELD.match(part)
    if not found:
        return False
    first, last, step = found.group(2), found.group(4), found.group(6)
    ends = [int(n) for n in (first, last) if n is not None]
    return all(low <= n <= high for n in ends) and ends == sorted(ends) and (step is None or int(step) > 0)
