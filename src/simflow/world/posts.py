"""Posts that can still be read: one row each, in order of tick and, within it, of author and kind.

A row is a place in memory, never an identity; `id` is. All columns are int64 in one table, so that a row is one gather.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simflow.world.draws import I64, Ints

COLUMNS = (
    "id",  # content key of the episode
    "author",  # row of the society
    "tick",
    "topic",  # -1: none of the topics
    "stance",  # expressed, on the grid
    "kind",  # code of `reactions.KINDS`
    "root",
    "heat",  # likes less dislikes, and twice the reposts and quotes
    "relation",  # to the parent's author; 2 without a parent
    "words",  # content key of the episode whose words these are
    "words_kind",
    "event",  # key of the event that the words come from, 0 without
    "person",  # place of a person whose own words these are, -1 without
    "saying",  # which of that person's words
    "boost",  # 1: pushed to followers by the platform; 2: shown to its whole audience at once; 3: a message or in a group; 2 and 3 never in a feed
    "parent",  # content key of what it answers, quotes or shares, -1 without
    "target",  # row of the parent's author, or of whom a message is for; -1 without
    "reports",  # of these words, wherever they were seen
    "group",  # that it was written to, -1 for none
)
(
    ID,
    AUTHOR,
    TICK,
    TOPIC,
    STANCE,
    KIND,
    ROOT,
    HEAT,
    RELATION,
    WORDS,
    WORDS_KIND,
    EVENT,
    PERSON,
    SAYING,
    BOOST,
    PARENT,
    TARGET,
    REPORTS,
    GROUP,
) = range(len(COLUMNS))
PRIVATE = 3
"""Boost of what only its recipient, or a group, is shown."""


class Posts:
    """A growing table, (rows, columns) int64. rows: what is in it already; now: the tick that comes next."""

    def __init__(self, rows: I64 | None = None, now: int = 0) -> None:
        given = np.empty((0, len(COLUMNS)), np.int64) if rows is None else np.array(rows, dtype=np.int64)
        self.table = given
        self.size = len(given)
        self._since = int(given[0, TICK]) if self.size else now
        # First row of each tick from `_since` on.
        self._starts = np.searchsorted(np.ascontiguousarray(given[:, TICK]), np.arange(self._since, now)).astype(np.int64)
        self._marked = len(self._starts)

    @property
    def rows(self) -> I64:
        """The filled part of the table, as a view."""
        return self.table[: self.size]

    def __getitem__(self, name: str) -> I64:
        """A filled column by its name, as a view."""
        return self.column(COLUMNS.index(name))

    def column(self, at: int) -> I64:
        """A filled column, as a view."""
        return self.table[: self.size, at]

    def mark(self, tick: int) -> None:
        """Say that what is appended from now on belongs to `tick`."""
        at = tick - self._since
        if at >= len(self._starts):
            grown = np.empty(max(256, 2 * (at + 1)), np.int64)
            grown[: self._marked] = self._starts[: self._marked]
            self._starts = grown
        self._starts[self._marked : at + 1] = self.size
        self._marked = at + 1

    def first_row(self, ticks: Ints) -> I64:
        """The first row of each of `ticks` or later."""
        if not self._marked:
            return np.zeros(len(ticks), np.int64)
        at = ticks - self._since
        rows = self._starts[np.minimum(np.maximum(at, 0), self._marked - 1)]
        return np.asarray(np.where(at >= self._marked, self.size, rows), dtype=np.int64)

    def span(self, tick: int) -> range:
        """Rows of one tick."""
        first, end = self.first_row(np.array([tick, tick + 1])).tolist()
        return range(first, end)

    def append(self, rows: I64) -> I64:
        """Add rows of the latest tick; their row numbers."""
        need = self.size + len(rows)
        if need > len(self.table):
            grown = np.empty((max(1024, need + need // 2), len(COLUMNS)), np.int64)
            grown[: self.size] = self.rows
            self.table = grown
        self.table[self.size : need] = rows
        self.size = need
        return np.arange(need - len(rows), need)

    def drop_before(self, tick: int) -> int:
        """Forget rows before `tick`; how many there were."""
        cut = int(self.first_row(np.array([tick]))[0])
        if cut:
            self.table = self.table[cut : self.size].copy()
            self.size -= cut
            gone = tick - self._since
            self._starts = self._starts[gone : self._marked] - cut
            self._marked = len(self._starts)
            self._since = tick
        return cut


def blank(count: int) -> npt.NDArray[np.int64]:
    """Rows to be filled: own words, no parent, no event."""
    rows = np.zeros((count, len(COLUMNS)), np.int64)
    rows[:, [PERSON, SAYING, PARENT, TARGET, GROUP]] = -1
    return rows
