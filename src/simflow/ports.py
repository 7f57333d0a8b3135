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

    import pyarrow as pa

    from simflow.plan import Cell

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


def make_engine(factory: Any, cell: Cell) -> Engine:
    """An engine entry point is called with the cell."""
    engine: Engine = factory(cell)
    return engine


def make_embedder(factory: Any, cell: Cell) -> Embedder:
    """An embedder entry point is called with the cell."""
    embedder: Embedder = factory(cell)
    return embedder


def make_extractor(factory: Any, cell: Cell, embedder: Embedder) -> Extractor:
    """An extractor entry point is called with the cell and the embedder of the run."""
    extractor: Extractor = factory(cell, embedder)
    return extractor
