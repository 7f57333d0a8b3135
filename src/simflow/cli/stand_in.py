"""Stands in for a model that reads, before anybody asks one: every question is written and counted, and its answer guessed.

Cascade, batches, repairs and beliefs are those of a run. Guessed is what a text says: what the built-in extractor would say if it had to answer.
Beyond that, two habits of a model decide what a run costs. Lines that it leaves out are asked again in smaller batches; and where it
disagrees with readings that the built-in extractor was sure of, an audit has the others of their batch read again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from simflow.llm import reading
from simflow.llm.cascade import TOLERATED, Cascade
from simflow.llm.endpoint import Endpoint
from simflow.llm.extractor import ModelExtractor
from simflow.llm.ontology import PER_LINE
from simflow.llm.reading import Line
from simflow.llm.room import Answer, Question, Room, count
from simflow.llm.wire import Unreachable, Unusable
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.plan import Cell
from simflow.ports import Extraction, Finding, Passage

M = TypeVar("M", bound=BaseModel)
F64 = npt.NDArray[np.float64]
"""(calls, prompt tokens, answer tokens), or a row of that for each draw."""
DRAWS = 200
"""How often it is drawn with which of the audited readings the model disagrees."""
FINDS = 0.5
"""Share of the texts in which a model finds something where the built-in extractor has no idea."""
FORGETS = 0.01
"""Share of lines that a model leaves out of its answers in the P90; in the P50 none."""
PRICED = 4
"""Calls by which the price of reading a whole batch again is told."""
ERRS = TOLERATED
"""Share of sure readings that a model disagrees with in the P90 beyond those that are wrong: as many as an audit puts up with."""


class Doubts(NamedTuple):
    """What an audit has read again, by draw: with the sample that this batch's audit takes, and with another, as in batches to come.

    usual: a model disagrees where the built-in extractor is wrong. harsh: and in `ERRS` of all.
    """

    usual: F64
    harsh: F64
    usual_later: F64
    harsh_later: F64


@dataclass(frozen=True, slots=True)
class Read:
    """What one batch of extraction costs. `tick`: its first one. `texts`: in it, whoever reads them.

    plain: with a model that leaves no line out; careless: with one that leaves out `FORGETS`.
    """

    tick: int
    texts: int
    plain: F64
    careless: F64
    doubts: Doubts


def measure(answer: Any) -> int:
    """Tokens of an answer: its JSON without spaces, as prompts show it, in the encoding that prompts are counted in."""
    written = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return count({"messages": [{"content": written}]}) - count({"messages": [{"content": ""}]})


class Counting(Room):
    """A room in which questions are counted and get guessed answers. `bill`: of all that has been asked."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(replace(endpoint, taping="off"))
        self.bill: F64 = np.zeros(3)
        self.guesses: dict[str, dict[str, Any]] = {}

    def ask_all(self, questions: Sequence[Question[M]]) -> list[Answer[M] | Unusable | Unreachable]:
        """The guess for each question."""
        answers: list[Answer[M] | Unusable | Unreachable] = [self._guess(question) for question in questions]
        self.guesses.clear()
        return answers

    def _guess(self, question: Question[M]) -> Answer[M]:
        said = self.guesses[question.text]  # equal questions get equal answers
        sent, answered = self.count(question), measure(said)
        self.bill += (1, sent, answered)
        return Answer(question.shape.model_validate(said), sent, answered, replayed=False)


class Guessing(ModelExtractor):
    """The extractor of a run in a room that counts. `guesses`: what texts say, by episode; `forgets`: share of the lines that an answer leaves out."""

    room: Counting

    def __init__(self, cell: Cell, guesses: dict[int, Sequence[Finding]], *, forgets: float = 0.0) -> None:
        super().__init__(cell, Counting(Endpoint.from_environment(cell.models.model)))
        self.forgets, self.guesses = forgets, guesses
        self.bold = BuiltinExtractor(cell, sure=0.0)
        self.plain = next((c.number for c in self.codes.values() if not c.towards_agent), 0)
        self.numbers = {(c.kind.name, c.towards_agent, c.topic): c.number for c in self.codes.values()}

    def question(self, passages: Sequence[Passage], attempt: int = 0) -> Question[BaseModel]:
        """As a run asks; the answer is laid ready."""
        asked = super().question(passages, attempt)
        self.room.guesses[asked.text] = self._answer(passages, asked.text)
        return asked

    def bill(self, passages: Sequence[Passage]) -> F64:
        """What reading some passages costs, all that is asked again included."""
        before = self.room.bill.copy()
        if passages:
            self.extract(passages)
        return self.room.bill - before

    def _answer(self, passages: Sequence[Passage], text: str) -> dict[str, Any]:
        said: dict[int, list[dict[str, int]]] = {}
        for line in reading.lines(passages):
            if self.forgets and _lot(f"{line.passage.episode} {text}") < self.forgets:
                continue
            episode = line.passage.episode
            if episode not in self.guesses:
                self.guesses[episode] = self.bold.extract([line.passage]).findings
            items = [item for f in self.guesses[episode] if (item := self._item(line, f)) is not None]
            said[line.number] = items or (
                [{"e": line.number, "c": self.plain, "v": 0}] if self.plain and _lot(f"{episode}") < FINDS else []
            )
        if self.style == "each":
            return {str(number): [[i["c"], i["v"]] for i in items][:PER_LINE] for number, items in said.items()}
        return {"r": [item for items in said.values() for item in items], "n": [number for number, items in said.items() if not items]}

    def _item(self, line: Line, found: Finding) -> dict[str, int] | None:
        towards = found.on_agent is not None
        code = self.numbers.get((found.kind, towards, found.about if towards else found.on_topic))
        people = [agent for agent, _ in line.people]
        if code is None or (towards and found.on_agent not in people):
            return None
        person = people.index(found.on_agent) + 1 if found.on_agent in people else 1
        named = {"a": person} if person > 1 and self.style == "compact" else {}
        return {"e": line.number, "c": code, **named, "v": max(-2, min(2, round(2 * found.value)))}


