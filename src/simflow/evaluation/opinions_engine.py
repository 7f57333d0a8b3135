"""The engine's own update (`simflow.world.opinion.move`) on the people of a panel: one tick a round of answers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.evaluation.opinions_panels import REACH, Panel
from simflow.plan import Dynamics
from simflow.world.draws import GRID, grid
from simflow.world.opinion import move
from simflow.world.posts import AUTHOR, COLUMNS, STANCE, TOPIC, Posts
from simflow.world.society import Society

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

EVERYTHING = 0
"""Posts read a round: all of the others'."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What a calibration finds. `weight`: susceptibility by (stratum, item), the weight of what is read against the own first answer.

    shown, chat: parts of what is read that are the mean on display and the numbers in the chat; the rest are the others' answers.
    all_or_none: share of people who either keep their answer or take over what they read, instead of averaging.
    popularity: power of an answer's agreement with the table by which it counts more, as liked posts do in a feed; 0: all alike.
    reads: others' answers (and numbers of the chat) read a round, drawn anew each round; `EVERYTHING` for all of them.
    """

    weight: F64
    shown: float = 0.0
    chat: float = 0.0
    popularity: float = 0.0
    all_or_none: float = 0.0
    reads: int = EVERYTHING

    def susceptibility(self, panel: Panel) -> F64:
        """Expected susceptibility of each row."""
        return np.clip(self.weight[panel.stratum, panel.item], 0.0, 1.0)


def forecast(panel: Panel, habits: Habits) -> F64:
    """Expected last answers, in units. Friedkin-Johnsen is linear: everybody at the expected susceptibility, reading everything, gives it."""
    return _run(panel, habits.susceptibility(panel), dataclasses.replace(habits, reads=EVERYTHING), None)


def draw(panel: Panel, habits: Habits, seed: int) -> F64:
    """Last answers, in units, of one run with drawn people and drawn reading."""
    rng = np.random.Generator(np.random.Philox(seed))
    mean = habits.susceptibility(panel)
    extreme = rng.random(len(mean)) < habits.all_or_none
    takes_over = rng.random(len(mean)) < mean
    return _run(panel, np.where(extreme, takes_over.astype(np.float64), mean), habits, rng)


def _run(panel: Panel, susceptibility: F64, habits: Habits, rng: np.random.Generator | None) -> F64:
    n = len(panel.table)
    society = _society(panel, susceptibility)
    dynamics = Dynamics(model="friedkin_johnsen")
    liked = panel.agreement() ** habits.popularity if habits.popularity else np.ones(n)
    for _ in range(panel.rounds - 1):
        reader, stance, weight = _posts(panel, society.x[:, 0] / GRID * REACH, habits, liked, rng) if panel.social else _nothing()
        post = np.zeros((len(reader), len(COLUMNS)), dtype=np.int64)
        post[:, STANCE] = grid(stance / REACH)
        post[:, AUTHOR] = n + np.arange(len(reader))  # each post by a voice of its own, whose authority is the post's weight
        post[:, TOPIC] = 0
        society.authority = np.concatenate([np.ones(n), weight])
        society.x = move(society, dynamics, np.arange(n), reader, post).new
    return society.x[:, 0] / GRID * REACH


def _posts(panel: Panel, now: F64, habits: Habits, liked: F64, rng: np.random.Generator | None) -> tuple[I64, F64, F64]:
    """(reader, units, weight) of what is read in a round. Weights of a reader sum to 1 over the kinds that there are for it."""
    rows = np.arange(len(now))
    alone = np.bincount(panel.table)[panel.table] < 2
    has_shown = ~np.isnan(panel.shown) & (habits.shown > 0)
    talk_reader, talk_units = _chat(panel) if habits.chat > 0 else (np.empty(0, np.int64), np.empty(0))
    heard = np.bincount(talk_reader, minlength=len(now))
    few = rng is not None and habits.reads != EVERYTHING
    if few and rng is not None:
        talk_reader, talk_units = _some(talk_reader, talk_units, habits.reads, rng)
    weight = habits.chat / np.maximum(np.bincount(talk_reader, minlength=len(now))[talk_reader], 1)
    parts = [(rows[has_shown], panel.shown[has_shown], np.full(int(has_shown.sum()), habits.shown)), (talk_reader, talk_units, weight)]
    rest = 1.0 - np.where(has_shown, habits.shown, 0.0) - np.where(heard > 0, habits.chat, 0.0)
    reader = rows[~alone & (rest > 1e-9)]
    if rng is None or not few:
        parts.append((reader, panel.others(now, liked)[reader], rest[reader]))
    else:
        parts += [(reader, now[_peer(panel, reader, liked, rng)], rest[reader] / habits.reads) for _ in range(habits.reads)]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]


def _peer(panel: Panel, reader: I64, liked: F64, rng: np.random.Generator) -> I64:
    """Another row of each reader's table, in proportion to `liked`."""
    order = np.argsort(panel.table, kind="stable")
    ends = np.cumsum(liked[order])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    last = np.searchsorted(panel.table[order], panel.table[reader], side="right") - 1
    first = np.searchsorted(panel.table[order], panel.table[reader], side="left")
    begin = ends[first] - liked[order[first]]
    own_begin = ends[place[reader]] - liked[reader]
    at = begin + rng.random(len(reader)) * (ends[last] - begin - liked[reader])
    at = np.where(at >= own_begin, at + liked[reader], at)
    return order[np.clip(np.searchsorted(ends, at, side="right"), first, last)]


def _some(reader: I64, units: F64, count: int, rng: np.random.Generator) -> tuple[I64, F64]:
    """At most `count` numbers a reader, drawn without replacement."""
    order = np.lexsort((rng.random(len(reader)), reader))
    reader, units = reader[order], units[order]
    begin = np.searchsorted(reader, reader)
    keep = np.arange(len(reader)) - begin < count
    return reader[keep], units[keep]


def _chat(panel: Panel) -> tuple[I64, F64]:
    """(reader, units): each number for everybody in the table but its writer."""
    order = np.argsort(panel.table, kind="stable")
    size = np.bincount(panel.table)
    begin = np.cumsum(size) - size
    copies = size[panel.said_table]
    step = np.arange(int(copies.sum())) - np.repeat(np.cumsum(copies) - copies, copies)
    reader = order[np.repeat(begin[panel.said_table], copies) + step]
    others = reader != np.repeat(panel.said_by, copies)
    return reader[others], np.repeat(panel.said, copies)[others]


def _nothing() -> tuple[I64, F64, F64]:
    return np.empty(0, np.int64), np.empty(0), np.empty(0)


def _society(panel: Panel, susceptibility: F64) -> Society:
    """A society of the panel's rows with one topic; arrays that `move` does not read stay empty."""
    n = len(panel.table)
    stance = grid(panel.first / REACH)[:, None]
    blank: dict[str, Any] = {f.name: np.zeros(0) for f in dataclasses.fields(Society) if f.default_factory is dataclasses.MISSING}
    given: dict[str, Any] = {
        "x": stance.copy(),
        "x0": stance,
        "susceptibility": susceptibility[:, None],
        "stubbornness": np.zeros((n, 1)),
        "confidence": np.full(n, 2.0),
        "rejection": np.full(n, 2.0),
        "contrarian": np.zeros(n, np.int8),
        "posts": Posts(),
    }
    return Society(**(blank | given))
