"""Refuses by name what the engine of a cell cannot do."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from simflow.features import ENGINES
from simflow.plan import Cell
from simflow.scenario.build.context import Context
from simflow.scenario.kinds import Named, Section, did_you_mean
from simflow.scenario.problems import Span


def refuse(context: Context, cell: Cell) -> None:
    """Add a problem for each feature that `cell` needs and its engine does not have. Other packages' engines are asked at plan time."""
    engine = cell.models.engine
    able = ENGINES.get(engine)
    if able is None or engine == "replay":
        if engine == "replay":
            _replayed(context)
        return
    for feature, span in needed(context, cell):
        if feature not in able:
            kind, _, name = feature.partition(":")
            what = f"{kind} '{name}'" if name else kind
            can = ", ".join(sorted(f.partition(":")[2] for f in able if f.startswith(f"{kind}:")))
            context.reader.add("SF501", f"the engine '{engine}' has no {what}", span, f"it has: {can}" if can else None)


def needed(context: Context, cell: Cell) -> Iterator[tuple[str, Span]]:
    """What the cell asks of its engine, with the place that asks for it."""
    top = context.root.node.span
    platform, network = context.section("platform"), context.section("network")
    for action in cell.platform.actions:
        yield f"action:{action}", platform.span("actions") if platform else top
    feed = platform.get("feed") if platform else None
    yield f"feed:{cell.platform.feed.kind}", feed.span("kind") if isinstance(feed, Section) else top
    dynamics = context.section("dynamics")
    yield f"dynamics:{cell.dynamics.model}", dynamics.span("model") if dynamics else top
    language = context.section("language")
    yield f"language:{cell.language.code}", language.span("code") if language else top
    yield f"network:{cell.network.shape}", network.span("shape") if network else top
    named = context.root.get("events")
    for event in cell.events:
        span = named.key(event.name) if isinstance(named, Named) else top
        yield f"event:{event.verb}", span
        if event.when is not None:
            yield "trigger", span
    population = context.section("population")
    if cell.people and population:
        yield "people", population.key("people")


_WORLD = ("population", "network", "platform", "dynamics", "language", "events")


def _replayed(context: Context) -> None:
    for name in _WORLD:
        if name in context.root.node.entries:
            context.reader.add(
                "SF502", f"'{name}' has no effect on a recorded trace", context.root.key(name), "take it out; a trace brings its own world"
            )


MIXED = ("builtin", "llm")
"""Engines that can share one world: the second drives residents of the first."""


def mixed(context: Context, cell: Cell) -> Cell:
    """Settle who acts for each persona: where some speak through a model and others do not, one engine drives both kinds."""
    engines = {p.engine or cell.models.engine for p in cell.personas}
    if engines <= {cell.models.engine}:
        return cell
    if not engines <= set(MIXED):
        population = context.section("population")
        named = population.get("personas") if population else None
        for persona in cell.personas:
            if persona.engine and persona.engine not in MIXED and persona.engine != cell.models.engine and isinstance(named, Named):
                span = named[persona.name].span("engine")
                text = f"the engines '{persona.engine}' and '{cell.models.engine}' cannot share a world"
                context.reader.add("SF501", text, span, f"personas of one scenario can mix {' and '.join(MIXED)}")
        return cell
    personas = tuple(dataclasses.replace(p, engine=p.engine or cell.models.engine) for p in cell.personas)
    return dataclasses.replace(cell, personas=personas, models=dataclasses.replace(cell.models, engine="llm"))


_INSIDE = {"engine": frozenset(ENGINES), "embedder": frozenset({"builtin"}), "extractor": frozenset({"builtin", "llm"})}
"""Parts that ship with this package; others are looked up among the installed ones, which costs more."""


def installed(context: Context, cell: Cell) -> None:
    """Add a problem for each part of `models`, or engine of a persona, that is not installed."""
    section = context.section("models")
    wanted = [(part, getattr(cell.models, part), section.span(part)) for part in _INSIDE] if section else []
    population = context.section("population")
    named = population.get("personas") if population else None
    wanted += [("engine", p.engine, named[p.name].span("engine")) for p in cell.personas if p.engine and isinstance(named, Named)]
    for part, name, span in wanted:
        if name in _INSIDE[part]:
            continue
        from importlib.metadata import entry_points  # noqa: PLC0415 - reads every installed package's list

        known = sorted({entry.name for entry in entry_points(group=f"simflow.{part}s")} | _INSIDE[part])
        if name not in known:
            context.reader.add("SF503", f"no {part} called '{name}' is installed", span, did_you_mean(name, known, f"{part}s"))
