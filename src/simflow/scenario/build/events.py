"""Events: one verb each, names looked up, times in ticks."""

from __future__ import annotations

from typing import Any

from simflow.plan import Audience, Cell, Event, Feed, Trigger
from simflow.scenario.build import platform
from simflow.scenario.build.context import Context
from simflow.scenario.keys.events import VERBS
from simflow.scenario.kinds import Named, Section

TIMED = frozenset({"mute", "ban", "feed", "agenda"})
"""Verbs that `until` undoes."""


def events(context: Context, feed: Feed) -> tuple[Event, ...]:
    """The events, in the order of the text. feed: the platform's, which a change of feed starts from."""
    named = context.root.get("events")
    if not isinstance(named, Named):
        return ()
    made = [_event(context, name, section, feed) for name, section in named.items()]
    return tuple(e for e in made if e is not None)


def _event(context: Context, name: str, section: Section, feed: Feed) -> Event | None:
    verb = next((v for v in VERBS if v in section), None)
    if verb is None:
        return None
    fields: dict[str, Any] = {"name": name, "verb": verb, **_times(context, section, verb)}
    if "when" in section:
        fields["when"] = _trigger(context, section["when"])
    if verb in {"post", "broadcast"}:
        fields |= _message(context, section, section[verb])
    _belongs(context, section, verb)
    if verb == "nudge":
        inner: Section = section["nudge"]
        fields |= {"topic": context.only_topic(inner), "amount": inner.get("by"), "to": _who(context, inner)}
    elif verb in {"mute", "ban"}:
        fields["target"] = context.account(section[verb], section.span(verb))
    elif verb in {"join", "leave"}:
        fields |= _crowd(context, section[verb], verb)
    elif verb == "feed":
        fields["feed"] = platform.feed(context, section["feed"], feed)
    elif verb == "agenda":
        fields |= {"topic": context.only_topic(section["agenda"]), "amount": section["agenda"].get("times")}
    return Event(**fields)


def _belongs(context: Context, section: Section, verb: str) -> None:
    for key in ("by", "topic", "stance", "to"):
        if key in section and verb not in {"post", "broadcast"}:
            context.reader.add("SF412", f"'{key}' belongs to a post or broadcast, not to a {verb}", section.key(key), "take it out")
    if "to" in section and verb == "post":
        text = "a post reaches whoever the feeds show it to"
        context.reader.add("SF412", text, section.key("to"), "use `broadcast:` to show it to chosen people")


