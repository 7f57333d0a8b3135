"""Warns of what is written and changes nothing, or does more than is meant."""

from __future__ import annotations

from collections.abc import Iterator

from simflow.plan import Cell
from simflow.scenario.build.context import Context
from simflow.scenario.kinds import Named, Section
from simflow.scenario.problems import Span

READS = {"opinion": "topic", "attitude": "agent", "influence": "agent"}
"""Relation kinds that the built-in extractor and the rules find, and what each is on; beside these, kinds towards declared entities."""


def warn(context: Context, cell: Cell) -> None:
    """Add a warning for each such place."""
    _unread(context, cell)
    _unspoken(context, cell)
    _twice(context)


def _unread(context: Context, cell: Cell) -> None:
    section = context.section("extract")
    named = section.get("relations") if section else None
    if not isinstance(named, Named) or cell.models.extractor != "builtin":
        return
    for kind in cell.extract.relations:
        if kind.on in {"agent", "topic"} and READS.get(kind.name) != kind.on:
            known = ", ".join(f"{name} (on: {on})" for name, on in READS.items())
            hint = f"it finds {known}, and kinds towards `entities`; a model reads any: `models: {{extractor: llm}}`"
            text = f"the built-in extractor finds no '{kind.name}' on {'an agent' if kind.on == 'agent' else 'a topic'}: there will be none"
            context.reader.warn("SF814", text, named.key(kind.name), hint)


def _unspoken(context: Context, cell: Cell) -> None:
    population = context.section("population")
    named = population.get("personas") if population else None
    if not isinstance(named, Named):
        return
    for persona in cell.personas:
        section = named[persona.name]
        if persona.model and (persona.engine or cell.models.engine) == "builtin" and isinstance(section, Section):
            text = f"'{persona.name}' does not act through a model, so that its 'model' has no effect"
            context.reader.warn("SF808", text, section.key("model"), "add `engine: llm`")


def _twice(context: Context) -> None:
    seen: dict[str, str] = {}
    for what, word, span in _words(context):
        other = seen.setdefault(word.casefold(), what)
        if other != what:
            text = f"'{word}' means {other} and {what}: a text that has it speaks of both"
            context.reader.warn("SF815", text, span.within(word), "let one of them be known by other words")


def _words(context: Context) -> Iterator[tuple[str, str, Span]]:
    topics, extract = context.root.get("topics"), context.section("extract")
    if isinstance(topics, Named):
        for name, section in topics.items():
            yield f"the topic '{name}'", name, topics.key(name)
            for word in section.get("words", ()):
                yield f"the topic '{name}'", word, section.span("words")
    entities = extract.get("entities") if extract else None
    for kind, section in entities.items() if isinstance(entities, Named) else ():
        for name, words in section.get("names", ()):
            for word in (name, *words):
                yield f"the {kind} '{name}'", word, section.span("names")
