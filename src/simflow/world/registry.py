"""Who is who: rows of the society by replicate and by readable id, and those who arrive."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Cell, Event
from simflow.world import groups, names, population
from simflow.world.draws import Bools, Draws, Ints, name_key
from simflow.world.founding import NEWSROOM
from simflow.world.settings import Settings
from simflow.world.society import Society
from simflow.world.timeline import row_of


class Registry:
    """Looks up and enters agents of one or more replicates."""

    def __init__(self, cell: Cell, seeds: Sequence[int], society: Society, settings: Settings) -> None:
        self.cell, self.seeds, self.society, self.settings = cell, tuple(seeds), society, settings
        self._names: list[dict[str, int]] | None = None

    def mine(self, replicate: int) -> Bools:
        """Which rows belong to a replicate."""
        society = self.society
        return society.replicate == replicate if len(society.replicate) else np.ones(society.count, dtype=bool)

    def local(self, rows: Ints) -> Ints:
        """Indices of rows within their replicate."""
        return self.society.local[rows] if len(self.society.local) else rows

    def names(self, replicate: int) -> dict[str, int]:
        """Row by id, and by name where it is the first of that name."""
        if self._names is None:
            self._names = [self._read(k) for k in range(len(self.seeds))]
        return self._names[replicate]

    def row(self, name: str | None, event: Event, replicate: int) -> int:
        """The row that an event names. Raises BadInput if there is none."""
        if name is None:
            raise BadInput(f"event '{event.name}' ({event.verb}) names nobody", hint="say who it is about")
        return row_of(name, self.names(replicate), event)

    def arrive(self, persona: int, count: int, tick: int, replicate: int, present: Ints) -> Ints:
        """New residents, who follow `present` ones at random and voices in their share; their rows."""
        society, draws = self.society, Draws([self.seeds[replicate]])
        at = int(self.mine(replicate).sum())
        local = np.arange(at, at + count)
        new = population.draw(self.cell, self.settings, draws, local, np.full(count, persona, np.int16), np.full(count, -1, np.int32))
        new = dataclasses.replace(new, joined=np.full(count, tick, np.int32), left=np.full(count, population.NEVER, np.int32))
        rows = society.add(new, np.full(count, 0.5))
        self._extend(rows, local, replicate)
        for slot in range(min(self.cell.network.links, len(present), int(society.limit[0]))):
            drawn = (draws.unit(f"joins/{slot}", tick, local) * len(present)).astype(np.int64)
            known = (society.follows[rows] == present[drawn][:, None]).any(axis=1)
            society.follows[rows, slot] = np.where(known, -1, present[drawn])
        shares = {name_key(v.name): (v.name, v.followers) for v in self.cell.voices}
        for voice in np.flatnonzero(self.mine(replicate) & (society.persona < 0)).tolist():
            name, share = shares.get(int(society.voice[voice]), (NEWSROOM, self.settings.newsroom))
            society.follow(rows[population.followers(draws, name, share, local) - at], voice)
        if self.cell.platform.groups and society.member.shape[1]:
            own = groups.members(self.cell, draws, local, np.full(count, persona))
            society.member[rows] = np.where(own < 0, -1, own + society.group_start[replicate])
        elif society.member.shape[1]:
            society.member[rows, 0] = groups.along(draws, local, society.follows[rows], np.append(society.member[:, 0], -1)[:, None])
        return rows

    def newsroom(self, tick: int, replicate: int) -> int:
        """The row of the newsroom, which comes to be if it is not there yet."""
        society = self.society
        found = np.flatnonzero((society.voice == name_key(NEWSROOM)) & self.mine(replicate))
        if len(found):
            return int(found[0])
        residents = np.flatnonzero(self.mine(replicate) & (society.persona >= 0))
        local = self.local(residents)
        at = int(self.mine(replicate).sum())
        row = society.add_voice(name_key(NEWSROOM), tick, 1.5)
        self._extend(np.array([row]), np.array([at]), replicate)
        chosen = population.followers(Draws([self.seeds[replicate]]), NEWSROOM, self.settings.newsroom, local)
        society.follow(residents[np.isin(local, chosen)], row)
        return row

    def _extend(self, rows: Ints, local: Ints, replicate: int) -> None:
        society = self.society
        if len(society.replicate):
            society.replicate = np.concatenate([society.replicate, np.full(len(rows), replicate, np.int32)])
            society.local = np.concatenate([society.local, local.astype(np.int32)])
        self._names = None

    def _read(self, replicate: int) -> dict[str, int]:
        society = self.society
        mine = np.flatnonzero(self.mine(replicate))
        ids, display = names.names(Draws([self.seeds[replicate]]), self.local(mine), self.cell.language.code)
        known: dict[str, int] = {}
        voices = {name_key(v.name): v.name for v in self.cell.voices} | {name_key(NEWSROOM): NEWSROOM}
        for row, agent_id, name in zip(mine.tolist(), ids, display, strict=True):
            if society.persona[row] < 0:
                voice = voices[int(society.voice[row])]
                known[voice] = known[names.handle(voice)] = row
            elif society.person[row] >= 0:
                person = self.cell.people[society.person[row]]
                known[person.id] = row
                known.setdefault(person.name, row)
            else:
                known[agent_id] = row
                known.setdefault(name, row)
        return known
