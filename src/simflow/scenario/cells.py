"""Cells: each variant x each combination of sweep values x each seed, every one of them resolved and checked."""

from __future__ import annotations

import dataclasses
import itertools
import math
from pathlib import Path

from simflow.plan import Cell
from simflow.scenario.build import build
from simflow.scenario.build.events import equations
from simflow.scenario.compose import Composer, Filler
from simflow.scenario.kinds import Reader, shown
from simflow.scenario.nodes import Entry, Items, Node, Scalar, Table, at, plain
from simflow.scenario.problems import Problem

MAX_CELLS = 20_000
_FIXED = frozenset({"scenario", "from", "experiment", "schedule", "owner"})
"""What a variant cannot change."""


def cells(tree: Table, folder: Path, reader: Reader) -> list[Cell]:
    """All cells of a composed tree, in the order of variants, sweep values, seeds."""
    problems = reader.problems
    experiment = at(tree, ("experiment",))
    variants = _variants(tree, problems)
    axes = _sweeps(tree, problems)
    repeats = _repeats(experiment)
    count = len(variants) * math.prod(len(axis) for axis in axes) * repeats
    if count > MAX_CELLS:
        where = experiment.span if experiment else tree.span
        problems.append(Problem("SF603", f"{count:,} cells; at most {MAX_CELLS:,}", where, "fewer repeats, variants or sweep values"))
        return []
    made: list[Cell] = []
    used: set[str] = set()
    bare = dataclasses.replace(tree, entries={k: v for k, v in tree.entries.items() if k != "vars"})
    for (variant, changes), values in itertools.product(variants, map(list, itertools.product(*axes))):
        composer = Composer(problems)
        resolved = composer.override(composer.override(tree, changes), values)
        variables = at(resolved, ("vars",))
        filler = Filler({e.name: e.value for e in variables} if isinstance(variables, Table) else {}, problems)
        without = dataclasses.replace(resolved, entries={k: v for k, v in resolved.entries.items() if k not in {"vars", "experiment"}})
        filled = filler.fill(without)
        assert isinstance(filled, Table)
        used |= filler.used
        if "experiment" in bare.entries:
            filled = dataclasses.replace(filled, entries={**filled.entries, "experiment": bare.entries["experiment"]})
        sweep = {entry.name: plain(entry.value) for entry in values}
        cell = build(filled, folder, reader, variant=variant, sweep=sweep)
        if cell is not None:
            made += [dataclasses.replace(cell, seed=cell.seed + n) for n in range(repeats)]
    _unused(tree, used, problems)
    _names(tree, made, problems)
    _worded(dict(variants), made, problems)
    return made


def _variants(tree: Table, problems: list[Problem]) -> list[tuple[str, list[Entry]]]:
    found = at(tree, ("experiment", "variants"))
    if not isinstance(found, Table) or not found.entries:
        return [("base", [])]
    return [(e.name, _allowed(e.value, problems)) for e in found if isinstance(e.value, Table)] or [("base", [])]


def _allowed(changes: Table, problems: list[Problem]) -> list[Entry]:
    kept = []
    for change in changes:
        if change.name.split(".")[0] in _FIXED:
            what = f"'{change.name.split('.')[0]}' cannot differ between variants"
            problems.append(Problem("SF602", what, change.key.span, "it is the same for the whole scenario"))
        else:
            kept.append(change)
    return kept


def _sweeps(tree: Table, problems: list[Problem]) -> list[list[Entry]]:
    found = at(tree, ("experiment", "sweep"))
    if not isinstance(found, Table):
        return []
    axes: list[list[Entry]] = []
    for entry in found:
        if not isinstance(entry.value, Items) or not entry.value.items or not _allowed(Table({entry.name: entry}, found.span), problems):
            continue
        seen: set[str] = set()
        for item in entry.value.items:
            if repr(plain(item)) in seen:
                problems.append(Problem("SF604", f"{shown(item)} is swept twice", item.span, "take one out"))
            seen.add(repr(plain(item)))
        axes.append([Entry(entry.key, item) for item in entry.value.items])
    return axes


def _repeats(experiment: Node | None) -> int:
    found = at(experiment, ("repeats",)) if experiment is not None else None
    value = found.value if isinstance(found, Scalar) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 100_000 else 1


def _unused(tree: Table, used: set[str], problems: list[Problem]) -> None:
    variables = at(tree, ("vars",))
    if isinstance(variables, Table):
        for entry in variables:
            if entry.name not in used:
                text = f"the variable '{entry.name}' is never used"
                problems.append(Problem("SF806", text, entry.key.span, f"write ${{{entry.name}}} where it should stand", "warning"))


def _worded(variants: dict[str, list[Entry]], made: list[Cell], problems: list[Problem]) -> None:
    # Two wordings of one announcement are a natural thing to compare, and one that equations cannot tell apart.
    told = set()
    for cell in made:
        first = {e.name: e for e in made[0].events}
        for event in cell.events:
            same = first.get(event.name, event)
            worded = event.text != same.text and event == dataclasses.replace(same, text=event.text) and event.verb in {"post", "broadcast"}
            change = next((e for e in variants.get(cell.variant, ()) if e.name.startswith(f"events.{event.name}.")), None)
            if worded and change is not None and (cell.variant, event.name) not in told and equations(cell):
                told.add((cell.variant, event.name))
                text = f"'{cell.variant}' changes the words of '{event.name}' and not its stance, and words alone move nobody"
                hint = f"add `events.{event.name}.stance:`, or let a model speak for residents (`models.engine: llm`)"
                problems.append(Problem("SF813", text, change.key.span, hint, "warning"))


def _names(tree: Table, made: list[Cell], problems: list[Problem]) -> None:
    # Folders of runs are named after cells: names that differ only in signs or case would share one.
    seen: dict[str, Cell] = {}
    for cell in made:
        other = seen.setdefault(cell.name, cell)
        if other is cell:
            continue
        found = at(tree, ("experiment", "variants"))
        if other.variant != cell.variant and isinstance(found, Table):
            text, span = f"'{cell.variant}' and '{other.variant}' would be the same name in a path", found.entries[cell.variant].key.span
        else:
            text, span = f"two cells would both be called '{cell.name}'", (at(tree, ("experiment",)) or tree).span
        problems.append(Problem("SF605", text, span, "rename one"))
        return
