"""The engine `llm`: residents whose turns a speaker decides, all of them or some personas, in the same society as the built-in ones.

What is kept between ticks besides the society: the words that were spoken, as long as a post that carries them can be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa

from simflow.errors import BadInput, EndpointFailed
from simflow.features import BUILTIN
from simflow.plan import Cell
from simflow.ports import Progress, Recall, Remote, Speaker, State, Step, Usage
from simflow.world import founding, rendering
from simflow.world.posts import WORDS
from simflow.world.settings import Settings
from simflow.world.society import Society
from simflow.world.spoken_ticks import SpokenSimulation

VERSION = "spoken-world/1"
FEWEST = 5
"""Turns in a stretch of ticks below which silence proves nothing about the endpoint."""


class SpokenEngine:
    """Offers Engine and Remote. speaker: who decides turns; by default the entry point `llm` of `simflow.speakers`."""

    needs_recall = True
    features = BUILTIN

    def __init__(self, cell: Cell, speaker: Speaker | None = None, settings: Settings | None = None) -> None:
        self.cell = cell
        self.settings = settings or Settings.of(cell)
        self.speaker = speaker or _speaker(cell)
        self.personas = np.array([cell.speaks_for(p) for p in cell.personas], dtype=bool)

    @property
    def id(self) -> str:
        """Of the world and of who speaks in it."""
        return f"{VERSION}({rendering_version()}, {self.speaker.id})"

    def begin(self) -> State:
        """The society before tick 0; nothing has been said."""
        return founding.found(self.cell, self.settings).state() | _packed({})

    def advance(self, state: State, start: int, stop: int, *, recall: Recall | None = None, progress: Progress | None = None) -> Step:
        """Ticks [start, stop). The same state and the same answers give the same bytes.

        Raises EndpointFailed if most turns found no endpoint: a society that is silent for want of a network is no result.
        """
        society = Society.load(state, start)
        first = society.count if start else 0
        simulation = SpokenSimulation(self.cell, society, self.settings, self.speaker, self.personas, _unpacked(state), recall)
        if start == 0:
            simulation.log_opening()
        log = simulation.run(start, stop, progress)
        step = rendering.step(self.cell, society, log.told(), founding.roster(self.cell, society), first, simulation.words)
        outcomes = Counter(simulation.turns["outcome"])
        lost, turns = outcomes["nothing: unreachable"], outcomes.total()
        if turns >= FEWEST and 2 * lost > turns:
            raise EndpointFailed(
                f"{lost} of {turns} turns in ticks {start} to {stop} found no endpoint",
                hint="run again when it is back: committed windows and answers received are kept",
            )
        readable = set(society.posts.column(WORDS).tolist())
        kept = {key: text for key, text in simulation.words.items() if key in readable}
        return Step(
            agents=step.agents,
            episodes=step.episodes,
            exposures=step.exposures,
            turns=pa.table(simulation.turns, schema=simulation.schema),
            state=society.state() | _packed(kept),
            truth=step.truth,
            notes={"turns": turns, "turns_without_act": sum(n for o, n in outcomes.items() if o.startswith("nothing: "))} if turns else {},
        )

    def keep_in(self, home: Path) -> None:
        """Pass on where the project's state is."""
        if isinstance(self.speaker, Remote):
            self.speaker.keep_in(home)

    def ready(self) -> None:
        """Raise BadInput if the speaker cannot work."""
        if isinstance(self.speaker, Remote):
            self.speaker.ready()

    def usage(self) -> Sequence[Usage]:
        """What the speaker has spent in this process."""
        return self.speaker.usage() if isinstance(self.speaker, Remote) else ()

    def notes(self) -> Mapping[str, int | float | str]:
        """What the speaker has to say about its turns since last asked."""
        return {f"speaker_{k}": v for k, v in self.speaker.notes().items()} if isinstance(self.speaker, Remote) else {}


def rendering_version() -> str:
    """The version of the society around those who speak."""
    from simflow.world.builtin import VERSION as BUILTIN_VERSION  # noqa: PLC0415 - only its name is needed

    return BUILTIN_VERSION


def _packed(words: Mapping[int, str]) -> State:
    # Texts by key as plain arrays: keys in order, ends of the texts in one run of UTF-8.
    keys = sorted(words)
    texts = [words[key].encode("utf-8", "replace") for key in keys]
    return {
        "spoken_key": np.array(keys, np.int64),
        "spoken_end": np.cumsum([len(t) for t in texts], dtype=np.int64) if texts else np.empty(0, np.int64),
        "spoken_text": np.frombuffer(b"".join(texts), np.uint8).copy(),
    }


def _unpacked(state: State) -> dict[int, str]:
    run = state["spoken_text"].tobytes()
    ends = state["spoken_end"].tolist()
    return {
        key: run[start:end].decode("utf-8") for key, start, end in zip(state["spoken_key"].tolist(), [0, *ends][:-1], ends, strict=True)
    }


def _speaker(cell: Cell) -> Speaker:
    for entry in metadata.entry_points(group="simflow.speakers", name="llm"):
        speaker: Speaker = entry.load()(cell)
        return speaker
    raise BadInput("no speaker is installed", hint="reinstall simflow: its entry points are missing")
