"""Replicates of one cell stacked in one pass: blocks that never touch, each with its own seed in the keys of its draws.

Small societies are bound by the cost of calling numpy, not by the numbers, so that stacking them is several times faster; each
replicate is byte for byte what a run alone gives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Cell, canonical
from simflow.ports import Progress, Step
from simflow.world import founding, rendering
from simflow.world.draws import I64, Ints
from simflow.world.log import Columns, Log
from simflow.world.posts import AUTHOR, GROUP, TARGET, TICK, Posts
from simflow.world.settings import Settings
from simflow.world.simulation import Simulation
from simflow.world.society import AGENT_COLUMNS, ROW, Society

_ROWS = tuple(name for name in AGENT_COLUMNS if name not in {"last", "follows", "mutes", "fired", "limit", "member", "shown", "pulse"})


class Ensemble:
    """Cells that differ in nothing but the seed, advanced together from tick 0."""

    def __init__(self, cells: Sequence[Cell], settings: Settings | None = None) -> None:
        if not cells:
            raise BadInput("an ensemble needs a cell")
        for cell in cells[1:]:
            if canonical(dataclasses.replace(cell, seed=cells[0].seed)) != canonical(cells[0]):
                raise BadInput(
                    f"'{cell.name}' differs from '{cells[0].name}' in more than its seed", hint="stack replicates of one variant"
                )
        self.cells = tuple(cells)
        self.settings = settings or Settings.of(self.cells[0])

    def run(self, stop: int, progress: Progress | None = None) -> tuple[Step, ...]:
        """Ticks [0, stop) of each cell: what `BuiltinEngine` returns for it, in the order of the cells."""
        stacked, log = self.simulate(stop, progress)
        steps = []
        for number, cell in enumerate(self.cells):
            society, own = alone(stacked, log, number)
            steps.append(rendering.step(cell, society, own, founding.roster(cell, society), 0))
        return tuple(steps)

    def simulate(self, stop: int, progress: Progress | None = None) -> tuple[Society, Log]:
        """The stacked society at `stop` and the stacked log, without words and tables."""
        stacked = stack([founding.found(cell, self.settings) for cell in self.cells])
        simulation = Simulation(self.cells[0], [cell.seed for cell in self.cells], stacked, self.settings)
        simulation.log_opening()
        return stacked, simulation.run(0, stop, progress)


def stack(societies: Sequence[Society]) -> Society:
    """One society of several at tick 0, block after block."""
    sizes = [one.count for one in societies]
    starts = np.cumsum(sizes) - sizes
    width = max(one.follows.shape[1] for one in societies)
    arrays = {name: np.concatenate([getattr(one, name) for one in societies]) for name in _ROWS}
    follows = [
        np.pad(np.where(one.follows < 0, -1, one.follows + start), ((0, 0), (0, width - one.follows.shape[1])), constant_values=-1)
        for one, start in zip(societies, starts.tolist(), strict=True)
    ]
    most = np.array([max(one.member.shape[1], int(one.member.max(initial=-1)) + 1) for one in societies])
    begin = (np.cumsum(most) - most).astype(np.int32)
    return Society(
        **arrays,
        follows=np.concatenate(follows).astype(np.int32),
        last=np.full((sum(sizes) + 1, societies[0].last.shape[1]), -1, np.int64),
        mutes=np.empty(0, np.int64),
        fired=np.empty((0, 3), np.int64),
        limit=societies[0].limit,
        member=np.concatenate([np.where(one.member < 0, -1, one.member + first) for one, first in zip(societies, begin, strict=True)]),
        shown=np.empty(0, np.int64),
        pulse=np.empty((0, 2), np.int64),
        posts=Posts(),
        replicate=np.repeat(np.arange(len(sizes)), sizes).astype(np.int32),
        local=np.concatenate([np.arange(size) for size in sizes]).astype(np.int32),
        group_start=begin,
    )


def alone(stacked: Society, log: Log, number: int) -> tuple[Society, Log]:
    """One replicate's society and log, as if it had run alone."""
    mine = np.flatnonzero(stacked.replicate == number)
    local = np.append(stacked.local, -1)  # the last place answers for "nobody"
    own = {name: getattr(stacked, name)[mine] for name in _ROWS}
    posts, row_of = _posts(stacked.posts, stacked, local, number)
    last, member = stacked.last[mine], stacked.member[mine]
    readers = np.isin(stacked.mutes >> 32, mine)
    pairs = stacked.mutes[readers]
    fired = stacked.fired[stacked.fired[:, 0] == number].copy()
    fired[:, 0] = 0
    society = Society(
        **own,
        follows=local[stacked.follows[mine]].astype(np.int32),
        last=np.concatenate([np.where(last < 0, -1, row_of[last]), np.full((1, last.shape[1]), -1)]),
        mutes=np.sort((local[pairs >> 32].astype(np.int64) << 32) | local[pairs & 0xFFFFFFFF]),
        fired=fired,
        limit=stacked.limit,
        member=np.where(member < 0, -1, member - stacked.group_start[number]).astype(np.int32),
        shown=_numbers(stacked, row_of, local, number),
        pulse=_pulse(stacked.pulse, row_of),
        posts=posts,
    )
    all_posts, row_of = _posts(log.posts, stacked, local, number)
    apart = Log(all_posts)
    for name, agents in (("deeds", ("actor", "target")), ("views", ("reader",)), ("stances", ("agent",))):
        columns: Columns = getattr(log, name)
        rows = columns.joined()
        keep = stacked.replicate[rows[agents[0]]] == number
        rows = {n: column[keep] for n, column in rows.items()} | {n: local[rows[n][keep]] for n in agents}
        if name == "views":
            rows["row"] = row_of[rows["row"]]
        getattr(apart, name).add(int(keep.sum()), **rows)
    for tick, readers, *parts in log.moves:
        keep = stacked.replicate[readers] == number
        apart.moves.append((tick, local[readers[keep]], parts[0][keep], parts[1][keep], parts[2][keep], parts[3][keep]))
    return society, apart


def _numbers(stacked: Society, row_of: I64, local: Ints, number: int) -> I64:
    reader = stacked.shown >> 36
    mine = stacked.replicate[reader] == number
    return np.sort((local[reader[mine]].astype(np.int64) << 36) | row_of[stacked.shown[mine] & ROW])


def _pulse(pulse: I64, row_of: I64) -> I64:
    row = row_of[pulse[:, 1]]
    return np.ascontiguousarray(np.stack([pulse[:, 0], row], axis=1)[row >= 0])


def _posts(posts: Posts, stacked: Society, local: Ints, number: int) -> tuple[Posts, I64]:
    """The posts of one replicate, and the row there of each row here (-1: of another)."""
    rows = posts.rows
    keep = stacked.replicate[rows[:, AUTHOR]] == number
    own = rows[keep]
    own[:, AUTHOR] = local[own[:, AUTHOR]]
    own[:, TARGET] = local[own[:, TARGET]]
    own[:, GROUP] = np.where(own[:, GROUP] < 0, -1, own[:, GROUP] - stacked.group_start[number])
    row_of = np.where(keep, np.cumsum(keep) - 1, -1)
    return Posts(own, int(own[-1, TICK]) + 1 if len(own) else 0), row_of
