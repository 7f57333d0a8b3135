"""Small worlds for the tests of the built-in engine."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from simflow.plan import Cell, Clock, Network, Normal, Persona, Topic
from simflow.ports import Step
from simflow.world.builtin import BuiltinEngine
from simflow.world.draws import grid
from simflow.world.population import NEVER
from simflow.world.posts import Posts
from simflow.world.settings import Settings
from simflow.world.society import Society

TABLES = ("agents", "episodes", "exposures", "turns")


def make_cell(
    agents: int = 60, ticks: int = 60, topics: Sequence[str] = ("water tariff", "council trust"), seed: int = 7, **changes: Any
) -> Cell:
    third = agents // 3
    personas = (
        Persona("pensioner", third, stance={topics[0]: Normal(-0.5, 0.3)}),
        Persona("renter", agents - 2 * third),
        Persona("engineer", third, stance={topics[0]: Normal(0.6, 0.2)}),
    )
    given = {"personas": personas, "clock": Clock(ticks=ticks), "network": Network(links=5)} | changes
    return Cell("test", "base", {}, seed, tuple(Topic(t) for t in topics), **given)


def run(cell: Cell, cuts: Sequence[int] | None = None, settings: Settings | None = None) -> Step:
    """All ticks of a cell, in one go or cut at ticks; tables joined, state at the end."""
    engine = BuiltinEngine(cell, settings)
    state = engine.begin()
    edges = sorted({0, cell.clock.ticks, *(cuts or ())})
    steps = []
    for start, stop in itertools.pairwise(edges):
        steps.append(engine.advance(state, start, stop))
        state = steps[-1].state
    return Step(
        *(pa.concat_tables([getattr(s, name) for s in steps]).combine_chunks() for name in TABLES),
        state=state,
        truth={name: pa.concat_tables([s.truth[name] for s in steps]).combine_chunks() for name in steps[0].truth},
    )


def difference(one: Step, other: Step) -> str | None:
    """Name of the first table or array in which two steps differ, in any bit."""
    for name in TABLES:
        if not getattr(one, name).combine_chunks().equals(getattr(other, name).combine_chunks()):
            return name
    for name in one.truth:
        if not one.truth[name].combine_chunks().equals(other.truth[name].combine_chunks()):
            return f"truth/{name}"
    if set(one.state) != set(other.state):
        return "state"
    for name, array in one.state.items():
        twin = other.state[name]
        if array.dtype != twin.dtype or array.shape != twin.shape or array.tobytes() != twin.tobytes():
            return f"state/{name}"
    return None


def columns(table: pa.Table) -> dict[str, np.ndarray]:
    """Columns without nulls as numpy arrays; with nulls as object arrays."""
    return {name: np.array(table[name].to_pylist()) for name in table.column_names}


def crowd(stances: np.ndarray, **changes: Any) -> Society:
    """A society that only holds opinions, (n, topics) in -1..1: fully open, unbounded, without anchor."""
    n, topics = stances.shape
    fields = {f.name: np.zeros(0) for f in dataclasses.fields(Society) if f.default_factory is dataclasses.MISSING}
    fields |= {
        "persona": np.zeros(n, np.int16),
        "x": grid(stances),
        "x0": grid(stances),
        "susceptibility": np.ones((n, topics)),
        "stubbornness": np.zeros((n, topics)),
        "confidence": np.full(n, 9.0),
        "rejection": np.full(n, 9.0),
        "contrarian": np.zeros(n, np.int8),
        "authority": np.ones(n),
        "left": np.full(n, NEVER),
        "posts": Posts(),
    }
    return Society(**(fields | changes))
