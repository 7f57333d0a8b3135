"""Recall for a turn: persona state first, then the arms side by side (vectors x recency, graph, scan by topic), fused under the caps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simflow.memory.budget import Line
from simflow.memory.history import History
from simflow.memory.situation import Situation
from simflow.plan import Memory

SCAN_SHARE = 0.32
"""Share of the episode tokens that is kept for the scan (140 of 440); all of it where a situation asks what is being said now."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be recalled. rows: History rows, oldest first; None is every row before `now`. Ages are counted from `now` (excluded)."""

    now: int
    since: int | None
    rows: npt.NDArray[np.int64] | None


def caps(memory: Memory, *, current: bool) -> dict[str, int]:
    """Tokens by kind of line."""
    scan = memory.episode_tokens if current else round(memory.episode_tokens * SCAN_SHARE)
    scan = 0 if memory.mode == "vectors" else scan
    return {
        "persona": memory.persona_tokens,
        "relation": 0 if memory.mode == "vectors" else memory.relation_tokens,
        "episode": memory.episode_tokens - scan,
        "scan": scan,
    }


def vector_arm(history: History, query: npt.NDArray[np.float32], scope: Scope, memory: Memory, tell: Callable[[int], str]) -> list[Line]:
    """The episodes nearest to the situation, weighted by recency: exact. tell: the sentence of a History row."""
    rows = within(history, scope)
    hits = history.search(query, now=scope.now, half_life=memory.half_life, top=memory.top, rows=rows)
    return [_line("episode", history, int(row), float(score), tell) for row, score in zip(hits.rows, hits.scores, strict=True) if score > 0]


def scan_arm(
    history: History, topics: Sequence[int], scope: Scope, memory: Memory, tell: Callable[[int], str], *, current: bool
) -> list[Line]:
    """The newest episodes on the topics, which similarity cannot find; on anything, if a situation without topics asks for now."""
    stop = history.before(scope.now)
    if topics:
        found = np.unique(np.concatenate([history.topic_rows(t, stop) for t in topics]))
    elif current:
        found = np.arange(max(stop - 64 * memory.top, 0), stop, dtype=np.int64) if scope.rows is None else scope.rows
    else:
        return []
    allowed = within(history, scope)
    if allowed is not None:
        found = np.intersect1d(found, allowed, assume_unique=True)
    newest = found[found < stop][::-1][: memory.top]
    return [_line("scan", history, int(row), 1.0 / (place + 1), tell) for place, row in enumerate(newest)]


def within(history: History, scope: Scope) -> npt.NDArray[np.int64] | None:
    """Rows of a scope, oldest first; None is every row before its `now`."""
    if scope.since is None:
        return scope.rows
    first, stop = history.before(scope.since), history.before(scope.now)
    if scope.rows is None:
        return np.arange(first, max(stop, first), dtype=np.int64)
    return scope.rows[np.searchsorted(scope.rows, first) :]


def merge(lines: Sequence[Line], *, current: bool) -> list[Line]:
    """Each episode once: in the scan if the situation asks for now, else where it is worth more as a memory."""
    first = "scan" if current else "episode"
    taken = {line.episode for line in lines if line.kind == first}
    return [line for line in lines if line.kind in (first, "persona", "relation") or line.episode not in taken]


def persona_lines(who: str, state: str | None, evidence: Sequence[int]) -> list[Line]:
    """Who the agent is, and its state."""
    # A state begins with who the agent is; the tokens for saying it twice are better spent.
    lines = [] if state and flat(state).startswith(flat(who)) else [Line("persona", flat(who), 2.0, (0.0,))]
    if state:
        lines.append(Line("persona", flat(state), 1.0, (1.0,), refs=tuple(evidence)))
    return lines


def reading(situation: Situation, plain: Mapping[str, object], scope: Scope) -> dict[str, object]:
    """How the situation was understood, and the time that is asked about."""
    del situation
    return {**plain, "now": scope.now}


def _line(kind: str, history: History, row: int, value: float, tell: Callable[[int], str]) -> Line:
    tick, episode = int(history.tick[row]), int(history.episode[row])
    return Line(kind, f"tick {tick}: {flat(tell(row))}", value, (float(row),), tick=tick, episode=episode, refs=(episode,))


def flat(text: str) -> str:
    """One line: what agents write must not look like a section of the block."""
    return " ".join(text.split())
