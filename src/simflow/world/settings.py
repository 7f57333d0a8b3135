"""The engine's own constants: chosen, not fitted, unless docs/science.md names a source. A scenario sets some of them; a test can set all."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from simflow.plan import Cell

_WAKING = (0.05,) * 6 + (0.4,) * 3 + (0.7,) * 10 + (1.5,) * 4 + (0.5,)
WAKING = tuple(w * 24 / sum(_WAKING) for w in _WAKING)
"""Weights by hour of day, mean 1, of a population that sleeps at night and peaks in the evening."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Rates are per session or per exposure; `sessions` is the mean number of sessions in ten minutes."""

    sessions: float = 0.04
    busiest: float = 0.95
    post: float = 0.23
    like: float = 0.30
    dislike: float = 0.30
    reply: float = 0.14
    repost: float = 0.08
    quote: float = 0.04
    follow: float = 0.06
    unfollow: float = 0.10
    mute: float = 0.01
    report: float = 0.05
    message: float = 0.03
    group: float = 0.05
    search: float = 0.05
    trend: float = 0.10
    attention: int = 5
    pool: int = 20
    recent: int = 3
    boost: float = 1.0
    fade_minutes: int = 240
    hot: int = 64
    agree: float = 0.45
    disagree: float = 0.80
    newsroom: float = 0.8
    chunk: int = 4096

    @classmethod
    def of(cls, cell: Cell) -> Settings:
        """As a cell has them."""
        given: dict[str, Any] = dict(cell.platform.rates)
        if cell.clock.sessions is not None:
            given["sessions"] = cell.clock.sessions / 144.0
        return dataclasses.replace(cls(), **given)

    def rate(self, minutes: int) -> float:
        """Mean sessions in a tick of `minutes`: grows with the square root, since the visits of one long tick are one session."""
        return float(self.sessions * np.sqrt(minutes / 10.0))
