"""Recall for a turn: persona state first, then the arms side by side (meaning and words x recency, graph, scan by topic), under the caps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simflow.memory import lexical
from simflow.memory.budget import Line
from simflow.memory.fusion import standard
from simflow.memory.history import History, member
from simflow.plan import Memory

SCAN_SHARE = 0.32
"""Share of the episode tokens that is kept for the scan (140 of 440); all of it where a situation asks what is being said now."""

DEPTH = 4096
"""Rows that are compared word by word, the newest of a scope."""
MEANING, ON_TOPIC = 0.3, 2.0
"""Weight of meaning against words, and what an episode on the situation's topics has over another, in standard deviations of the candidates."""
PHRASE = 2
"""Episodes that say a sentence of the situation word for word, from which on it is a phrase that tells nothing apart."""
_QUOTED = 4  # more candidates than wanted, for what the situation quotes
_QUOTE = 3  # words of something that is quoted and not just a word of the situation
_THEIRS = 2  # newest words of those whom the situation names

_END = re.compile(r"(?<=[.!?…])[\"'»”]*\s+|: \"")

Tell = Callable[[int], str]


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


def episode_arm(
    history: History,
    query: npt.NDArray[np.float32],
    about: str,
    scope: Scope,
    memory: Memory,
    tell: Tell,
    said: Tell,
    *,
    topics: Sequence[int] = (),
    told: Sequence[Line] = (),
) -> list[Line]:
    """The episodes nearest to the situation in meaning and, unless the mode is `vectors`, in words, both weighted by recency.

    tell, said: a History row as a line, and what was said in it. topics: those of the situation; what is on them comes first. What the
    situation itself quotes is no memory, and what was said twice is told once, also if other lines have `told` it.
    """
    fresh = _Fresh(about, said, [int(line.order[0]) for line in told])
    if memory.mode == "vectors":
        chosen = _nearest(history, query, scope, memory, fresh)
        return [_line("episode", history, row, score, tell) for row, score in chosen]
    rows: list[int] = []
    for row in _fused(history, query, about, scope, memory, said, topics):
        if len(rows) < 2 * memory.top and fresh.take(row):
            rows.append(row)
    return [_line("episode", history, row, 1 - place / (len(rows) + 1), tell) for place, row in enumerate(rows)]


def _fused(
    history: History, query: npt.NDArray[np.float32], about: str, scope: Scope, memory: Memory, said: Tell, topics: Sequence[int]
) -> list[int]:
    # The best of either arm are the candidates; each is then judged by both, in standard deviations of all candidates.
    hits = history.search(query, now=scope.now, half_life=memory.half_life, top=4 * memory.top, rows=within(history, scope))
    rows, words = _worded(history, about, scope, memory, said)
    best = np.lexsort((-rows, -words))[: 8 * memory.top]
    found = np.union1d(hits.rows[hits.scores > 0], rows[best[words[best] > 0]]).astype(np.int64)
    if not len(found):
        return []
    worded = np.zeros(len(found))
    rated = member(rows, found)
    worded[rated] = words[np.searchsorted(rows, found[rated])]
    meant = history.score(found, query.astype(np.float64), scope.now, memory.half_life)
    total = MEANING * standard(meant) + (1 - MEANING) * standard(worded)
    if topics:
        total = total + ON_TOPIC * member(history.topic_rows(topics, history.before(scope.now)), found)
    return [int(row) for row in found[np.lexsort((-found, -total))]]


def _nearest(history: History, query: npt.NDArray[np.float32], scope: Scope, memory: Memory, fresh: _Fresh) -> list[tuple[int, float]]:
    # Exact: asked for more until enough of what comes out is worth telling.
    rows, top = within(history, scope), memory.top + _QUOTED
    while True:
        hits = history.search(query, now=scope.now, half_life=memory.half_life, top=top, rows=rows)
        fresh.forget()
        found = [(int(r), float(s)) for r, s in zip(hits.rows, hits.scores, strict=True) if s > 0 and fresh.take(int(r))]
        if len(found) >= memory.top or len(hits.rows) < top or hits.scores[-1] <= 0:
            return found[: memory.top]
        top *= 2