class Rehearsed(Cascade):
    """The cascade of a run with a stand-in for its model. `reads`: what each batch costs."""

    def __init__(self, cell: Cell) -> None:
        guesses: dict[int, Sequence[Finding]] = {}
        self.guessing, self.forgetful, self.second = (Guessing(cell, guesses, forgets=share) for share in (0.0, FORGETS, 0.0))
        super().__init__(cell, Silent(), room=self.guessing.room, model=self.guessing)
        self.reads: list[Read] = []
        self._firsts: dict[int, Passage] = {}
        self._asked: list[Passage] = []
        self._again = Doubts(*np.zeros((4, DRAWS, 3)))

    def extract(self, batch: Sequence[Passage]) -> Extraction:
        """As a run reads a batch, with nothing doubted; what it costs, and what doubts would, is added to `reads`."""
        room = self.guessing.room
        before = room.bill.copy()
        found = super().extract(batch)
        every = self.cell.extract.every
        tick = max((p.tick for p in batch), default=0) // every * every
        self.reads.append(Read(tick, len(batch), room.bill - before, self.forgetful.bill(self._asked), self._again))
        return found

    def _sorted(self, firsts: Sequence[Passage]) -> tuple[dict[int, list[Finding]], list[Passage], list[Passage]]:
        accepted, hard, audited = super()._sorted(firsts)
        self.guessing.guesses.update(accepted)  # what it is sure of it would say, too
        self._firsts, self._asked = {p.episode: p for p in firsts}, [*hard, *audited]
        return accepted, hard, audited

    def _doubted(self, accepted: Mapping[int, Sequence[Finding]], wrong: Mapping[int, bool]) -> set[int]:
        # A reading is as likely to be wrong as it is unsure. What doubts would cost is drawn; the rehearsal goes on without them.
        odds = np.array([1 - math.prod(f.confidence for f in found) for found in accepted.values()])
        prices: dict[int, F64] = {}
        self._again = Doubts(
            *(self._drawn_doubts(accepted, odds + more, here, prices) for here in (set(wrong), None) for more in (0.0, ERRS)),
        )
        return set()

    def _drawn_doubts(self, accepted: Mapping[int, Sequence[Finding]], odds: F64, audited: set[int] | None, prices: dict[int, F64]) -> F64:
        # audited: of this batch; None draws them, too, as for a batch to come.
        bills, episodes = np.zeros((DRAWS, 3)), list(accepted)
        fixed = np.isin(episodes, list(audited or ()))
        for draw, (seen, errs) in enumerate(_luck(self.cell.seed, episodes)):
            looked = seen < self.cell.extract.audit if audited is None else fixed
            if not (looked & (errs < odds)).any():
                continue
            wrong = {episodes[at]: bool(errs[at] < odds[at]) for at in np.flatnonzero(looked)}
            doubted = super()._doubted(accepted, wrong)
            if doubted and len(doubted) not in prices:  # those less sure than some confidence: as many are the same
                some = [p for e, p in self._firsts.items() if e in doubted][: PRICED * self.second.size]
                prices[len(doubted)] = self.second.bill(some) / len(some)
            bills[draw] = len(doubted - wrong.keys()) * prices.get(len(doubted), np.zeros(3))
        return bills


class Silent:
    """An embedder where none is needed."""

    id = "none"
    dimension = 1

    def embed(self, texts: Sequence[str]) -> Any:
        """Nothing, for all."""
        return np.zeros((len(texts), 1), np.float32)


def _luck(seed: int, episodes: Sequence[int]) -> F64:
    """Uniform numbers, shape (DRAWS, 2, episodes): the same for the same batch."""
    return np.random.default_rng([seed, *episodes[:1], len(episodes)]).random((DRAWS, 2, len(episodes)))


def _lot(name: str) -> float:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64
