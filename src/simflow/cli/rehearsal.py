"""A dry run of the calls of a cell: who would have a turn when, what would be sent, counted in tokens, with nobody asked.

Turns and feeds are those of the run itself, since who is awake depends on the seed alone. Memory follows as in a run, so a turn is given what it would
remember. What nobody can know before is what a model will say: here every turn says something of ordinary length now and then.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.plan import Cell, Models
from simflow.ports import Act, Turn

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
class Calls:
    """Calls, prompt and answer tokens in the sampled ticks, and those of the last day of them, for going on from there."""

    calls: float = 0.0
    tokens: float = 0.0
    answers: float = 0.0
    late_calls: float = 0.0
    late_tokens: float = 0.0
    late_answers: float = 0.0

    def add(self, tokens: float, answer: float, *, late: bool) -> None:
        """One call."""
        self.calls += 1
        self.tokens += tokens
        self.answers += answer
        if late:
            self.late_calls += 1
            self.late_tokens += tokens
            self.late_answers += answer

    def over(self, ticks: int, sampled: int, day: int) -> tuple[float, float, float]:
        """(calls, prompt tokens, answer tokens) over `ticks`, the rest at the rate of the last day."""
        more = max(0, ticks - sampled) / day
        return self.calls + more * self.late_calls, self.tokens + more * self.late_tokens, self.answers + more * self.late_answers


@dataclass(slots=True)
class Rehearsal:
    """`acts` by model; `reading` of extraction."""

    sampled: int
    day: int
    acts: dict[str, Calls] = field(default_factory=lambda: defaultdict(Calls))
    reading: Calls = field(default_factory=Calls)


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

        self.ticks, self.found = ticks, found
        self.speaker = ModelSpeaker(cell, Room.of(cell))

    def speak(self, turns: Sequence[Turn]) -> list[Act]:
        """One act a turn; counts what each would cost."""
        return [self._one(turn) for turn in turns]

    def _one(self, turn: Turn) -> Act:
        sent = self.speaker.room.count(self.speaker.question(turn))
        model = turn.model or self.speaker.room.endpoint.model
        act = self._act(turn)
        answer = measure(said(act, turn))
        self.found.acts[model].add(sent, answer, late=turn.tick >= self.ticks - self.found.day)
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


def measure(answer: Any) -> int:
    """Tokens of an answer: its JSON, as models write it, in the encoding that prompts are counted in."""
    from simflow.llm.room import count

    return count({"messages": [{"content": json.dumps(answer, ensure_ascii=False)}]}) - count({"messages": [{"content": ""}]})


def _world(cell: Cell, ticks: int, found: Rehearsal) -> Any:
    from simflow.world.builtin import BuiltinEngine

    if any((p.engine or cell.models.engine) == "llm" for p in cell.personas):
        return _remembered(cell, ticks, found)
    engine = BuiltinEngine(cell)
    return engine.advance(engine.begin(), 0, ticks)


def _remembered(cell: Cell, ticks: int, found: Rehearsal) -> Any:
    """A run in a folder that is thrown away: the residents of the cell, speaking at random, with all of its memory and nobody asked."""
    from simflow.run import open_cell
    from simflow.world.spoken import SpokenEngine

    every = cell.extract.every
    clock = dataclasses.replace(cell.clock, ticks=ticks, window=max(every, -(-ticks // every) * every))
    personas = tuple(dataclasses.replace(p, engine=None) for p in cell.personas)
    free = dataclasses.replace(cell, clock=clock, models=Models(embedder=cell.models.embedder), personas=personas, outputs=None)
    with tempfile.TemporaryDirectory(prefix="simflow-rehearsal-") as folder:
        run = open_cell("rehearsal.yaml", free, Path(folder))
        engine: Any = SpokenEngine(dataclasses.replace(cell, clock=clock), _Chatter(cell, ticks, found))
        run.parts.engine = lambda: engine  # type: ignore[method-assign]
        for number in range(len(run.windows)):
            run.window(number)
        return Lived(run.data().agents(), run.data().table("episodes"))


@dataclass(frozen=True, slots=True)
class Lived:
    """What a rehearsal leaves of a world."""

    agents: Any
    episodes: Any


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
        for at in range(0, len(hard), size):
            chunk = hard[at : at + size]
            answer = measure(_readings(extractor, cheap, chunk))
            found.reading.add(room.count(extractor.question(chunk)), answer, late=start == whole - every)


def _readings(extractor: Any, cheap: Any, chunk: list[Any]) -> dict[str, Any]:
    # What the built-in extractor finds, as a model would say it; of what it finds nothing in, a model mostly finds something.
    code = next(iter(extractor.codes))
    found = [f for p in chunk for f in cheap.extract([p]).findings]
    numbers = {p.episode: n for n, p in enumerate(chunk, 1)}
    silent = [n for e, n in numbers.items() if e not in {f.episode for f in found}]
    relations = [{"e": numbers[f.episode], "c": code, "v": 1} for f in found] + [{"e": n, "c": code, "v": 0} for n in silent]
    return {"r": relations, "n": []}


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
