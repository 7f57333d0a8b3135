"""What the calls of a whole cell come to, from those of a rehearsal of its first ticks: P50 and P90 of calls, prompt and answer tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simflow.cli.rehearsal import Turns
from simflow.cli.stand_in import DRAWS, Read
from simflow.plan import Memory

F64 = npt.NDArray[np.float64]
WORDIER = np.array([1.0, 1.25, 2.2])
"""P90 of turns in parts of the P50: a model that writes four times as much fills the feeds and the memories of others, too."""
TELLS_MORE = np.array([1.0, 1.0, 1.3])
"""P90 of extraction, beside lines left out and readings doubted: a model finds more relations than expected, or writes them with spaces."""
FEED, ACT = 1_000, 40
"""Tokens of the rest of a turn's prompt and of its answer, where no turn of the kind was rehearsed."""


def reading(reads: Sequence[Read], texts: float, batches: int) -> tuple[F64, F64]:
    """Of extraction: the batches rehearsed, and `texts` in `batches` after them at the price of the later two thirds of these."""
    usual, worse = np.zeros((DRAWS, 3)), np.zeros((DRAWS, 3))
    if not reads:
        return usual[0], worse[0]
    late = reads[len(reads) // 3 :]
    more, luck = texts / sum(r.texts for r in late), np.random.default_rng(0)
    usual += sum(r.plain for r in reads) + more * sum(r.plain for r in late)
    worse += sum(r.careless for r in reads) + more * sum(r.careless for r in late)
    for one in reads:
        usual += one.doubts.usual
        worse += one.doubts.harsh
    for _ in range(batches):  # each as one of the late ones, with luck of its own
        one, draws = late[int(luck.integers(len(late)))], luck.permutation(DRAWS)
        usual += more * len(late) / batches * one.doubts.usual_later[draws]
        worse += more * len(late) / batches * one.doubts.harsh_later[draws]
    return np.quantile(usual, 0.5, axis=0), np.quantile(worse, 0.9, axis=0) * TELLS_MORE


def acting(seen: Turns | None, turns: F64, ticks: int, memory: Memory) -> tuple[F64, F64]:
    """Of turns, whose number by tick is known: at the price of those `seen` before tick `ticks`, and from there on of the second half of these."""
    if seen is None or not seen.sent:
        each = late = np.array([memory.persona_tokens + memory.relation_tokens + memory.episode_tokens + FEED, ACT], np.float64)
    else:
        tokens = np.array([seen.sent, seen.answered], np.float64)
        each, late = tokens.mean(axis=1), tokens[:, len(seen.sent) // 2 :].mean(axis=1)
    usual = np.array([turns.sum(), *(each * turns[:ticks].sum() + late * turns[ticks:].sum())])
    return usual, usual * WORDIER
