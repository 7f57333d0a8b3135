"""Relations from text by a model, in batches, with nothing lost: every passage ends as found, as nothing, or parked with its reason."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from simflow.llm import reading
from simflow.llm.evenness import Evenness
from simflow.llm.ontology import Code, Style, codes, shape
from simflow.llm.reading import Line
from simflow.llm.room import Answer, Question, Room
from simflow.llm.wire import Unreachable, Unusable
from simflow.plan import Cell
from simflow.ports import Extraction, Finding, Passage

ROUND, WIDEST = 4, 32
"""Calls that are sent off together: at first, and at most. After a round in which no line was left out twice as many are; else as few as at first.

Answers alone decide it, so that batch sizes, and with them results, do not depend on concurrency.
"""
TRIES = 2
SMALLEST = 4
OMITTED = 0.03
_SURE = {0: 0.6, 1: 0.75, 2: 0.9}
_TOKENS: dict[Style, tuple[int, int]] = {"compact": (60, 60), "full": (120, 240), "each": (60, 60)}


@dataclass(frozen=True, slots=True)
class _Job:
    """Passages that one call reads. `tries`: how often exactly these were asked before. `repair`: they are asked again."""

    passages: tuple[Passage, ...]
    tries: int = 0
    repair: bool = False


@dataclass(slots=True)
class _Result:
    findings: list[Finding] = field(default_factory=list)
    nothing: list[int] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)


class ModelExtractor:
    """Asks a model. `size`: passages a call, at most; it shrinks when answers leave passages out and grows back.

    It is halved for good, as far as one extraction goes, when the halves of batches yield unequally (`Evenness`). `settled`: the size at the
    end of the last extraction.

    Guards, all without a model: a line number must be one of the batch, a person one of the line, an author (style `full`) the line's,
    a quote a part of the text; what fails is dropped, and a passage of which nothing is left is asked again alone with its like. A call
    that fails is halved until the passages at fault stand alone.
    """

    def __init__(self, cell: Cell, room: Room, *, style: Style | None = None, size: int | None = None, phase: str = "extract") -> None:
        self.room = room
        self.style: Style = style or ("each" if room.endpoint.local else "compact")
        self.size = max(1, size or cell.extract.batch)
        self.settled = self.size
        self.phase = phase
        self.seed = cell.seed
        self.codes: dict[int, Code] = {c.number: c for c in codes(cell.extract.relations, cell.topics, cell.extract.entities)}
        self.stable = reading.stable(cell.topics, tuple(self.codes.values()), self.style, cell.extract.entities)
        self.counts: Counter[str] = Counter()

    @property
    def id(self) -> str:
        """Model, mode, style and prompt version: what changes answers."""
        return f"llm/{self.room.endpoint.model}/{self.room.endpoint.mode}/{self.style}@{reading.VERSION}"

    def extract(self, batch: Sequence[Passage]) -> Extraction:
        """Find relations. Raises EndpointFailed or LimitReached, having lost nothing: answers received are recorded."""
        result = _Result()
        threads = deque(_threads(batch))
        repairs: deque[_Job] = deque()
        size, clean, most, wide = self.size, 0, self.size, ROUND
        halves = Evenness()
        while threads or repairs:
            jobs = [repairs.popleft() for _ in range(min(wide, len(repairs)))]
            while threads and len(jobs) < wide:
                jobs.append(_Job(_fill(threads, size)))
            wide = min(WIDEST, 2 * wide)
            answers = self.room.ask_all([self.question(job.passages, job.tries) for job in jobs])
            for job, answer in zip(jobs, answers, strict=True):
                self.counts["calls"] += 1
                missing = self._take(job, answer, result, repairs)
                if job.repair:
                    continue
                if not isinstance(answer, Unusable | Unreachable):
                    spoken = {f.episode for f in result.findings}
                    halves.note([p.episode in spoken for p in job.passages])
                if missing > OMITTED * len(job.passages):
                    size, clean, wide = max(min(SMALLEST, self.size), size // 2), 0, ROUND
                    self.counts["shrunk"] += 1
                else:
                    clean += 1
                    if clean % 3 == 0:
                        size = min(most, size + 4)
            if size > 1 and halves.uneven:
                size, clean = max(1, size // 2), 0
                most = size
                halves.clear()
                self.counts["uneven"] += 1
        self.settled = size
        return Extraction(tuple(result.findings), tuple(result.nothing), result.failed)

    def batches(self, texts: Sequence[Passage], size: int) -> list[tuple[Passage, ...]]:
        """How texts would be asked about, at most `size` a call."""
        threads = deque(_threads(texts))
        found = []
        while threads:
            found.append(_fill(threads, size))
        return found

    def once(self, passages: Sequence[Passage]) -> list[Finding]:
        """What one call finds in passages, in the order given; nothing is asked again. An answer that cannot be used finds nothing."""
        (answer,) = self.room.ask_all([self.question(passages)])
        if isinstance(answer, Unreachable):
            raise answer
        return [] if isinstance(answer, Unusable) else self._checked(reading.lines(passages), answer.value)[0]

    def question(self, passages: Sequence[Passage], attempt: int = 0) -> Question[BaseModel]:
        """What is sent for some passages."""
        batch = reading.lines(passages)
        people = max((len(line.people) for line in batch), default=0)
        fixed, each = _TOKENS[self.style]
        return Question(
            phase=self.phase,
            stable=self.stable,
            text=reading.text(batch),
            shape=shape(tuple(self.codes.values()), len(batch), people, self.style),
            most=fixed + each * len(batch),
            seed=self.seed + attempt,
            attempt=attempt,
            about={"tick": min((p.tick for p in passages), default=0), "lines": len(batch)},
        )

    def notes(self) -> dict[str, int]:
        """Calls, passages asked again, halvings, guards that struck, passages given up on."""
        return dict(self.counts)

    def _take(self, job: _Job, answer: Answer[BaseModel] | Unusable | Unreachable, result: _Result, repairs: deque[_Job]) -> int:
        # Number of passages that the answer left out.
        if isinstance(answer, Unreachable):
            raise answer
        if isinstance(answer, Unusable):
            self._split(job, str(answer), result, repairs)
            return len(job.passages)
        batch = reading.lines(job.passages)
        found, nothing = self._checked(batch, answer.value)
        result.findings += found
        spoken = {f.episode for f in found}
        result.nothing += [e for e in nothing if e not in spoken]
        missing = tuple(p for p in job.passages if p.episode not in spoken and p.episode not in nothing)
        if missing and len(missing) == len(job.passages):
            self._split(job, "the model left it out of its answer", result, repairs)
        elif missing:
            self.counts["asked_again"] += len(missing)
            repairs.append(_Job(missing, repair=True))
        return len(missing)

    def _split(self, job: _Job, reason: str, result: _Result, repairs: deque[_Job]) -> None:
        if len(job.passages) > 1:
            self.counts["halved"] += 1
            half = (len(job.passages) + 1) // 2
            repairs.extend([_Job(job.passages[:half], repair=True), _Job(job.passages[half:], repair=True)])
        elif job.tries + 1 < TRIES:
            self.counts["asked_again"] += 1
            repairs.append(replace(job, tries=job.tries + 1, repair=True))
        else:
            self.counts["parked"] += 1
            result.failed[job.passages[0].episode] = reason

    def _checked(self, batch: Sequence[Line], value: BaseModel) -> tuple[list[Finding], list[int]]:
        found: dict[tuple[Any, ...], Finding] = {}
        items, nothing = self._said(value)
        for item in items:
            finding = self._finding(batch, item)
            if finding is None:
                self.counts["refused_by_guard"] += 1
                continue
            found.setdefault((finding.episode, finding.kind, finding.of, finding.on_agent, finding.on_topic, finding.about), finding)
        return list(found.values()), list(dict.fromkeys(batch[n - 1].passage.episode for n in nothing))

    def _said(self, value: BaseModel) -> tuple[list[dict[str, Any]], Sequence[int]]:
        # (relations, numbers of lines without any) of an answer in any style.
        if self.style == "each":
            lines = {int(line): pairs for line in value.model_fields_set if (pairs := getattr(value, line)) is not None}
            return (
                [{"e": line, "c": code, "v": strength} for line, pairs in sorted(lines.items()) for code, strength in pairs],
                [line for line, pairs in sorted(lines.items()) if not pairs],
            )
        full = self.style == "full"
        relations: Sequence[BaseModel] = getattr(value, "relations" if full else "r")
        return [item.model_dump() for item in relations], getattr(value, "without_relation" if full else "n")

    def _finding(self, batch: Sequence[Line], item: dict[str, Any]) -> Finding | None:
        line = batch[item["episode" if self.style == "full" else "e"] - 1]
        code = self.codes[item["relation" if self.style == "full" else "c"]]
        strength = int(item["strength" if self.style == "full" else "v"])
        quote = item.get("quote")
        passage = line.passage
        if self.style == "full":
            if reading.handle(item["author"]) != reading.handle(passage.actor_id):
                return None
            quote = _located(quote or "", passage.text)
            if quote is None:
                return None
        on_agent = None
        if code.towards_agent:
            person = int(item["person"] if self.style == "full" else item.get("a", 1))
            if person > len(line.people):
                return None
            on_agent = line.people[person - 1][0]
        of, on = (on_agent, passage.actor) if code.kind.name == "influence" and on_agent is not None else (passage.actor, on_agent)
        return Finding(
            episode=passage.episode,
            kind=code.kind.name,
            of=of,
            on_agent=on,
            on_topic=None if code.towards_agent else code.topic,
            about=code.topic if code.towards_agent else None,
            value=strength / 2,
            confidence=_SURE[abs(strength)],
            quote=quote,
        )


def _located(quote: str, text: str) -> str | None:
    # The quote as it stands in the text. The model saw the text cleaned, so spaces may differ; nothing else may.
    if quote and quote in text:
        return quote
    words = quote.split()
    if not words:
        return None
    at = text.find(words[0])
    while at >= 0:
        end = at
        for word in words:
            end += len(text[end:]) - len(text[end:].lstrip())
            if not text.startswith(word, end):
                break
            end += len(word)
        else:
            return text[at:end]
        at = text.find(words[0], at + 1)
    return None


def _threads(batch: Iterable[Passage]) -> Iterator[list[Passage]]:
    # Threads whole, each in the order given (time); threads in an order that does not follow time, so that no position in a batch is always early.
    by_root: dict[int, list[Passage]] = {}
    for passage in batch:
        by_root.setdefault(passage.episode if passage.root is None else passage.root, []).append(passage)
    for root in sorted(by_root, key=lambda r: hashlib.sha256(str(r).encode()).digest()):
        yield by_root[root]


def _fill(threads: deque[list[Passage]], size: int) -> tuple[Passage, ...]:
    # One batch: whole threads while they fit; a thread longer than a batch is cut in order of time.
    taken: list[Passage] = []
    while threads and len(taken) < size:
        head = threads[0]
        if len(head) <= size - len(taken):
            taken += threads.popleft()
        elif taken:
            break
        else:
            taken = head[:size]
            threads[0] = head[size:]
    return tuple(taken)
