"""Weighing statements about one thing: what is in force, from when, and on what evidence.

One thing (a *slot*) is (kind, of, on, about). Statements on it say -1, 0 or +1, each with a confidence: the probability that the words mean
that. What is in force is the likeliest of the three after a forward filter: between statements every probability drifts to 1/3, halving its
distance each `half_life` ticks; a statement of confidence c multiplies its own label by c and the two others by (1 - c) / 2. With c = 1 that is
exactly "the newest wins"; a single doubtful statement does not overturn a well-supported belief; two or three do; and old support fades.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

CLASSES = (-1, 0, 1)
NEUTRAL = 0.15
"""Values within this distance of 0 are the label 0."""


class Statement(NamedTuple):
    """One piece of evidence on a slot. Sorts by when it happened: tick, then order within the tick, then content key."""

    tick: int
    order: int
    claim: int
    value: float
    confidence: float
    episode: int

    @property
    def label(self) -> int:
        """-1, 0 or +1."""
        return label_of(self.value)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of time in which one label is in force: ticks [start, stop), stop None while it lasts.

    evidence: the statements of this label since it was last in force, oldest first: also the ones before `start` that were too weak to turn it.
    """

    label: int
    start: int
    stop: int | None
    evidence: tuple[Statement, ...]

    @property
    def last_seen(self) -> int:
        """Tick of the newest supporting statement."""
        return self.evidence[-1].tick


def label_of(value: float) -> int:
    """The class of a value in -1..1."""
    return 1 if value > NEUTRAL else -1 if value < -NEUTRAL else 0


def segments(statements: Iterable[Statement], half_life: float) -> list[Segment]:
    """Run the filter over the statements, which may come in any order, and cut time where the label in force changes.

    half_life: ticks. Segments are in order of time and touch; one that was overturned within its own tick has start == stop.
    """
    ordered = sorted(statements)
    if len(ordered) == 1:  # most slots of a large graph; what the filter says of one statement is what it says
        return [Segment(ordered[0].label, ordered[0].tick, None, tuple(ordered))]
    waiting: dict[int, list[Statement]] = {label: [] for label in CLASSES}
    found: list[tuple[int, int, list[Statement]]] = []
    belief = Belief(half_life)
    for statement in ordered:
        before = belief.label
        now = belief.hear(statement)
        waiting[statement.label].append(statement)
        if now != before:
            found.append((now, statement.tick, waiting[now]))
            if before is not None:
                waiting[before] = []
    stops: list[int | None] = [*(start for _, start, _ in found[1:]), None][: len(found)]
    return [Segment(label, start, stop, tuple(said)) for (label, start, said), stop in zip(found, stops, strict=True)]


class Belief:
    """The forward filter over -1, 0, +1; `label` is what is in force, None before the first statement."""

    __slots__ = ("_half_life", "_odds", "_tick", "label")

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._odds = [1 / 3, 1 / 3, 1 / 3]
        self._tick: int | None = None
        self.label: int | None = None

    def hear(self, statement: Statement) -> int:
        """Take one statement, not older than the one before, and return the label in force after it."""
        kept = 1.0 if self._tick is None else 0.5 ** ((statement.tick - self._tick) / self._half_life)
        self._tick = statement.tick
        said, sure = statement.label + 1, min(max(statement.confidence, 1 / 3), 1.0)
        odds = [(1 / 3 + (p - 1 / 3) * kept) * (sure if i == said else (1 - sure) / 2) for i, p in enumerate(self._odds)]
        total = sum(odds)
        # Certain against certain within one tick leaves nothing: the newer one stands.
        self._odds = [p / total for p in odds] if total > 0 else [float(i == said) for i in range(3)]
        best = max(self._odds)
        if self.label is None or self._odds[self.label + 1] < best:
            self.label = statement.label if self._odds[said] == best else CLASSES[self._odds.index(best)]
        return self.label

    def probability(self, label: int) -> float:
        """How likely `label` is right after the newest statement."""
        return self._odds[label + 1]


def weight(evidence: Sequence[Statement], at: int, half_life: float) -> float:
    """Decayed, confidence-weighted amount of evidence at tick `at`."""
    return sum(s.confidence * float(0.5 ** (max(at - s.tick, 0) / half_life)) for s in evidence)


def strength(evidence: Sequence[Statement], half_life: float) -> float:
    """Mean value of the evidence, in -1..1, weighted by confidence and by age against its newest; 0 for none."""
    if not evidence:
        return 0.0
    newest = evidence[-1].tick
    weights = [s.confidence * 0.5 ** ((newest - s.tick) / half_life) for s in evidence]
    total = sum(weights)
    return sum(w * s.value for w, s in zip(weights, evidence, strict=True)) / total if total > 0 else 0.0
