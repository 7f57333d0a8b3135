"""A dry run of the calls of a cell: who would have a turn when, what would be sent, counted in tokens, with nobody asked.

Turns and feeds are those of the run itself, since who is awake depends on the seed alone. What nobody can know before is what a model will
say: here every turn says something of ordinary length now and then, and answers are taken to have a usual length.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simflow.plan import Cell, Models
from simflow.ports import Act, Turn

FILLED = 0.9
"""Part of its memory budget that a turn uses once there is enough to remember; measured on runs of 40 and 90 residents."""
NAMED = 35
"""Tokens of a memory block that holds only who the agent is."""
WORDS = "I think that the council should first explain what this pays for, before it asks people like us for more money again."


@dataclass(slots=True)
class Calls:
    """Calls and prompt tokens in `ticks` ticks, and those of the last day of them, for going on from there."""

    calls: float = 0.0
    tokens: float = 0.0
    late_calls: float = 0.0
    late_tokens: float = 0.0

    def add(self, tokens: float, *, late: bool) -> None:
        """One call."""
        self.calls += 1
        self.tokens += tokens
        if late:
            self.late_calls += 1
            self.late_tokens += tokens

    def over(self, ticks: int, sampled: int, day: int) -> tuple[float, float]:
        """(calls, tokens) over `ticks`, the rest at the rate of the last day."""
        more = max(0, ticks - sampled) / day
        return self.calls + more * self.late_calls, self.tokens + more * self.late_tokens


@dataclass(slots=True)
class Rehearsal:
    """`acts` by model; `reading` of extraction with `passages` that the model would read."""

    sampled: int
    day: int
    acts: dict[str, Calls] = field(default_factory=lambda: defaultdict(Calls))
    reading: Calls = field(default_factory=Calls)
    passages: float = 0.0


def rehearse(cell: Cell, ticks: int, day: int, step: Any = None) -> Rehearsal:
    """Ticks [0, ticks) of a cell; `day` ticks are a day. step: of a recorded trace, which needs no engine."""
    found = Rehearsal(ticks, min(day, ticks))
    step = step or _world(cell, ticks, found)
    if cell.models.extractor == "llm":
        _read(cell, step, ticks, found)
    return found


class _Chatter:
    """Says the usual now and then, by a hash of what it is shown."""

    id = "rehearsal"

    def __init__(self, cell: Cell, ticks: int, found: Rehearsal) -> None:
        from simflow.llm.room import Room
        from simflow.llm.speaker import ModelSpeaker

        self.cell, self.ticks, self.found = cell, ticks, found
        self.speaker = ModelSpeaker(cell, Room.of(cell))
        memory = cell.memory
        self.most = FILLED * (memory.persona_tokens + memory.relation_tokens + memory.episode_tokens)
        self.known: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def speak(self, turns: Sequence[Turn]) -> list[Act]:
        """One act a turn; counts what each would cost."""
        return [self._one(turn) for turn in turns]

    def _one(self, turn: Turn) -> Act:
        batch = turn.tick // self.cell.extract.every * self.cell.extract.every
        seen = self.known[turn.agent]
        remembered = sum(tokens for tick, tokens in seen if tick < batch)
        memory = min(self.most, NAMED + remembered) if batch else 0
        frame = self.speaker.room.count(self.speaker.question(dataclasses.replace(turn, memory="")))
        model = turn.model or self.speaker.room.endpoint.model
        self.found.acts[model].add(frame + memory, late=turn.tick >= self.ticks - self.found.day)
        seen += [(turn.tick, 12 + len(shown.text) // 4) for shown in turn.feed]
        roll = hashlib.sha256(f"{turn.agent} {turn.tick}".encode()).digest()
        if roll[0] < 102 and turn.feed and "reply" in turn.actions:  # two in five answer
            return Act("reply", roll[1] % len(turn.feed), WORDS, turn.topics[roll[2] % len(turn.topics)], 0.5)
        if roll[0] < 153 and "post" in turn.actions:  # one in five posts
            return Act("post", None, WORDS, turn.topics[roll[2] % len(turn.topics)], -0.5)
        return Act("nothing")


def _world(cell: Cell, ticks: int, found: Rehearsal) -> Any:
    from simflow.world.builtin import BuiltinEngine
    from simflow.world.spoken import SpokenEngine

    spoken = any((p.engine or cell.models.engine) == "llm" for p in cell.personas)
    engine = SpokenEngine(cell, _Chatter(cell, ticks, found)) if spoken else BuiltinEngine(cell)
    return engine.advance(engine.begin(), 0, ticks)


def _read(cell: Cell, step: Any, ticks: int, found: Rehearsal) -> None:
    from simflow.llm.extractor import ModelExtractor
    from simflow.llm.room import Room
    from simflow.memory.linking import Names
    from simflow.memory.passages import READ_KINDS, passages, texts_of
    from simflow.run.parts import Parts

    room = Room.of(cell)
    extractor = ModelExtractor(cell, room)
    cheap = Parts(dataclasses.replace(cell, models=Models())).extractor()
    rows = [r for r in step.episodes.to_pylist() if r["kind"] in READ_KINDS and (r["text"] or "").strip()]
    texts = texts_of(step.episodes, [r[k] for r in rows for k in ("parent", "root") if r[k] is not None])
    names = Names(step.agents)
    every, size = cell.extract.every, cell.extract.batch
    whole = ticks // every * every  # what comes after the last whole batch waits
    for start in range(0, whole, every):
        batch = passages([r for r in rows if start <= r["tick"] < start + every], names, texts)
        hard = _hard(cell, batch, cheap)
        found.passages += len(hard)
        for at in range(0, len(hard), size):
            chunk = hard[at : at + size]
            found.reading.add(room.count(extractor.question(chunk)), late=start == whole - every)


def _hard(cell: Cell, batch: list[Any], cheap: Any) -> list[Any]:
    from simflow.llm.cascade import Cascade

    cascade = Cascade(cell, Silent(), cheap=cheap)
    return cascade.remaining(batch)


class Silent:
    """An embedder where none is needed."""

    id = "none"
    dimension = 1

    def embed(self, texts: Sequence[str]) -> Any:
        """Nothing, for all."""
        import numpy as np

        return np.zeros((len(texts), 1), np.float32)
