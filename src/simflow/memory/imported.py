"""Memory of imported conversations: an agent's turns as `simflow.memory.fusion` ranks them, cut into sessions by who talks and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from simflow.memory.budget import Line
from simflow.memory.fusion import Conversation
from simflow.memory.history import History

PAUSE = 360
"""Minutes of silence after which the same people begin another session."""


def sessions(ticks: Sequence[int], groups: Sequence[object], minutes: int) -> list[tuple[object, int]]:
    """A label for each turn, in order of time: its group (a thread, or the people who talk) and the number of its session there."""
    pause = max(PAUSE // minutes, 1)
    last: dict[object, tuple[int, int]] = {}
    found = []
    for tick, group in zip(ticks, groups, strict=True):
        before, number = last.get(group, (tick, 0))
        number += tick - before > pause
        last[group] = (tick, number)
        found.append((group, number))
    return found


def talk(
    history: History,
    rows: npt.NDArray[np.int64],
    *,
    texts: Sequence[str],
    actors: Sequence[str],
    groups: Sequence[object],
    minutes: int,
) -> Conversation:
    """The conversation that History rows are, oldest first."""
    return Conversation(texts, actors, sessions(history.tick[rows].tolist(), groups, minutes), history.vectors(rows))


def lines(
    conversation: Conversation,
    history: History,
    rows: npt.NDArray[np.int64],
    question: str,
    vector: npt.NDArray[np.float32],
    *,
    readable: float,
    top: int,
    tell: Callable[[int], str],
) -> list[Line]:
    """The best turns as lines of a block, best first by value."""
    best = conversation.best(conversation.arms(question, vector, readable), "hybrid", top)
    found = []
    for place, row in enumerate(rows[best].tolist()):
        tick, episode = int(history.tick[row]), int(history.episode[row])
        found.append(Line("episode", tell(row), 1 - place / (top + 1), (float(row),), tick=tick, episode=episode, refs=(episode,)))
    return found
