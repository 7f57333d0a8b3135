"""Which embedder a cell uses: looked up by its name, so that a third party's is found exactly as the built-in one."""

from __future__ import annotations

import importlib.metadata

from simflow.errors import NotFound
from simflow.plan import Cell
from simflow.ports import Embedder

GROUP = "simflow.embedders"


def load(cell: Cell, name: str | None = None) -> Embedder:
    """Make the embedder that the cell names, or `name` instead. Raises NotFound with the known names."""
    wanted = name or cell.models.embedder
    found = {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}
    if wanted not in found:
        known = ", ".join(sorted(found)) or "none: is simflow installed?"
        raise NotFound(f"there is no embedder '{wanted}'", hint=f"there are: {known}")
    made: Embedder = found[wanted].load()(cell)
    return made
