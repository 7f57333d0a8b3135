"""Values that depend on a trait: the trait is there, each of its values has a case, and nothing goes in a circle."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from simflow.plan import Choice, Distribution, Given
from simflow.scenario.build.context import Context
from simflow.scenario.kinds import Named, Section, did_you_mean
from simflow.scenario.problems import Span

DEPENDING = ("traits", "stance", "susceptibility", "stubbornness")


def check(context: Context, persona: Section, own: Collection[str]) -> None:
    """Add a problem for each dependence of a persona that cannot be drawn. own: traits that people of a file bring."""
    traits = persona.get("traits")
    known: dict[str, Distribution] = dict(traits) if isinstance(traits, Named) else {}
    for part in DEPENDING:
        named = persona.get(part)
        if not isinstance(named, Named):
            continue
        for name, found in named.items():
            for given in dependences(found):
                _one(context, given, known, own, named.span(name))
    if isinstance(traits, Named):
        _circles(context, traits, known)


def dependences(found: Distribution) -> Iterator[Given]:
    """The dependences in a distribution, nested ones too."""
    if isinstance(found, Given):
        yield found
        for then in (*(c.then for c in found.cases), found.otherwise):
            if then is not None:
                yield from dependences(then)


def _one(context: Context, given: Given, known: dict[str, Distribution], own: Collection[str], span: Span) -> None:
    if given.trait not in own and context.name(given.trait, list(known), "traits", "SF407", span) is None:
        return
    on = known.get(given.trait)
    if isinstance(on, Choice):
        words = [c.word for c in given.cases if c.word is not None]
        options = [value for value, _ in on.options]
        for word in words:
            if word not in options and given.trait not in own:
                hint = did_you_mean(word, options, f"values of '{given.trait}'")
                context.reader.add("SF419", f"'{given.trait}' is never '{word}'", span, hint)
        left = [o for o in options if o not in words and not _inside(o, given)]
        if left and given.otherwise is None:
            text = f"'{given.trait}' may be {' or '.join(repr(o) for o in left[:4])}, and there is no case for that"
            context.reader.add("SF419", text, span, "add the case, or `else: ...`")
    elif given.otherwise is None and not any(c.word is None for c in given.cases):
        text = f"'{given.trait}' is a number here, and the cases are words"
        context.reader.add("SF419", text, span, "write ranges, 18..34, or add `else: ...`")


def _inside(option: str, given: Given) -> bool:
    try:
        value = float(option)
    except ValueError:
        return False
    del value
    return any(c.word is None for c in given.cases)  # outside all cases, a number takes the nearest


def _circles(context: Context, traits: Named, known: dict[str, Distribution]) -> None:
    after = {name: [g.trait for g in dependences(found) if g.trait in known] for name, found in known.items()}
    told: set[str] = set()
    for name in known:
        if name in told or not (circle := _way(after, name, name)):
            continue
        told |= set(circle)
        text = f"these depend on each other: {' -> '.join(circle)}"
        context.reader.add("SF419", text, traits.key(name), "give one of them a distribution of its own")


def _way(after: dict[str, list[str]], start: str, goal: str) -> list[str]:
    """Names from `start` over at least one step to `goal`; empty if there is no such way."""
    ways, seen = [[start]], {start}
    while ways:
        way = ways.pop()
        for name in after[way[-1]]:
            if name == goal:
                return [*way, name]
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []
