"""A dry run of the calls of a cell: who would have a turn when, what would be sent, counted in tokens, with nobody asked.

Turns and feeds are those of the run itself, since who is awake depends on the seed alone; memory, cascade and batches are a run's own. What
nobody can know before is what a model will say: here every turn says something of ordinary length now and then, and every text says what the
built-in extractor takes it for.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simflow.cli.stand_in import Read, Rehearsed, measure
from simflow.episode import CLAIMS, EDGES
from simflow.memory.distil import distil
from simflow.memory.passages import READ_KINDS
from simflow.plan import Cell, Models
from simflow.ports import Act, Speaker, Turn

MOST_READ = 1_200
"""Texts after which no further batch is read: they cost a millisecond each, or two."""
FEWEST = 3
"""Batches that are read whatever they hold."""
WORDS = (
    "I think that the council should first explain what this pays for, before it asks people like us for more money again.",
    "Maybe. I would like to see the figures.",
    "My neighbours and I talked about it at length yesterday, and most of us believe that somebody has to begin, even if it hurts a little now.",
    "No, that is exactly what they told us the last time.",
    "Fair enough, but nobody here was asked.",
    "If the pipes really lose that much then it is cheaper to mend them than to wait, whatever one thinks of those who let it come to this.",
)
"""What is said in a rehearsal: of the length that people's remarks have."""


@dataclass(slots=True)
class Turns:
    """Turns that one model decides: prompt and answer tokens of each, by tick."""

    ticks: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Rehearsal:
    """Of a cell: `turns` by model; `reads` of extraction, which has followed to tick `read`."""

    turns: dict[str, Turns] = field(default_factory=lambda: defaultdict(Turns))
    reads: list[Read] = field(default_factory=list)
    read: int = 0


def rehearse(cell: Cell, ticks: int, step: Any) -> Rehearsal:
    """Ticks [0, ticks) of a cell. step: of its world without a model, or of a recorded trace; where residents speak it is lived anew."""
    found = Rehearsal()
    every = cell.extract.every
    reader = Rehearsed(cell) if cell.models.extractor == "llm" else None
    if cell.replay is None and cell.speaks:
        found.read = ticks // every * every
        _remembered(cell, ticks, found, reader)
    elif reader is not None:
        found.read = _enough(step.episodes, ticks // every * every, every)
        _read(cell, step, found.read, reader)
    found.reads = [] if reader is None else reader.reads
    return found


class _Chatter:
    """Says the usual now and then, by a hash of what it is shown."""

    id = "rehearsal"

    def __init__(self, cell: Cell, found: Rehearsal) -> None:
        from simflow.llm.room import Room
        from simflow.llm.speaker import ModelSpeaker

        self.found = found
        self.speaker = ModelSpeaker(cell, Room.of(cell))

    def speak(self, turns: Sequence[Turn]) -> list[Act]:
        """One act a turn; counts what each would cost."""
        return [self._one(turn) for turn in turns]

    def _one(self, turn: Turn) -> Act:
        act = self._act(turn)
        turns = self.found.turns[turn.model or self.speaker.room.endpoint.model]
        turns.ticks.append(turn.tick)
        turns.sent.append(self.speaker.room.count(self.speaker.question(turn)))
        turns.answered.append(measure(said(act, turn)))
        return act

    def _act(self, turn: Turn) -> Act:
        roll = hashlib.sha256(f"{turn.agent} {turn.tick}".encode()).digest()
        words = WORDS[roll[3] % len(WORDS)]
        if roll[0] < 102 and turn.feed and "reply" in turn.actions:  # two in five answer
            return Act("reply", roll[1] % len(turn.feed), words, turn.topics[roll[2] % len(turn.topics)], 0.5)
        if roll[0] < 153 and "post" in turn.actions:  # one in five posts
            return Act("post", None, words, turn.topics[roll[2] % len(turn.topics)], -0.5)
        return Act("nothing")


def said(act: Act, turn: Turn) -> dict[str, Any]:
    """An act as a model answers it."""
    words = {"text": act.text, "topic": turn.topics.index(act.topic) + 1 if act.topic else 0, "stance": 1} if act.text else {}
    return {"turn": {"act": act.kind, **({} if act.post is None else {"post": act.post + 1}), **words}}


def _remembered(cell: Cell, ticks: int, found: Rehearsal, reader: Rehearsed | None) -> None:
    every = cell.extract.every
    clock = dataclasses.replace(cell.clock, ticks=ticks, window=max(every, -(-ticks // every) * every))
    live(dataclasses.replace(cell, clock=clock), _Chatter(cell, found), reader)


def live(cell: Cell, speaker: Speaker, extractor: Any = None) -> None:
    """A run in a folder that is thrown away, with all of its memory. speaker: says what residents say that a model speaks for.

    extractor: an Extractor in place of the built-in one. What either raises as a SimflowError comes through.
    """
    from simflow.run import open_cell
    from simflow.world.spoken import SpokenEngine

    personas = tuple(dataclasses.replace(p, engine=None) for p in cell.personas)
    free = dataclasses.replace(cell, models=Models(embedder=cell.models.embedder), personas=personas, outputs=None)
    with tempfile.TemporaryDirectory(prefix="simflow-rehearsal-") as folder:
        run = open_cell("rehearsal.yaml", free, Path(folder))
        if cell.speaks:
            engine: Any = SpokenEngine(cell, speaker)
            run.parts.engine = lambda: engine  # type: ignore[method-assign]
        if extractor is not None:
            run.parts.extractor = lambda: extractor  # type: ignore[method-assign]
        for number in range(len(run.windows)):
            run.window(number)


def _enough(episodes: Any, whole: int, every: int) -> int:
    """The tick up to which batches are read: all of them, or as many as have enough texts."""
    ticks = np.sort(episodes.filter(pc.is_in(episodes["kind"], value_set=pa.array(READ_KINDS)))["tick"].to_numpy())
    if len(ticks) <= MOST_READ:
        return whole
    return min(whole, max(FEWEST * every, int(ticks[MOST_READ]) // every * every))


def _read(cell: Cell, step: Any, until: int, reader: Any) -> None:
    # Batch by batch through the memory's own distillation, so that a batch knows what was believed before it.
    episodes = step.episodes.filter(pc.less(step.episodes["tick"], until))
    distil(cell, reader, agents=step.agents, episodes=episodes, claims=CLAIMS.empty_table(), edges=EDGES.empty_table(), start=0, stop=until)
