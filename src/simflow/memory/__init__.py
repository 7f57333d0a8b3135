"""Vectors, claims, edges, persona states, recall and explain: what agents remember and what it rests on.

`open(run, as_of=...)` gives a `MemoryView`; everybody who asks a run's memory asks there. It is imported when it is used, because the
parts that build memories need none of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simflow.memory.facade import MemoryView
    from simflow.memory.facade import open_memory as open  # noqa: A004 - `simflow.memory.open(run)` is what it is called

__all__ = ["MemoryView", "open"]


def __getattr__(name: str) -> Any:
    if name not in __all__:  # also how the import machinery asks for submodules
        raise AttributeError(f"module 'simflow.memory' has no attribute '{name}'")
    facade = importlib.import_module("simflow.memory.facade")
    return facade.open_memory if name == "open" else facade.MemoryView
