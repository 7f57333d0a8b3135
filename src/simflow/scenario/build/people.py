"""Topics, personas with their counts, voices, the follow graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

from simflow.plan import Feed, Network, Person, Persona, Topic, Voice
from simflow.scenario.build import dependent, platform
from simflow.scenario.build.context import Context
from simflow.scenario.kinds import Named, Section

DEFAULT_AGENTS = 100


def topics(context: Context) -> tuple[Topic, ...]:
    """The topics, in the order of the text."""
    named = context.root.get("topics")
    if not isinstance(named, Named):
        return _recorded(context)
    made = []
    for name, section in named.items():
        defaults = Topic(name)
        made.append(Topic(name, section.get("about", ""), section.get("scale", defaults.scale), section.get("words", ())))
        if len(set(made[-1].scale)) < 3:
            context.reader.add("SF405", "the three verbs of a scale must differ", section.span("scale"))
    return tuple(made)


MOST_TOPICS = 100


def _recorded(context: Context) -> tuple[Topic, ...]:
    if len(context.recorded) > MOST_TOPICS:
        replay = context.section("replay")
        span = replay.span("topic_by") if replay else context.root.node.span
        text = f"the trace names {len(context.recorded):,} topics; at most {MOST_TOPICS} are taken from a column"
        context.reader.add("SF515", text, span, "name the ones that count under `topics`, with the column's values among their `words`")
        return ()
    return tuple(Topic(name) for name in context.recorded)


def personas(context: Context, people: tuple[Person, ...], feed: Feed) -> tuple[Persona, ...]:
    """The personas with their counts. people: residents from a file, who count among their persona."""
    population = context.section("population")
    named = population.get("personas") if population else None
    total = _agents(population, named, people)
    if not isinstance(named, Named) or not named:
        names = sorted({p.persona for p in people}) or ["resident"]
        return tuple(Persona(n, sum(p.persona == n for p in people) if people else total) for n in names)
    brought = {t for p in people for t in p.traits}
    counts = _counts(context, named, total, fixed=population is not None and "agents" in population)
    return tuple(_persona(context, name, counts[name], named, feed, brought) for name in named)


def _agents(population: Section | None, named: object, people: tuple[Person, ...]) -> int:
    if population is not None and "agents" in population:
        return int(population["agents"])
    counted = sum(s.get("count", 0) for s in named.values()) if isinstance(named, Named) else 0
    return len(people) or counted or DEFAULT_AGENTS


def _counts(context: Context, named: Named, total: int, *, fixed: bool) -> dict[str, int]:
    reader = context.reader
    for name, section in named.items():
        if "share" in section and "count" in section:
            reader.add("SF406", f"'{name}' has both share and count", section.key("count"), "keep one")
    counted = {n: int(s["count"]) for n, s in named.items() if "count" in s}
    shares = {n: float(s["share"]) for n, s in named.items() if "share" in s and n not in counted}
    broken = any("share" in s.node.entries and "share" not in s for s in named.values())
    free = [n for n in named if n not in counted and n not in shares]
    left = total - sum(counted.values())
    spoken = sum(shares.values())
    if broken:
        return dict.fromkeys(named, 0) | counted
    if left < 0:
        reader.add(
            "SF406",
            f"the counts sum to {sum(counted.values()):,}, more than the {total:,} agents",
            named.node.span,
            "raise `agents`, or lower the counts",
        )
        return counted | dict.fromkeys([*shares, *free], 0)
    portions = {n: total * s for n, s in shares.items()}
    rest = left - sum(portions.values())
    if free and rest >= -1e-6:
        portions |= dict.fromkeys(free, rest / len(free))
    elif abs(rest) > 1e-6 * max(1, total) and (fixed or shares):
        _sum_problem(context, named, counted, spoken, total)
    sizes = _largest_remainder(portions, left if portions else 0)
    for name, exact in portions.items():
        if abs(exact - round(exact)) > 1e-6 and name in shares:
            text = f"{100 * shares[name]:g} % of {total:,} is {exact:g}: {sizes[name]:,} agents"
            reader.warn("SF802", text, named[name].span("share"), "a number of agents that the shares divide evenly, or counts")
    return dict.fromkeys(named, 0) | counted | sizes


def _sum_problem(context: Context, named: Named, counted: dict[str, int], spoken: float, total: int) -> None:
    if counted and spoken:
        text = f"shares of {100 * spoken:.6g} % and counts of {sum(counted.values()):,} do not add up to {total:,} agents"
        hint = "leave one persona without share and count; it takes the rest"
    elif counted:
        text = f"the counts sum to {sum(counted.values()):,}, not to the {total:,} agents"
        hint = "leave `agents` out, or one persona without a count; it takes the rest"
    else:
        text = f"the shares sum to {100 * spoken:.6g} %, not 100 %"
        rest = 100 * (1 - spoken)
        hint = f"{rest:.6g} % are missing" if rest > 0 else f"take away {-rest:.6g} %; a persona without a share takes the rest"
    shared = [n for n in named if "share" in named[n].node.entries]
    span = named[shared[-1]].span("share") if shared else named.node.span
    context.reader.add("SF306", text, span, hint)


def _largest_remainder(portions: dict[str, float], total: int) -> dict[str, int]:
    sizes = {n: int(p + 1e-9) for n, p in portions.items()}
    by_rest = sorted(portions, key=lambda n: (round(sizes[n] - portions[n], 9), list(portions).index(n)))
    for name in by_rest[: max(0, min(len(by_rest), total - sum(sizes.values())))]:
        sizes[name] += 1
    return sizes


def _persona(context: Context, name: str, count: int, named: Named, feed: Feed, brought: Collection[str]) -> Persona:
    section: Section = named[name]
    if count == 0 and not any(k in section for k in ("count", "joins")):
        context.reader.warn("SF802", f"no resident is a '{name}'", named.key(name))
    own = platform.feed(context, section["feed"], feed) if "feed" in section else None
    joins = context.ticks(section["joins"], section.span("joins")) if "joins" in section else 0
    leaves = context.ticks(section["leaves"], section.span("leaves")) if "leaves" in section else None
    if leaves is not None and leaves <= joins:
        context.reader.add("SF411", f"they leave at tick {leaves:,}, and join at {joins:,}", section.span("leaves"))
    if "activity" in section.get("traits", {}):
        _activity(context, section["traits"])
    dependent.check(context, section, brought)
    by_topic = {k: _by_topic(context, section.get(k)) for k in ("stance", "susceptibility", "stubbornness")}
    return Persona(
        name=name,
        count=count,
        voice=section.get("voice", ""),
        goals=section.get("goals", ()),
        traits=dict(section.get("traits", {})),
        feed=own,
        engine=section.get("engine"),
        model=section.get("model"),
        joins=joins,
        leaves=leaves,
        **by_topic,
    )


def _activity(context: Context, traits: Named) -> None:
    from simflow.scenario.kinds import Distributed  # noqa: PLC0415 - read a second time, within the range that this trait has

    Distributed(0.0, 1.0).read(traits.node.entries["activity"].value, context.reader)


def _by_topic(context: Context, named: Any) -> dict[str, Any]:
    if not isinstance(named, Named):
        return {}
    return {n: d for n, d in named.items() if context.topic(n, named.key(n))}


def voices(context: Context) -> tuple[Voice, ...]:
    """The voices."""
    population = context.section("population")
    named = population.get("voices") if population else None
    if not isinstance(named, Named):
        return ()
    for section in named.values():
        _by_topic(context, section.get("stance"))
    return tuple(Voice(n, s.get("followers", Voice(n).followers), s.get("about", "")) for n, s in named.items())


def network(context: Context, people: tuple[Person, ...]) -> Network:
    """The follow graph at the start."""
    section = context.section("network")
    base = Network()
    if section is None:
        return base
    made = dataclasses.replace(base, **{k: section[k] for k in ("shape", "links", "rewire") if k in section})
    homophily = section.get("homophily")
    if homophily is not None:
        by = homophily.get("by")
        strength = homophily.get("strength", 0.0)
        if by is not None and by != "persona":
            known = sorted({t for p in context.personas for t in p.traits} | {t for p in people for t in p.traits})
            by = context.name(by, [*known, "persona"], "traits", "SF407", homophily.span("by"))
        elif by is None and strength > 0:
            by = "persona"
        made = dataclasses.replace(made, homophily_by=by, homophily_strength=strength)
    _idle(context, section, made)
    agents = sum(p.count for p in context.personas)
    if made.links >= agents > 0 and "links" in section:
        context.reader.warn(
            "SF810", f"{made.links:,} links for each of {agents:,} agents: everybody follows everybody", section.span("links")
        )
    return _edges(context, section, made)


def _idle(context: Context, section: Section, made: Network) -> None:
    shape = "file" if "edges" in section else made.shape
    for name, shapes in (("rewire", {"small_world"}), ("links", {"small_world", "preferential", "blocks", "configuration"})):
        if name in section and shape not in shapes:
            context.reader.warn("SF808", f"'{name}' has no effect in a graph of shape {shape}", section.key(name), "take it out")


def _edges(context: Context, section: Section, made: Network) -> Network:
    if made.shape == "file" and "edges" not in section:
        context.reader.add("SF307", "`shape: file` needs 'edges'", section.node.span, "for example `edges: edges.csv`")
    if "edges" in section:
        if "shape" in section and made.shape != "file":
            context.reader.add(
                "SF408",
                f"`edges` is a graph of its own, and `shape: {made.shape}` another",
                section.key("edges"),
                "write `shape: file`, or take `edges` out",
            )
            return made
        from simflow.scenario.people.edges import read_edges  # noqa: PLC0415 - few scenarios bring a graph

        return dataclasses.replace(made, shape="file", edges=read_edges(context, section))
    return made
