"""The ports: what a part must offer to take part in a run. Batched, synchronous, on one screen.

Every part that shapes results has an `id` that enters the content address of each window it touches: a new version, a new id.
Limits, retries, metering and caching are wrappers around a port, composed in `simflow.run`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa


State = dict[str, npt.NDArray[Any]]
"""What an engine needs to go on from a tick: named numpy arrays (no objects; text as fixed-width or utf-8 bytes)."""


@dataclass(frozen=True, slots=True)
class Step:
    """What an engine computed for ticks [start, stop): tables with the schemas of `simflow.episode`, and the state at `stop`.

    `agents` holds only the agents that are new in this step. `truth` is kept apart; nothing but evaluation and measures may read it.
    `notes` counts what a person should know (dropped rows, missing parents, unknown columns, ...).
    """

    agents: pa.Table
    episodes: pa.Table
    exposures: pa.Table
    turns: pa.Table
    state: State
    truth: Mapping[str, pa.Table] = field(default_factory=dict)
    notes: Mapping[str, int | str] = field(default_factory=dict)


class Progress(Protocol):
    """Told how far a stage is; may raise `simflow.errors.Stopped` to end the work between two ticks."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report `done` of `total` units of `stage`."""
        ...


class Recall(Protocol):
    """An agent's memory during a turn: the block that the agent is given, within its budgets."""

    def __call__(self, agent: int, tick: int, situation: str) -> str:
        """Return the block for `agent` at `tick` about `situation`."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Advances a world. Built from a cell; keeps nothing between calls that is not in the state."""

    id: str
    needs_recall: bool

    def begin(self) -> State:
        """The state before tick 0."""
        ...

    def advance(self, state: State, start: int, stop: int, *, recall: Recall | None = None, progress: Progress | None = None) -> Step:
        """Ticks [start, stop) from the state at `start`. The same state gives the same bytes, however a range is split."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Sentences to unit vectors."""

    id: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Shape (len(texts), dimension), unit length (zero for an empty text); independent of batching."""
        ...


@dataclass(frozen=True, slots=True)
class Held:
    """A belief that the memory has about a passage's actor before this batch, so that a cheap extractor can tell a contradiction."""

    kind: str
    on_agent: int | None
    on_topic: str | None
    about: str | None
    value: float


@dataclass(frozen=True, slots=True)
class Passage:
    """What an extractor may read of one episode: rendered words and who is concerned, nothing of the world's hidden state."""

    episode: int
    tick: int
    kind: str
    actor: int
    actor_id: str
    target: int | None
    target_id: str | None
    text: str
    parent: int | None = None
    parent_text: str | None = None
    root: int | None = None
    root_text: str | None = None
    lang: str | None = None
    mentions: tuple[tuple[str, int], ...] = ()
    held: tuple[Held, ...] = ()
    topic: str | None = None
    """What a recorded trace says that it is on, where it does."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One relation found in one passage. `value` in -1..1, `confidence` in 0..1, `quote` a substring of the passage's text."""

    episode: int
    kind: str
    of: int
    on_agent: int | None
    on_topic: str | None
    about: str | None
    value: float
    confidence: float
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of one batch. Each episode of the batch is in `findings`, in `nothing`, or in `failed` with its reason."""

    findings: tuple[Finding, ...]
    nothing: tuple[int, ...]
    failed: Mapping[int, str] = field(default_factory=dict)


@runtime_checkable
class Extractor(Protocol):
    """Text episodes to relations, in batches. Structured events (likes, follows, ...) become relations by rule, without it."""

    id: str

    def extract(self, batch: Sequence[Passage]) -> Extraction:
        """Find relations; the result accounts for each episode of the batch."""
        ...


@dataclass(frozen=True, slots=True)
class Shown:
    """One post in the feed of a turn, in the words that the agent sees; `episode` never leaves the engine's side of a prompt."""

    episode: int
    tick: int
    author_id: str
    kind: str
    text: str
    answers: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """An agent's moment to act: who it is, what it sees, what it remembers, what it may do. `seed` keys a provider's randomness."""

    agent: int
    tick: int
    id: str
    who: str
    feed: tuple[Shown, ...]
    memory: str
    actions: tuple[str, ...]
    topics: tuple[str, ...]
    seed: int
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """What an agent does in a turn. `kind` is one of the turn's actions or `nothing`; with a `reason` if that was not its choice.

    post: place in the feed of the post that it is about. text: what is said; topic and stance (-1..1) as the speaker itself declares them.
    tokens: of the call, zero if none was made.
    """

    kind: str
    post: int | None = None
    text: str | None = None
    topic: str | None = None
    stance: float | None = None
    reason: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0


@runtime_checkable
class Speaker(Protocol):
    """Decides turns, in words. Entry points of `simflow.speakers` are called with the cell."""

    id: str

    def speak(self, turns: Sequence[Turn]) -> Sequence[Act]:
        """One act for each turn, in the same order; a turn that cannot be decided is `nothing` with its reason, never an invention."""
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """What one phase spent on one model in this process. `tokens_cached` are the part of `tokens_in` that the provider had cached.

    calls: answers paid for. replayed: answers taken from a recording, free. failed: calls without a usable answer. cost: USD.
    """

    phase: str
    model: str
    calls: int = 0
    replayed: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost: float = 0.0


@runtime_checkable
class Remote(Protocol):
    """What parts offer beside their port when they spend on an endpoint; parts of one cell share one account."""

    def keep_in(self, home: Path) -> None:
        """Say where the project's state is, before the first use; recordings and accounts go there."""
        ...

    def ready(self) -> None:
        """Raise BadInput if the work cannot succeed (no key, unknown price, nothing recorded), before anything is written."""
        ...

    def usage(self) -> Sequence[Usage]:
        """What this process has spent for the cell so far, by phase and model."""
        ...

    def notes(self) -> Mapping[str, int | float | str]:
        """What a person should know since this was last asked: parked, repaired, audited, silent, by name."""
        ...
