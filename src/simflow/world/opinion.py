"""How a session moves stances: equations of docs/science.md on a grid of 2**-32, so that sums are exact in any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simflow.plan import Dynamics
from simflow.world.draws import F64, GRID, I64, Ints, grid
from simflow.world.posts import AUTHOR, STANCE, TOPIC
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


def move(society: Society, dynamics: Dynamics, readers: Ints, who: Ints, post: I64) -> Moved:
    """What the exposures do to their readers.

    readers: rows of the agents that had a session, each once. who: for each exposure the place of its reader in `readers`.
    post: for each exposure its post.
    """
    topics = society.x.shape[1]
    topic = post[:, TOPIC]
    about = np.maximum(topic, 0)
    reader = readers[who]
    delta = (post[:, STANCE] - society.x[reader, about]) / GRID
    weight = society.authority[post[:, AUTHOR]] * (topic >= 0)
    cell = who * topics + about
    size = len(readers) * topics
    total = np.bincount(cell, weights=weight, minlength=size)
    gain = society.susceptibility[reader, about]
    if dynamics.model == "friedkin_johnsen":
        gain = gain * (1.0 - _or_zero(society.stubbornness[reader, about]))
    else:
        gain = dynamics.rate * gain * (1.0 - 2.0 * society.contrarian[reader])
    share = weight / np.maximum(total[cell], 2.0**-16)
    contribution = grid(gain * share * _response(society, dynamics, reader, delta))
    # Sums of whole numbers below 2**53 are exact in float64.
    contributions = np.bincount(cell, weights=contribution, minlength=size).astype(np.int64).reshape(len(readers), topics)
    before = society.x.take(readers, axis=0)
    self_term = _self_term(society, dynamics, readers, before)
    free = before + contributions + self_term
    new = np.minimum(np.maximum(free, -ONE), ONE)
    return Moved(contribution, contributions, self_term, new - free, new)


def _response(society: Society, dynamics: Dynamics, reader: Ints, delta: F64) -> F64:
    if dynamics.model == "bounded_confidence":
        return delta * (np.abs(delta) < society.confidence[reader])
    if dynamics.model == "social_judgement":
        distance = np.abs(delta)
        away = distance > society.rejection[reader]
        return np.where(distance < society.confidence[reader], delta, np.where(away, -dynamics.repulsion * delta, 0.0))
    return delta


def _self_term(society: Society, dynamics: Dynamics, readers: Ints, before: I64) -> I64:
    stubborn = society.stubbornness.take(readers, axis=0)
    if dynamics.model == "friedkin_johnsen":
        pull = 1.0 - society.susceptibility.take(readers, axis=0) * (1.0 - _or_zero(stubborn))
    else:
        pull = np.where(np.isnan(stubborn), dynamics.anchor, stubborn)
    return grid(pull * ((society.x0.take(readers, axis=0) - before) / GRID))


def _or_zero(values: F64) -> F64:
    return np.where(np.isnan(values), 0.0, values)
