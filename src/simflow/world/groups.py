"""Who shares a group: as the scenario says, or along the follow graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simflow.plan import Cell, Group
from simflow.world.draws import Bools, Draws, Ints

_ROUNDS = 3
"""How many steps along the graph a group reaches from who founded it."""


def width(cell: Cell) -> int:
    """Places for groups that each agent has: one a named group, one if groups form by themselves, none without groups."""
    return max(1, len(cell.platform.groups)) if "group" in cell.platform.actions else 0


def found(cell: Cell, draws: Draws, persona: Ints, follows: Ints, rows_of: Callable[[tuple[str, ...], str], list[int]]) -> Ints:
    """Groups of each resident at the start, (residents, `width`), -1 where none.

    follows: rows followed, -1 where free. rows_of: rows of ids, with the words that say what for.
    """
    agents = np.arange(len(persona))
    follows = np.where(follows < len(agents), follows, -1)  # voices are in no group
    if not width(cell):
        return np.empty((len(agents), 0), np.int32)
    if cell.platform.groups:
        named = [
            np.isin(agents, rows_of(g.agents, f"group '{g.name}' has")) if g.agents is not None else None for g in cell.platform.groups
        ]
        return members(cell, draws, agents, persona, named)
    founds = draws.unit("founds a group", -1, agents) < 1.0 / cell.platform.group_size
    group = np.where(founds, np.cumsum(founds) - 1, -1)
    for _ in range(_ROUNDS):
        free = np.flatnonzero(group < 0)
        group[free] = along(draws, agents[free], follows[free], np.append(group, -1)[:, None])
    return group.astype(np.int32)[:, None]


def members(cell: Cell, draws: Draws, agents: Ints, persona: Ints, named: list[Bools | None] | None = None) -> Ints:
    """Which of the scenario's groups `agents` belong to, (agents, groups): the group's number or -1. named: who is in a group by name."""
    kinds = {p.name: k for k, p in enumerate(cell.personas)}
    table = np.full((len(agents), len(cell.platform.groups)), -1, np.int32)
    for k, group in enumerate(cell.platform.groups):
        inside = _kind(group, persona, kinds) & (draws.unit(f"group/{group.name}", -1, agents) < group.share)
        if group.agents is not None:
            by_name = named[k] if named else None
            inside &= False if by_name is None else by_name
        table[inside, k] = k
    return table


def along(draws: Draws, agents: Ints, follows: Ints, member: Ints) -> Ints:
    """A group of somebody whom each of `agents` follows, drawn at random; -1 where none of them has one.

    member: groups by row, (rows, 1), with one row more for "nobody".
    """
    known = member[follows, 0]
    lot = np.where(known >= 0, draws.several_units("joins a group", -1, agents, follows.shape[1]), -1.0)
    return np.asarray(known[np.arange(len(agents)), lot.argmax(axis=1)], dtype=np.int64)


def _kind(group: Group, persona: Ints, kinds: dict[str, int]) -> Bools:
    if group.personas is None:
        return np.ones(len(persona), dtype=bool)
    return np.isin(persona, [kinds[name] for name in group.personas if name in kinds])
