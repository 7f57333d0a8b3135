"""What one viewer may know of a graph: the claims that follow from the episodes it witnessed, by the slot that they are on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Knowledge(NamedTuple):
    """Claims by slot, those of a slot in order of time. `row` is a claim's number in its graph, `slot` the slot that it is on.

    tick: when it happened. learnt: when the memory had read it. seen: when the viewer witnessed its episode.
    """

    slot: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    tick: npt.NDArray[np.int64]
    learnt: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls,
        slot: npt.NDArray[np.int64],
        row: npt.NDArray[np.int64],
        tick: npt.NDArray[np.int64],
        learnt: npt.NDArray[np.int64],
        seen: npt.NDArray[np.int64],
    ) -> Knowledge:
        """Claims in any order, put in theirs."""
        order = np.lexsort((row, tick, slot))
        return cls(slot[order], row[order], tick[order], learnt[order], seen[order])

    def within(self, until: int, known_at: int | None = None) -> Knowledge:
        """Only what happened before tick `until` and had been learnt by tick `known_at` (None: by now)."""
        keep = self.tick < until
        if known_at is not None:
            keep &= self.learnt <= known_at
        return self._keep(keep)

    def before(self, now: int) -> Knowledge:
        """Only what had been witnessed before tick `now`."""
        return self._keep(self.seen < now)

    def newest(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each slot the tick of the newest claim on it, -1 where there is none."""
        if not len(self.slot):
            return np.full(len(slots), -1, np.int64)
        last = np.searchsorted(self.slot, slots, side="right") - 1
        there = (last >= 0) & (self.slot[np.maximum(last, 0)] == slots)
        return np.where(there, self.tick[np.maximum(last, 0)], -1)

    def rows(self, slot: int) -> npt.NDArray[np.int64]:
        """The claims on a slot."""
        low, high = np.searchsorted(self.slot, [slot, slot + 1])
        return self.row[low:high]

    def _keep(self, mask: npt.NDArray[np.bool_]) -> Knowledge:
        if bool(mask.all()):
            return self
        at = np.flatnonzero(mask)
        return Knowledge(*(column[at] for column in self))
