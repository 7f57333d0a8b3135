"""Posts that can still be read: one row each, in order of tick and, within it, of id. Rows are places in memory, never identities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.world.draws import I64, Ints

COLUMNS: dict[str, str] = {
    "id": "i8",  # content key of the episode
    "author": "i4",
    "tick": "i4",
    "topic": "i2",  # -1: none of the topics
    "stance": "i8",  # expressed, on the grid
    "kind": "i1",
    "root": "i8",
    "score": "i4",  # likes less dislikes
    "shares": "i4",  # reposts and quotes
    "relation": "i1",  # to the parent's author; 2 without a parent
    "words": "i8",  # content key of the episode whose words these are
    "words_kind": "i1",
    "event": "i8",  # key of the event's name, 0 without
    "person": "i4",  # place of a person whose own words these are, -1 without
    "saying": "i4",  # which of that person's words
    "boost": "i1",  # 1: pushed to followers by the platform; 2: already shown to its whole audience
}
"""Column -> dtype."""


class Posts:
    """Growable columns."""

    def __init__(self, columns: dict[str, npt.NDArray[Any]] | None = None) -> None:
        given = columns or {name: np.empty(0, dtype) for name, dtype in COLUMNS.items()}
        self.size = len(given["id"])
        self._data = {name: np.array(given[name], dtype=dtype) for name, dtype in COLUMNS.items()}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The filled part of a column, as a view."""
        return self._data[name][: self.size]

    def append(self, rows: dict[str, Ints]) -> I64:
        """Add rows given as one array a column; their row numbers."""
        count = len(rows["id"])
        need = self.size + count
        if need > len(self._data["id"]):
            room = max(1024, need + need // 2)
            for name, column in self._data.items():
                grown = np.empty(room, column.dtype)
                grown[: self.size] = column[: self.size]
                self._data[name] = grown
        for name, column in self._data.items():
            column[self.size : need] = rows[name]
        self.size = need
        return np.arange(need - count, need)

    def first_row(self, ticks: Ints) -> I64:
        """The first row of each of `ticks` or later."""
        return np.searchsorted(self["tick"], ticks, side="left")

    def drop_before(self, tick: int) -> int:
        """Forget rows before `tick`; how many there were."""
        cut = int(self.first_row(np.array([tick]))[0])
        if cut:
            for name, column in self._data.items():
                self._data[name] = column[cut : self.size].copy()
            self.size -= cut
        return cut

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The filled part of all columns, copied."""
        return {name: self[name].copy() for name in COLUMNS}
