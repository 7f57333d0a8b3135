"""Agents that speak: a turn becomes a question, its answer an act. Whatever goes wrong with one turn is a recorded "did nothing"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from simflow.llm import acting
from simflow.llm.reading import clean
from simflow.llm.room import Answer, Question, Room
from simflow.llm.wire import Unreachable, Unusable
from simflow.plan import Cell
from simflow.ports import Act, Turn, Usage

MOST = 400
"""Tokens that an answer may have."""
WARMTH = 0.7
"""Sampling temperature: people differ. Answers are recorded, so a replay is exact; a provider's own repeat need not be."""


class ModelSpeaker:
    """Offers Speaker and Remote. One call a turn, none is asked twice: what a model cannot decide at once stays undone."""

    def __init__(self, cell: Cell, room: Room | None = None) -> None:
        self.cell = cell
        self.room = room or Room.of(cell)
        self.counts: Counter[str] = Counter()

    @property
    def id(self) -> str:
        """Models, mode and prompt version."""
        models = sorted({m for m in (self.room.endpoint.model, *(p.model for p in self.cell.personas)) if m})
        return f"speaker/{'+'.join(models)}/{self.room.endpoint.mode}@{acting.VERSION}"

    def speak(self, turns: Sequence[Turn]) -> list[Act]:
        """One act a turn, in the order of the turns. Raises EndpointFailed or LimitReached where no turn could succeed."""
        answers = self.room.ask_all([self.question(turn) for turn in turns])
        return [self._act(turn, answer) for turn, answer in zip(turns, answers, strict=True)]

    def question(self, turn: Turn) -> Question[BaseModel]:
        """What is sent for a turn."""
        return Question(
            phase="act",
            stable=acting.stable(turn.actions, turn.topics, self.cell.language.code),
            text=acting.text(turn),
            shape=acting.shape(turn.actions, len(turn.feed), len(turn.topics)),
            most=MOST,
            model=turn.model,
            temperature=WARMTH,
            seed=turn.seed & 0x7FFFFFFF,
            about={"agent": turn.id, "tick": turn.tick},
        )

    def keep_in(self, home: Path) -> None:
        """Keep recordings and the account under `home`."""
        self.room.keep_in(home)

    def ready(self) -> None:
        """Raise BadInput if a model could not be asked."""
        self.room.ready(*dict.fromkeys(p.model for p in self.cell.personas if self.cell.speaks_for(p)))

    def usage(self) -> tuple[Usage, ...]:
        """What the cell has spent in this process."""
        return self.room.usage()

    def notes(self) -> dict[str, int | float | str]:
        """Since last asked: turns, and those that came to nothing by kind of fault."""
        found: dict[str, int | float | str] = dict(self.counts)
        self.counts.clear()
        return found

    def _act(self, turn: Turn, answer: Answer[BaseModel] | Unusable | Unreachable) -> Act:
        self.counts["turns"] += 1
        if isinstance(answer, Unreachable) or (isinstance(answer, Unusable) and answer.kind == "unanswered"):
            self.counts["turns_unreachable"] += 1
            return Act("nothing", reason="unreachable")
        if isinstance(answer, Unusable):
            self.counts[f"turns_{answer.kind}"] += 1
            return Act("nothing", reason=str(answer))
        decided: Any = answer.value
        chosen: dict[str, Any] = decided.turn.model_dump()
        paid, got = answer.tokens_in, answer.tokens_out
        kind = str(chosen["act"])
        words = clean(chosen["text"], acting.LONGEST) if "text" in chosen else None
        if words == "":
            self.counts["turns_invalid"] += 1
            return Act("nothing", reason="invalid: words without a visible character", tokens_in=paid, tokens_out=got)
        number = int(chosen.get("topic", 0))
        return Act(
            kind,
            post=chosen["post"] - 1 if "post" in chosen else None,
            text=words,
            topic=turn.topics[number - 1] if number else None,
            stance=chosen["stance"] / 2 if number else None,
            tokens_in=paid,
            tokens_out=got,
        )
