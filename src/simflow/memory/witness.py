"""What an agent has witnessed: its own acts and what it was shown. The boundary of what it may remember."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

NEVER = np.iinfo(np.int32).max


class Seen(NamedTuple):
    """Episodes of one agent, sorted by id, with the first tick at which it witnessed each."""

    episodes: npt.NDArray[np.int64]
    ticks: npt.NDArray[np.int32]

    def before(self, tick: int) -> npt.NDArray[np.int64]:
        """Episodes witnessed before `tick`, sorted."""
        return self.episodes[self.ticks < tick]


class Witness:
    """Who witnessed what, when. A message also counts as witnessed by the agent that it is addressed to."""

    def __init__(self, episodes: pa.Table, exposures: pa.Table) -> None:
        told = episodes.filter(pa.compute.and_(pa.compute.equal(episodes["kind"], "message"), pa.compute.is_valid(episodes["target"])))
        self._who = np.concatenate([_column(episodes, "actor"), _column(told, "target"), _column(exposures, "reader")]).astype(np.int32)
        self._what = np.concatenate([_column(episodes, "episode"), _column(told, "episode"), _column(exposures, "episode")])
        self._when = np.concatenate([_column(episodes, "tick"), _column(told, "tick"), _column(exposures, "tick")]).astype(np.int32)
        order = np.lexsort((self._when, self._what, self._who))
        self._who, self._what, self._when = self._who[order], self._what[order], self._when[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = (self._who[1:] != self._who[:-1]) | (self._what[1:] != self._what[:-1])
        self._who, self._what, self._when = self._who[first], self._what[first], self._when[first]

    def seen(self, agent: int) -> Seen:
        """Everything that an agent ever witnessed."""
        low, high = np.searchsorted(self._who, np.array([agent, agent + 1], np.int32))
        return Seen(self._what[low:high], self._when[low:high])


def _column(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = table[name].to_numpy().astype(np.int64)
    return values
