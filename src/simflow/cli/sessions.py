"""Who will be awake when: sessions depend on the seed and on events alone, so they are known before a run, whatever anybody will say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simflow.plan import Cell
from simflow.world import founding
from simflow.world.settings import Settings
from simflow.world.simulation import Simulation
from simflow.world.society import Society


class _Sleepwalk(Simulation):
    """A simulation in which residents wake up and do nothing. Events that wait for what is said do not happen."""

    def __init__(self, cell: Cell, ticks: int) -> None:
        settings = Settings.of(cell)
        society = Society.load(founding.found(cell, settings).state(), 0)
        super().__init__(cell, [cell.seed], society, settings)
        self.counts = np.zeros((ticks, len(cell.personas)), np.int64)

    def tick(self, tick: int) -> None:
        """Count sessions by persona."""
        self.happenings.at(tick)
        awake = self.society.persona[self._active(tick, self.happenings.draws)]
        self.counts[tick] = np.bincount(awake[awake >= 0], minlength=self.counts.shape[1])


def sessions(cell: Cell, ticks: int) -> npt.NDArray[np.int64]:
    """Sessions of a generated world before tick `ticks`, shape (ticks, personas)."""
    walk = _Sleepwalk(cell, ticks)
    walk.run(0, ticks)
    return walk.counts
