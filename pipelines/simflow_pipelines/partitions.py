"""Partitions of a scenario: cells beside windows.

Two static dimensions, tried against the alternatives in docs/dagster.md: a window is a number, not a date, so that its key reads `003`;
a range of windows of a cell is one run; a cell is never asked for a window before the ones that it rests on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg

from simflow.plan import Cell, Plan

CELL, WINDOW = "cell", "window"


def window_name(number: int) -> str:
    """The partition key of a window in its dimension: `003`."""
    return f"{number:03d}"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One partition: a cell's name and a window's number. Its key is `<cell>|<window>`, as Dagster joins two dimensions."""

    cell: str
    window: int

    @property
    def key(self) -> str:
        """The partition key."""
        return f"{self.cell}|{window_name(self.window)}"

    @classmethod
    def of(cls, key: str) -> Place:
        """The inverse of `key`."""
        cell, _, window = key.rpartition("|")
        return cls(cell, int(window))


def partitions(plan: Plan) -> dg.MultiPartitionsDefinition:
    """All cells beside all windows; a cell with fewer windows than another leaves its last partitions empty."""
    windows = max(len(cell.windows) for cell in plan.cells)
    return dg.MultiPartitionsDefinition(
        {
            CELL: dg.StaticPartitionsDefinition([cell.name for cell in plan.cells]),
            WINDOW: dg.StaticPartitionsDefinition([window_name(n) for n in range(windows)]),
        }
    )


def by_cell(keys: Iterable[str], plan: Plan) -> list[tuple[Cell, list[int]]]:
    """The windows of each cell among partition keys, in order, cells in the order of the plan."""
    wanted: dict[str, list[int]] = {}
    for place in sorted(Place.of(key) for key in keys):
        wanted.setdefault(place.cell, []).append(place.window)
    return [(cell, [n for n in wanted[cell.name] if n < len(cell.windows)]) for cell in plan.cells if cell.name in wanted]


def range_tags(cell: Cell, first: int, last: int) -> dict[str, str]:
    """Run tags that ask for windows first..last of a cell in one run."""
    return {
        "dagster/asset_partition_range_start": Place(cell.name, first).key,
        "dagster/asset_partition_range_end": Place(cell.name, last).key,
    }