def _times(context: Context, section: Section, verb: str) -> dict[str, Any]:
    end = context.clock.ticks
    at = context.ticks(section["at"], section.span("at")) if "at" in section else 0
    if "at" in section and at >= end:
        text = f"this is tick {at:,}, and the run ends at tick {end:,}"
        context.reader.add("SF410", text, section.span("at"), "make the run longer (`clock.ticks`), or the event earlier")
    elif "at" in section and "when" not in section and verb != "leave" and at >= end - min(context.clock.window, end // 10 + 1) and at > 0:
        text = f"at tick {at:,} of {end:,} this has little time to have an effect"
        context.reader.warn("SF803", text, section.span("at"), "make the run longer (`clock.ticks`), or the event earlier")
    until = context.ticks(section["until"], section.span("until")) if "until" in section else None
    every = context.ticks(section["every"], section.span("every"), least=1) if "every" in section else None
    if until is not None and until <= at:
        context.reader.add("SF411", f"this ends at tick {until:,}, and begins at {at:,}", section.span("until"))
    if until is not None and verb not in TIMED and every is None:
        text = f"a {verb} happens once; 'until' has nothing to end"
        context.reader.add("SF412", text, section.key("until"), "take it out, or repeat the event with `every:`")
    if every is not None and verb in TIMED:
        context.reader.add("SF412", f"a {verb} lasts until it ends and cannot repeat", section.key("every"), "make it several events")
        every = None
    return {"at": at, "until": until, "every": every}


def _message(context: Context, section: Section, text: str) -> dict[str, Any]:
    by = section.get("by")
    speaker = context.account(by, section.span("by")) if by is not None else None
    topic = context.topic(section["topic"], section.span("topic")) if "topic" in section else guess_topic(context, text)
    stance = section.get("stance")
    if stance is None and speaker is not None and topic is not None:
        stance = _stance_of(context, speaker, topic)
    return {"by": speaker, "text": text, "topic": topic, "stance": stance, "to": _audience(context, section.get("to"))}


def weigh(context: Context, cell: Cell) -> None:
    """Warn of posts that say nothing to residents whom equations move: those read a stance, never words."""
    named = context.root.get("events")
    voices = {v.name for v in cell.voices}
    if not isinstance(named, Named) or not equations(cell):
        return
    for event in cell.events:
        speaks = event.by in voices if event.by else "by" not in named[event.name]
        if event.verb in {"post", "broadcast"} and event.topic and event.stance is None and speaks:
            text = f"nothing says where '{event.name}' stands on {event.topic}: it counts as undecided (0), whatever its words are"
            context.reader.warn("SF813", text, named.key(event.name), "give the event a `stance:` from -1 to 1, or its voice one")


def equations(cell: Cell) -> bool:
    """Whether equations move some of the residents."""
    return any((p.engine or cell.models.engine) == "builtin" for p in cell.personas)


def guess_topic(context: Context, text: str) -> str | None:
    """The topic with the most words in a text; the first topic if none has any."""
    folded = text.casefold()
    best, most = (context.topics[0].name if context.topics else None), 0
    for topic in context.topics:
        hits = sum(len(w) for w in {topic.name.casefold(), *(w.casefold() for w in topic.words)} if w in folded)
        if hits > most:
            best, most = topic.name, hits
    return best


def _stance_of(context: Context, speaker: str, topic: str) -> float | None:
    population = context.section("population")
    voices = population.get("voices") if population else None
    voice = voices.get(speaker) if isinstance(voices, Named) else None
    stance = voice.get("stance") if isinstance(voice, Section) else None
    return stance.get(topic) if isinstance(stance, Named) else None


def _trigger(context: Context, section: Section) -> Trigger | None:
    if ("above" in section) == ("below" in section):
        context.reader.add("SF412", "a trigger needs one of 'above' and 'below'", section.node.span)
    topic = context.only_topic(section)
    return Trigger(section.get("measure", ""), topic, section.get("above"), section.get("below"))


def _audience(context: Context, section: Section | None) -> Audience:
    if section is None:
        return Audience()
    names = [context.persona(n, section.span("personas")) for n in section.get("personas", ())]
    agents = [context.account(a, section.span("agents")) for a in section.get("agents", ())]
    low, high = section.get("stance", (-1.0, 1.0))
    topic = context.only_topic(section) if "stance" in section or "topic" in section else None
    if low > high:
        context.reader.add("SF411", f"from {low:g} to {high:g} there is nothing", section.span("stance"), f"write [{high:g}, {low:g}]")
    return Audience(
        tuple(n for n in names if n) if "personas" in section else None,
        tuple(a for a in agents if a) if "agents" in section else None,
        topic,
        low,
        high,
    )


def _who(context: Context, section: Section) -> Audience:
    persona = context.persona(section["persona"], section.span("persona")) if "persona" in section else None
    agents = [context.account(a, section.span("agents")) for a in section.get("agents", ())]
    return Audience((persona,) if persona else None, tuple(a for a in agents if a) if "agents" in section else None)


def _crowd(context: Context, section: Section, verb: str) -> dict[str, Any]:
    who = _who(context, section)
    persona = who.personas[0] if who.personas else None
    size = next((p.count for p in context.personas if p.name == persona), sum(p.count for p in context.personas))
    if "share" in section and "count" in section:
        context.reader.add("SF406", "both share and count", section.key("count"), "keep one")
    amount: float | None = section.get("count")
    if "share" in section:
        amount = round(size * section["share"])
        if amount == 0:
            context.reader.warn("SF802", f"{100 * section['share']:g} % of {size:,} is nobody", section.span("share"))
    elif amount is None and not who.agents:
        amount = float(size) if verb == "leave" else None
        if verb == "join":
            context.reader.add("SF307", "how many join? 'count' or 'share' is needed", section.node.span)
    if verb == "leave" and amount is not None and amount > size:
        context.reader.add("SF303", f"{amount:,.0f} leave, and there are {size:,}", section.span("count"))
    return {"persona": persona, "amount": None if amount is None else float(amount), "to": who}
