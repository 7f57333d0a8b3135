"""The built-in engine: a society that needs no model."""

from __future__ import annotations

from simflow.features import BUILTIN
from simflow.plan import Cell
from simflow.ports import Progress, Recall, State, Step
from simflow.world import founding, rendering
from simflow.world.settings import Settings
from simflow.world.simulation import Simulation
from simflow.world.society import Society

VERSION = "builtin-world/3"


class BuiltinEngine:
    """Opinion dynamics on a social network. See docs/science.md for equations, defaults and their sources.

    cell: the scenario's cell. settings: the engine's own constants, for tests.
    """

    id = VERSION
    needs_recall = False
    features = BUILTIN

    def __init__(self, cell: Cell, settings: Settings | None = None) -> None:
        self.cell = cell
        self.settings = settings or Settings.of(cell)

    def begin(self) -> State:
        """The society before tick 0."""
        return founding.found(self.cell, self.settings).state()

    def advance(self, state: State, start: int, stop: int, *, recall: Recall | None = None, progress: Progress | None = None) -> Step:
        """Ticks [start, stop). Memory has no part in it: `recall` is not used."""
        del recall
        society = Society.load(state, start)
        first = society.count if start else 0
        simulation = Simulation(self.cell, [self.cell.seed], society, self.settings)
        if start == 0:
            simulation.log_opening()
        log = simulation.run(start, stop, progress)
        return rendering.step(self.cell, society, log.told(), founding.roster(self.cell, society), first)
