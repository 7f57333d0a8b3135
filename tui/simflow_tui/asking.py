"""Questions to a run's memory: recall for a situation, and beliefs walked down to raw events. They are answered where memory is cheap."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from simflow.errors import SimflowError
from simflow.runs import RunRecord

if TYPE_CHECKING:
    from simflow.memory.block import Block
    from simflow.memory.explain import Explanation

MODES = ("hybrid", "graph", "vectors")
SCOPES = ("witnessed", "world")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of whom. `mode` and `scope` as in the scenario's `memory`; None is the scenario's own. `tick` None is the end."""

    run: str
    windows: int
    agent: int
    tick: int | None = None
    about: str = ""
    mode: str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The block, or what went wrong and what to do about it."""

    question: Question
    block: Block | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What an agent believes as of a tick: one explanation for each thing that it ever had an opinion on, or what went wrong."""

    question: Question
    found: Sequence[Explanation] = ()
    end: int = 0
    changes: tuple[int, ...] = field(default=())
    trouble: str = ""


class Answerer(Protocol):
    """Who answers."""

    def recall(self, home: Path, record: RunRecord, question: Question) -> Answer:
        """The memory block that the agent would be given."""

    def beliefs(self, home: Path, record: RunRecord, question: Question) -> Beliefs:
        """Each belief about the agent as of the tick, with its edges, statements and raw events."""

    def rest(self) -> None:
        """Let go of what was read if nobody has asked for a while."""

    def close(self) -> None:
        """Let go of what was read."""


class Asker:
    """Answers in this process: keeps the memory of one run open between questions; a new window opens it anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._for: tuple[str, int] | None = None
        self._view: Any = None

    def recall(self, home: Path, record: RunRecord, question: Question) -> Answer:
        """The memory block that the agent would be given."""
        with self._lock:
            try:
                view = self._open(home, record, question)
                changes = {k: v for k, v in {"mode": question.mode, "scope": question.scope}.items() if v is not None}
                memory = replace(view.cell.memory, **changes)
                return Answer(question, view.recall(question.agent, question.tick, question.about, memory=memory))
            except (SimflowError, OSError, KeyError, ValueError) as error:
                return Answer(question, trouble=said(error))

    def beliefs(self, home: Path, record: RunRecord, question: Question) -> Beliefs:
        """Each belief about the agent as of the tick, with its edges, statements and raw events."""
        with self._lock:
            try:
                view = self._open(home, record, question)
                end = view.as_of
                found = view.beliefs(question.agent, tick=end if question.tick is None else min(question.tick, end))
                changes = {held.valid_from for e in found for held in e.edges} | {
                    h.valid_to for e in found for h in e.edges if h.valid_to is not None
                }
                return Beliefs(question, found, end, tuple(sorted(changes)))
            except (SimflowError, OSError, KeyError, ValueError) as error:
                return Beliefs(question, trouble=said(error))

    def rest(self) -> None:
        """Keep what was read: this is where it is asked for."""

    def close(self) -> None:
        """Let go of what was read."""
        with self._lock:
            self._for = self._view = None

    def _open(self, home: Path, record: RunRecord, question: Question) -> Any:
        from simflow import memory  # noqa: PLC0415 - brings numpy, pyarrow and the sentence model
        from simflow.store import Store  # noqa: PLC0415

        key = (str(record.path), question.windows)
        if self._for != key:
            self._for, self._view = None, None
            self._view = memory.open(Store(home).open(record))
            self._for = key
        return self._view


def said(error: Exception) -> str:
    """An error in words, with its hint."""
    hint = getattr(error, "hint", None)
    return f"{error}. {hint}" if hint else str(error)
