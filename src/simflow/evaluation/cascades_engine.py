"""Cascades that the engine makes: posts by accounts of many sizes in worlds of many tempers, shared on and on for a week."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simflow.evaluation.cascades_data import MINUTES, curve
from simflow.measures.cascade import depths, parents
from simflow.plan import Cell, Clock, Event, Feed, Network, Persona, Platform, Topic, Voice
from simflow.world.builtin import BuiltinEngine
from simflow.world.settings import Settings

F64 = npt.NDArray[np.float64]

TICK = 10
"""Minutes of a tick."""
POSTS = 12
"""Posts to share in one world, each by an account of its own."""
RESIDENTS = 2_500


@dataclass(frozen=True, slots=True)
class Temper:
    """What differs between worlds: chance to share what is agreed with, sessions in ten minutes, accounts followed, fading of the feed in minutes."""

    share: float
    sessions: float
    links: int
    fade: int


def temper(seed: int) -> Temper:
    """Drawn log-uniformly over a wide range, so that a calibration can weigh worlds instead of guessing one."""
    rng = np.random.Generator(np.random.Philox(seed))

    def between(low: float, high: float) -> float:
        return float(low * (high / low) ** rng.random())

    return Temper(round(between(0.04, 0.5), 4), round(between(0.06, 0.6), 4), int(rng.choice([2, 3, 4, 6])), round(between(60, 1440)))


def world(seed: int, given: Temper) -> F64:
    """Curves of the posts of one world, (POSTS, len(MINUTES), 3): the engine as it is, with sharing as the only action."""
    rng = np.random.Generator(np.random.Philox([seed, 1]))
    ticks = MINUTES[-1] // TICK
    start = rng.integers(6, 6 + 1440 // TICK, POSTS)
    voices = tuple(Voice(f"account {k}", followers=round(0.1 + 0.9 * float(rng.random()), 3)) for k in range(POSTS))
    events = tuple(
        Event(
            f"post {k}",
            "post",
            at=int(start[k]),
            by=voices[k].name,
            text="news",
            topic="news",
            stance=round(float(rng.choice([-1, 1]) * (0.2 + 0.7 * rng.random())), 3),
        )
        for k in range(POSTS)
    )
    stop = int(start.max()) + ticks + 1
    cell = Cell(
        scenario="cascades",
        variant="world",
        sweep={},
        seed=seed,
        topics=(Topic("news"),),
        personas=(Persona("resident", RESIDENTS),),
        voices=voices,
        events=events,
        network=Network(shape="preferential", links=given.links),
        platform=Platform(actions=("repost",), feed=Feed(horizon=ticks)),
        clock=Clock(ticks=stop, minutes=TICK, window=stop),
    )
    engine = BuiltinEngine(cell, Settings(repost=given.share, sessions=given.sessions, fade_minutes=given.fade))
    episodes = engine.advance(engine.begin(), 0, stop).episodes
    parent = parents(episodes["episode"].to_numpy(), episodes["parent"].fill_null(-1).to_numpy())
    tick = episodes["tick"].to_numpy().astype(np.int64)
    root = _roots(parent)
    curves = []
    for post in np.flatnonzero(parent < 0).tolist():
        rows = np.flatnonzero(root == post)
        place = np.full(len(parent), -1)
        place[rows] = np.arange(len(rows))
        above = np.where(parent[rows] < 0, -1, place[parent[rows]])
        curves.append(curve(above, (tick[rows] - tick[post]) * float(TICK)))
    return np.array(curves)


def library(worlds: int, *, seed: int = 0, cache: Path | None = None, progress: Callable[[int, int], None] | None = None) -> F64:
    """Curves of `worlds` worlds, (worlds * POSTS, len(MINUTES), 3), in a fixed order. cache: a folder that keeps them, by engine and world."""
    parts = []
    for k in range(worlds):
        number = seed * 10_000 + k
        given = temper(number)
        kept = cache / f"{_key(number, given)}.json" if cache else None
        if kept and kept.exists():
            parts.append(np.array(json.loads(kept.read_text(encoding="utf-8")), dtype=np.float64))
        else:
            parts.append(world(number, given))
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                part = kept.with_suffix(".part")
                part.write_text(json.dumps(parts[-1].tolist()), encoding="utf-8")
                part.replace(kept)
        if progress:
            progress(k + 1, worlds)
    return np.concatenate(parts)


def _key(number: int, given: Temper) -> str:
    text = json.dumps([BuiltinEngine.id, number, asdict(given), RESIDENTS, POSTS, TICK, MINUTES])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _roots(parent: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    root = np.arange(len(parent))
    depth = depths(parent)
    for level in range(1, int(depth.max(initial=0)) + 1):
        here = depth == level
        root[here] = root[parent[here]]
    return root
