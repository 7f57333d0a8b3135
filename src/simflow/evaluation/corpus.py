"""A folder of conversations and questions with evidence, as plain values: read, checked, put in order of time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.episode import sentence
from simflow.errors import BadInput, NotFound

EPISODES, QUESTIONS = "episodes.jsonl", "questions.jsonl"
SMALL = 10
"""Turns of a conversation of which a ranking of ten tells nothing."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that was said. `text` holds what was written and, in brackets, what a picture shows.

    Turns are in order of `ts`, if all have one, then of `at`: tick, place in the conversation, line.
    """

    id: str
    actor: str
    text: str
    session: str | None
    ts: str
    at: tuple[float, ...]

    @property
    def sentence(self) -> str:
        """What is embedded."""
        return sentence("message", self.actor, text=self.text)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the places of its evidence among the turns of its conversation.

    A time at which it was asked (`asof`) is not read: in a published set, one evidence turn in thirteen lies after its question.
    """

    id: str
    category: str
    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation in order of time, and what is asked about it."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder that was read. notes: what a person should know: questions without evidence, evidence that is no episode, empty texts."""

    name: str
    talks: tuple[Talk, ...]
    pooled: bool
    notes: dict[str, int] = field(default_factory=dict)

    @property
    def questions(self) -> int:
        """How many questions have evidence."""
        return sum(len(t.questions) for t in self.talks)


def read(folder: Path, *, pooled: bool | None = None) -> Corpus:
    """Read `episodes.jsonl` and `questions.jsonl`.

    pooled: all conversations as one, so that each question is asked of everything; None does so where half of the conversations have at
    most ten turns, of which the best ten would be all.

    Raises NotFound for a missing file, BadInput with file and line for a row that cannot be used.
    """
    rows = list(_rows(folder / EPISODES, ("id", "text")))
    if pooled is None:
        sizes = sorted(Counter(str(row.get("conv") or "") for _, row in rows).values())
        pooled = bool(sizes) and sizes[(len(sizes) - 1) // 2] <= SMALL
    seen: dict[str, str] = {}
    talks: dict[str, list[Turn]] = {}
    notes: dict[str, int] = {}
    for line, row in rows:
        if row["id"] in seen:
            raise BadInput(f"{folder / EPISODES}:{line}: the id '{row['id']}' is used twice", hint="ids of episodes are unique in a corpus")
        conversation = "" if pooled else str(row.get("conv") or "")
        seen[row["id"]] = conversation
        talks.setdefault(conversation, []).append(_turn(row, line, folder))
    timed = all(turn.ts for turns in talks.values() for turn in turns)
    for turns in talks.values():
        turns.sort(key=lambda t: (t.ts if timed else "", *t.at))
    place = {name: {turn.id: at for at, turn in enumerate(turns)} for name, turns in talks.items()}
    questions: dict[str, list[Question]] = {}
    for line, row in _rows(folder / QUESTIONS, ("id", "question")):
        evidence = row.get("evidence") or []
        if not isinstance(evidence, list):
            raise BadInput(f"{folder / QUESTIONS}:{line}: evidence is a list of episode ids, not {json.dumps(evidence)[:60]}")
        known = [e for e in dict.fromkeys(map(str, evidence)) if e in seen]
        _count(notes, "evidence that is no episode", len(set(map(str, evidence))) - len(known))
        if not known:
            _count(notes, "questions without evidence", 1)
            continue
        name = seen[known[0]]
        if any(seen[e] != name for e in known):
            raise BadInput(
                f"{folder / QUESTIONS}:{line}: the evidence lies in several conversations",
                hint="--scope pool asks all conversations as one",
            )
        questions.setdefault(name, []).append(
            Question(
                str(row["id"]),
                str(row.get("category") or "all"),
                str(row["question"]),
                tuple(sorted(place[name][e] for e in known)),
            )
        )
    _count(notes, "episodes without text", sum(not t.text for turns in talks.values() for t in turns))
    found = tuple(Talk(name, tuple(turns), tuple(questions.get(name, ()))) for name, turns in talks.items())
    if not any(t.questions for t in found):
        raise BadInput(
            f"{folder / QUESTIONS} has no question with evidence", hint="evidence: [ids of episodes], one list for each question"
        )
    return Corpus(folder.resolve().name, found, pooled, notes)


def _turn(row: dict[str, Any], line: int, folder: Path) -> Turn:
    caption = row.get("image_caption")
    text = f"{row['text'] or ''} [picture: {caption}]" if caption else row["text"] or ""
    try:
        at = (float(row.get("tick") or 0), float(row.get("seq") or 0), line)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{folder / EPISODES}:{line}: tick and seq are numbers ({error})") from error
    session = None if row.get("session") is None else f"{row.get('conv')}/{row['session']}"
    return Turn(str(row["id"]), str(row.get("actor") or "somebody"), str(text).strip(), session, str(row.get("ts") or ""), at)


def _rows(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise NotFound(f"{path} is missing", hint=f"a corpus is a folder with {EPISODES} and {QUESTIONS}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as UTF-8 text: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{path}:{number}: not a JSON object ({error})") from error
        if not isinstance(row, dict) or any(key not in row for key in needed):
            raise BadInput(f"{path}:{number}: needs {' and '.join(needed)}", hint=f"one JSON object a line, with {', '.join(needed)}")
        yield number, row


def _count(notes: dict[str, int], what: str, more: int) -> None:
    if more:
        notes[what] = notes.get(what, 0) + more
