"""A whole cell from a composed tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simflow.plan import Cell, Person, Replay
from simflow.scenario import keys
from simflow.scenario.build import effects, events, memory, people, platform, study
from simflow.scenario.build.context import Context
from simflow.scenario.build.features import installed, mixed, refuse
from simflow.scenario.kinds import Invalid, Named, Reader, Section
from simflow.scenario.nodes import Items, Node, Table


def build(tree: Table, folder: Path, reader: Reader, *, variant: str = "base", sweep: Mapping[str, Any] | None = None) -> Cell | None:
    """The cell that a tree means, with the seed of its first repetition; None if there is nothing to build from.

    Problems go to `reader`. A cell is also built when there are some, so that all are found; it is then not to be used.
    """
    root = keys.ROOT.read(tree, reader)
    if isinstance(root, Invalid):
        return None
    assert isinstance(root, Section)
    context = Context(reader, root, folder)
    replay, recorded = _recording(context)
    clock = context.section("clock")
    context.lasting = "replay" not in root.node.entries or replay is not None or (clock is not None and "ticks" in clock)
    context.clock = platform.clock(context, recorded)
    context.topics = people.topics(context)
    residents = _people(context)
    context.residents = frozenset(p.id for p in residents)
    shown = platform.platform(context)
    replayed = replay is not None or "replay" in root.node.entries
    context.personas = () if replayed else people.personas(context, residents, shown.feed)
    context.voices = people.voices(context)
    if not context.topics and not (replay and replay.topic_by) and "topics" not in root.node.entries:
        reader.add("SF307", "a scenario needs 'topics'", tree.span, "for example `topics: {water tariff: A plan to raise water bills.}`")
    elif not context.topics and isinstance(root.get("topics"), Named):
        reader.add("SF307", "there is no topic", root.span("topics"), "for example `topics: {water tariff: A plan to raise water bills.}`")
    experiment = context.section("experiment")
    cell = Cell(
        scenario=root.get("scenario", ""),
        variant=variant,
        sweep=dict(sweep or {}),
        seed=experiment.get("seed", 1) if experiment else 1,
        topics=context.topics,
        personas=context.personas,
        people=residents,
        voices=context.voices,
        network=people.network(context, residents),
        platform=platform.grouped(context, shown),
        dynamics=platform.dynamics(context),
        language=platform.language(context),
        clock=context.clock,
        events=events.events(context, shown.feed),
        memory=memory.memory(context),
        extract=memory.extract(context),
        models=memory.models(context, replay=replayed),
        replay=replay,
        about=root.get("about", ""),
        owner=root.get("owner"),
        checks=study.checks(context, "checks"),
        patterns=study.checks(context, "patterns"),
        ask=study.asks(context),
        limits=study.limits(context),
        schedule=study.schedule(context),
        outputs=study.outputs(context),
        source=places(tree),
    )
    cell = mixed(context, cell)
    installed(context, cell)
    refuse(context, cell)
    events.weigh(context, cell)
    effects.warn(context, cell)
    return cell


def _recording(context: Context) -> tuple[Replay | None, int | None]:
    if "replay" not in context.root:
        return None, None
    from simflow.scenario.build.recording import recording  # noqa: PLC0415 - brings sqlite3 and csv, which few scenarios need

    return recording(context)


def _people(context: Context) -> tuple[Person, ...]:
    population = context.section("population")
    section = population.get("people") if population else None
    if section is None:
        return ()
    from simflow.scenario.people.residents import residents  # noqa: PLC0415 - few scenarios bring people

    return residents(context, section)


def places(tree: Table) -> dict[str, str]:
    """Dotted key -> `file:line` for everything that is written."""
    found: dict[str, str] = {}

    def walk(node: Node, path: str) -> None:
        if isinstance(node, Table):
            for entry in node:
                here = f"{path}.{entry.name}" if path else entry.name
                found[here] = entry.key.span.place
                walk(entry.value, here)
        elif isinstance(node, Items):
            for number, item in enumerate(node.items):
                found[f"{path}.{number}"] = item.span.place
                walk(item, f"{path}.{number}")

    walk(tree, "")
    return found
