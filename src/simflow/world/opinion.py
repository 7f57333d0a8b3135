"""How a session moves stances: equations of docs/science.md on a grid of 2**-32, so that sums are exact in any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simflow.plan import Dynamics
from simflow.world.draws import F64, GRID, I64, Bools, Ints, grid
from simflow.world.society import Society

ONE = 1 << 32


@dataclass(frozen=True, slots=True)
class Moved:
    """Stances of a tick's readers, (readers, topics), on the grid: new = old + contributions + self term + clip, exactly."""

    contribution: I64
    """One an exposure."""
    contributions: I64
    self_term: I64
    clip: I64
    new: I64


def move(society: Society, dynamics: Dynamics, readers: Ints, who: Ints, row: Ints) -> Moved:
    """What the exposures do to their readers.

    readers: rows of the agents that had a session, each once. who: for each exposure the place of its reader in `readers`.
    row: for each exposure its post.
    """
    posts, topics = society.posts, society.x.shape[1]
    topic = posts["topic"][row]
    about = np.maximum(topic, 0).astype(np.int64)
    reader = readers[who]
    delta = (posts["stance"][row] - society.x[reader, about]) / GRID
    weight = np.where(topic < 0, 0.0, society.authority[posts["author"][row]])
    cell = who * topics + about
    shape = (len(readers), topics)
    total = np.bincount(cell, weights=weight, minlength=len(readers) * topics)
    share = np.divide(weight, total[cell], out=np.zeros_like(weight), where=weight > 0.0)
    openness = society.susceptibility[reader, about]
    if dynamics.model == "friedkin_johnsen":
        gain = openness * (1.0 - _or_zero(society.stubbornness[reader, about]))
    else:
        gain = dynamics.rate * openness * np.where(society.contrarian[reader] > 0, -1.0, 1.0)
    contribution = grid(gain * share * _response(society, dynamics, reader, delta))
    # Sums of whole numbers below 2**53 are exact in float64.
    contributions = np.bincount(cell, weights=contribution, minlength=len(readers) * topics).astype(np.int64).reshape(shape)
    self_term = _self_term(society, dynamics, readers)
    before = society.x[readers]
    free = before + contributions + self_term
    new = np.clip(free, -ONE, ONE)
    return Moved(contribution, contributions, self_term, new - free, new)


def _response(society: Society, dynamics: Dynamics, reader: Ints, delta: F64) -> F64:
    distance = np.abs(delta)
    match dynamics.model:
        case "bounded_confidence":
            return np.where(distance < society.confidence[reader], delta, 0.0)
        case "social_judgement":
            away: Bools = distance > society.rejection[reader]
            return np.where(distance < society.confidence[reader], delta, np.where(away, -dynamics.repulsion * delta, 0.0))
        case _:
            return delta


def _self_term(society: Society, dynamics: Dynamics, readers: Ints) -> I64:
    stubborn = society.stubbornness[readers]
    if dynamics.model == "friedkin_johnsen":
        pull = 1.0 - society.susceptibility[readers] * (1.0 - _or_zero(stubborn))
    else:
        pull = np.where(np.isnan(stubborn), dynamics.anchor, stubborn)
    return grid(pull * ((society.x0[readers] - society.x[readers]) / GRID))


def _or_zero(values: F64) -> F64:
    return np.where(np.isnan(values), 0.0, values)
