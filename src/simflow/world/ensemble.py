"""Replicates of one cell stacked in one pass: blocks that never touch, each with its own seed in the keys of its draws.

Small societies are bound by the cost of calling numpy, not by the numbers, so that stacking them is several times faster; each
replicate is byte for byte what a run alone gives.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Cell, canonical
from simflow.ports import Progress, Step
from simflow.world import founding, rendering
from simflow.world.draws import I64, Ints
from simflow.world.log import Log, Table, Told
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
        each = zip(self.cells, apart(stacked, log.told()), strict=True)
        return tuple(rendering.step(cell, society, told, founding.roster(cell, society), 0) for cell, (society, told) in each)

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


def apart(stacked: Society, told: Told) -> Iterator[tuple[Society, Told]]:
    """Each replicate's society and log, as if it had run alone."""
    count = int(stacked.replicate.max(initial=-1)) + 1
    local = np.append(stacked.local, -1)  # the last place answers for "nobody"
    kept, row_of = _posts(stacked.posts, stacked, local, count)
    posts, _ = _posts(told.posts, stacked, local, count)
    acts = _parts(told.acts, "actor", ("actor", "target"), stacked, local, count)
    shown = _parts(told.shown, "reader", ("reader", "author"), stacked, local, count)
    changes = _parts(told.changes, "agent", ("agent",), stacked, local, count)
    for number in range(count):
        society = _society(stacked, number, local, kept[number], row_of)
        yield society, Told(posts[number], acts[number], shown[number], changes[number])


def _parts(table: Table, whose: str, agents: tuple[str, ...], stacked: Society, local: Ints, count: int) -> list[Table]:
    """A table by replicate, rows in their order. whose: the column that says whose a row is; agents: columns of rows of the society."""
    order, ends = _order(stacked.replicate[table[whose]], count)
    ordered = {name: local[column[order]] if name in agents else column[order] for name, column in table.items()}
    return [{name: column[begin:end] for name, column in ordered.items()} for begin, end in itertools.pairwise(ends)]


def _order(replicate: Ints, count: int) -> tuple[Ints, list[int]]:
    """(the stable order by replicate, where each begins in it and the last ends)."""
    narrow = replicate.astype(np.int16) if count < 1 << 15 else replicate  # sorted by counting, not by comparing
    return np.argsort(narrow, kind="stable"), [0, *np.cumsum(np.bincount(replicate, minlength=count)).tolist()]


def _posts(posts: Posts, stacked: Society, local: Ints, count: int) -> tuple[list[Posts], I64]:
    """The posts of each replicate, and for each row here the row there."""
    rows = posts.rows
    order, ends = _order(stacked.replicate[rows[:, AUTHOR]], count)
    own = rows.take(order, axis=0)
    whose = np.repeat(np.arange(count), np.diff(ends))
    own[:, AUTHOR] = local[own[:, AUTHOR]]
    own[:, TARGET] = local[own[:, TARGET]]
    own[:, GROUP] = np.where(own[:, GROUP] < 0, -1, own[:, GROUP] - stacked.group_start[whose])
    row_of = np.empty(len(rows), np.int64)
    row_of[order] = np.arange(len(rows)) - np.array(ends)[whose]
    parts = [own[begin:end] for begin, end in itertools.pairwise(ends)]
    return [Posts(part, int(part[-1, TICK]) + 1 if len(part) else 0) for part in parts], row_of


def _society(stacked: Society, number: int, local: Ints, posts: Posts, row_of: I64) -> Society:
    mine = np.flatnonzero(stacked.replicate == number)
    own = {name: getattr(stacked, name)[mine] for name in _ROWS}
    last, member = stacked.last[mine], stacked.member[mine]
    pairs = stacked.mutes[stacked.replicate[stacked.mutes >> 32] == number]
    shown = stacked.shown[stacked.replicate[stacked.shown >> 36] == number]
    pulse = stacked.pulse[stacked.replicate[stacked.posts.column(AUTHOR)[stacked.pulse[:, 1]]] == number]
    fired = stacked.fired[stacked.fired[:, 0] == number].copy()
    fired[:, 0] = 0
    return Society(
        **own,
        follows=local[stacked.follows[mine]].astype(np.int32),
        last=np.concatenate([np.where(last < 0, -1, np.append(row_of, -1)[last]), np.full((1, last.shape[1]), -1)]),
        mutes=np.sort((local[pairs >> 32].astype(np.int64) << 32) | local[pairs & 0xFFFFFFFF]),
        fired=fired,
        limit=stacked.limit,
        member=np.where(member < 0, -1, member - stacked.group_start[number]).astype(np.int32),
        shown=np.sort((local[shown >> 36].astype(np.int64) << 36) | row_of[shown & ROW]),
        pulse=np.stack([pulse[:, 0], row_of[pulse[:, 1]]], axis=1),
        posts=posts,
    )
