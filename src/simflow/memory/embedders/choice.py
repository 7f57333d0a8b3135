"""Which embedder a cell uses: looked up by its name, so that a third party's is found exactly as the built-in one."""

from __future__ import annotations

import importlib.metadata

from simflow.errors import NotFound
from simflow.plan import Cell
from simflow.ports import Embedder

GROUP = "simflow.embedders"


def load(cell: Cell) -> Embedder:
    """Make the embedder that the cell names. Raises NotFound with the known names."""
    return named(cell.models.embedder, cell)


def named(name: str, cell: Cell | None = None) -> Embedder:
    """Make an embedder by name, for a cell or for texts that belong to none. Raises NotFound with the known names."""
    found = {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join(sorted(found)) or "none: is simflow installed?"
        raise NotFound(f"there is no embedder '{name}'", hint=f"there are: {known}")
    made: Embedder = found[name].load()(cell or Cell("no scenario", "base", {}, 0, topics=()))
    return made
