"""Which lines go into a memory block: hard caps for each kind, one total, unused room passed on, greedy by value per token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from simflow.memory import tokens

FLOW = ("relation", "episode", "scan")
"""Kinds that may use what others leave unused, in this order; a persona state never grows beyond its own cap."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that might be told. kind: persona, relation, episode or scan. value: how much it is worth, > 0. order: place in its section.

    refs: what it rests on: episodes, or the edge and its evidence. tick: when, for people.
    """

    kind: str
    text: str
    value: float
    order: tuple[float, ...]
    tick: int | None = None
    episode: int | None = None
    edge: int | None = None
    refs: tuple[int, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """A line that was left out, and why."""

    line: Line
    why: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Lines in the order of their sections, and what was left out."""

    lines: tuple[Line, ...]
    dropped: tuple[Dropped, ...]


def choose(lines: Sequence[Line], caps: Mapping[str, int], overhead: Mapping[str, int], *, total: int | None = None) -> Choice:
    """Fill each kind up to its cap, best value per token first; then let unused room flow to what was left out.

    caps: tokens by kind; total: of all kinds, None is the sum of the caps. overhead: tokens of a section's heading, paid by its first line.
    Counts are of single lines; the block is measured again as a whole by whoever renders it.
    """
    room = sum(caps.values()) if total is None else total
    sized = _sized(lines)
    ranked = sorted(range(len(sized)), key=lambda i: (-sized[i].value / max(sized[i].tokens, 1), sized[i].order))
    used = dict.fromkeys(caps, 0)
    taken: set[int] = set()

    def take(row: int, limit: int) -> bool:
        line = sized[row]
        cost = line.tokens + (overhead.get(line.kind, 0) if not used[line.kind] else 0)
        if used[line.kind] + cost > limit or sum(used.values()) + cost > room:
            return False
        used[line.kind] += cost
        taken.add(row)
        return True

    for row in ranked:
        take(row, caps[sized[row].kind])
    for kind in FLOW:
        for row in ranked:
            if sized[row].kind == kind and row not in taken:
                take(row, room)
    kinds = list(caps)
    kept = sorted(taken, key=lambda i: (kinds.index(sized[i].kind), sized[i].order))
    left = [Dropped(sized[i], _why(sized[i], caps, room)) for i in ranked if i not in taken]
    return Choice(tuple(sized[i] for i in kept), tuple(left))


def _sized(lines: Sequence[Line]) -> list[Line]:
    sizes = tokens.counts([f"- {line.text}\n" for line in lines])
    return [replace(line, tokens=size) for line, size in zip(lines, sizes, strict=True)]


def _why(line: Line, caps: Mapping[str, int], room: int) -> str:
    if line.tokens > room:
        return f"{line.tokens} tokens do not fit the block's {room}"
    return f"no room: {line.tokens} tokens, {line.kind} has a cap of {caps[line.kind]} and nothing is unused"