def _worded(
    history: History, about: str, scope: Scope, memory: Memory, said: Tell
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    # Among the newest rows only, so that the cost does not grow with history; what is older has faded.
    rows, stop = within(history, scope), history.before(scope.now)
    rows = np.arange(max(stop - DEPTH, 0), stop, dtype=np.int64) if rows is None else rows[: np.searchsorted(rows, stop)][-DEPTH:]
    spoken = history.said(rows)
    scores = lexical.rate(about, len(rows), *spoken)
    best = np.argsort(-scores, kind="stable")[: 8 * memory.top]
    others = [frozenset(_sentences(said(int(row)))) for row in rows[best]]
    own = _sentences(about)
    telling = [s for s in own if sum(s in other for other in others) < PHRASE]
    if 0 < len(telling) < len(own):
        scores = lexical.rate(" ".join(telling), len(rows), *spoken)
    return rows, scores * 0.5 ** ((scope.now - history.tick[rows]) / memory.half_life)


def _sentences(text: str) -> list[str]:
    return [s.strip(' "') for s in _END.split(text.casefold()) if s.strip(' "')]


class _Fresh:
    """Tells whether a row says something new: not what the situation quotes, nor what has been taken."""

    def __init__(self, about: str, said: Tell, told: Sequence[int] = ()) -> None:
        self._about, self._said = about, said
        self._told: frozenset[str | int] = frozenset(said(row) or row for row in told)
        self._taken = set(self._told)

    def take(self, row: int) -> bool:
        text = self._said(row)
        new = (text or row) not in self._taken and not (len(text.split()) >= _QUOTE and text in self._about)
        self._taken.add(text or row)
        return new

    def forget(self) -> None:
        self._taken = set(self._told)


def scan_arm(
    history: History,
    topics: Sequence[int],
    scope: Scope,
    memory: Memory,
    tell: Tell,
    *,
    current: bool,
    told: Sequence[Line] = (),
) -> list[Line]:
    """The newest episodes on the topics, which similarity cannot find; on anything, if a situation without topics asks for now.

    told: lines whose episodes are not told again; where the situation asks for now, only those of the scan itself.
    """
    allowed, stop = within(history, scope), history.before(scope.now)
    if topics:
        found = history.topic_rows(topics, stop)
    elif current:
        found = np.arange(max(stop - 64 * memory.top, 0), stop, dtype=np.int64) if allowed is None else allowed
        found, allowed = found[: np.searchsorted(found, stop)], None
    else:
        return []
    skip = np.array([int(line.order[0]) for line in told if line.kind == "scan" or (line.kind == "episode" and not current)], np.int64)
    count = memory.top - sum(line.kind == "scan" for line in told)
    newest = _newest(found, allowed, count, lambda rows: np.isin(rows, skip, invert=True))
    return [_line("scan", history, row, 1.0 / (place + 1), tell) for place, row in enumerate(newest)]


def their_words(history: History, asked: Sequence[int], topics: Sequence[int], scope: Scope, tell: Tell) -> list[Line]:
    """The newest words on the topics of those whom a situation names, before everybody's in the scan."""
    if not len(asked) or not topics:
        return []
    found = history.topic_rows(topics, history.before(scope.now))
    newest = _newest(found, within(history, scope), _THEIRS, lambda rows: np.isin(history.actor[rows], asked))
    return [_line("scan", history, row, 2.0 / (place + 1), tell) for place, row in enumerate(newest)]


def _newest(
    found: npt.NDArray[np.int64],
    allowed: npt.NDArray[np.int64] | None,
    count: int,
    keep: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]],
) -> list[int]:
    # The newest rows that are in both, newest first, looked for from the newest on so that older history costs nothing.
    rows, among = (found, None) if allowed is None else (allowed, found)
    chosen: list[int] = []
    stop, size = len(rows), 256
    while stop > 0 and len(chosen) < count:
        part = rows[max(stop - size, 0) : stop]
        stop, size = max(stop - size, 0), 2 * size
        if among is not None:
            part = part[member(among, part)]
        chosen += part[keep(part)][::-1].tolist()
    return chosen[:count]


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


def _line(kind: str, history: History, row: int, value: float, tell: Callable[[int], str]) -> Line:
    tick, episode = int(history.tick[row]), int(history.episode[row])
    return Line(kind, tell(row), value, (float(row),), tick=tick, episode=episode, refs=(episode,))


def flat(text: str) -> str:
    """One line: what agents write must not look like a section of the block."""
    return " ".join(text.split())
