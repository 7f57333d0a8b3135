"""What happened, as columns of whole numbers; words and tables are made of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.world.draws import Ints
from simflow.world.posts import Posts

ACTS = {"id": "i8", "tick": "i4", "kind": "i1", "actor": "i4", "parent": "i8", "root": "i8", "target": "i4", "topic": "i2", "event": "i8"}
"""One row an episode; actor and target are rows of the society, -1 stands for none."""
SHOWN = {"tick": "i4", "reader": "i4", "episode": "i8", "author": "i4", "rank": "i2", "topic": "i2", "contribution": "i8", "reaction": "i1"}
"""One row an exposure."""
STANCES = {"tick": "i4", "agent": "i4", "topic": "i2", "stance": "i8", "contributions": "i8", "self_term": "i8", "clip": "i8"}
"""One row a change of stance."""
ARRIVALS = {"tick": "i4", "agent": "i4"}
"""One row an agent that was not there at the start."""


class Columns:
    """Batches of equally named columns, joined when asked for."""

    def __init__(self, schema: dict[str, str]) -> None:
        self.schema = schema
        self._batches: list[dict[str, Ints]] = []

    def add(self, **columns: Any) -> None:
        """Append a batch; a scalar stands for a column of it."""
        size = next(len(c) for c in columns.values() if isinstance(c, np.ndarray))
        if size:
            batch: dict[str, Ints] = {}
            for name, dtype in self.schema.items():
                value = columns[name]
                batch[name] = value.astype(dtype) if isinstance(value, np.ndarray) else np.full(size, value, dtype)
            self._batches.append(batch)

    def joined(self) -> dict[str, npt.NDArray[Any]]:
        """All rows, in the order in which they were added."""
        if not self._batches:
            return {name: np.empty(0, dtype) for name, dtype in self.schema.items()}
        return {name: np.concatenate([batch[name] for batch in self._batches]) for name in self.schema}


@dataclass(slots=True)
class Log:
    """The log of a range of ticks. `posts` holds every post that anything in it refers to."""

    posts: Posts
    acts: Columns = field(default_factory=lambda: Columns(ACTS))
    shown: Columns = field(default_factory=lambda: Columns(SHOWN))
    stances: Columns = field(default_factory=lambda: Columns(STANCES))
    arrivals: Columns = field(default_factory=lambda: Columns(ARRIVALS))
