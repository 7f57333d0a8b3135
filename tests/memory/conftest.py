"""A small society with a run in the store, made by a tiny engine, for tests that ask its memory."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from simflow import memory
from simflow.episode import AGENTS, EPISODES, EXPOSURES, TURNS, empty, sentence
from simflow.memory.segments import segments
from simflow.plan import Cell, Clock, Event, Extract, Memory, Topic
from simflow.ports import Extraction, Finding, Step
from simflow.run import open_cell, parts

PEOPLE = [("ann0", "Ann Lee"), ("bob1", "Bob Ray"), ("cleo2", "Cleo Fox"), ("ann3", "Ann Moss"), ("dan4", "Dan Pike")]
WORDS = ["leaks", "prices", "meters", "pipes", "budget", "summer", "mayor", "garden"]


class Words:
    """Vectors from words: texts that share words are near."""

    id = "words/1"
    dimension = 32

    def __init__(self, cell=None):
        self.cell = cell

    def embed(self, texts):
        out = np.zeros((len(texts), 32), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                out[row, int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % 32] += 1
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


class Talkers:
    """At each tick one of five people posts about one of two topics; the next two people are shown it."""

    id = "talkers/1"
    needs_recall = False

    def __init__(self, cell):
        self.cell = cell

    def begin(self):
        return {"none": np.zeros(1)}

    def advance(self, state, start, stop, *, recall=None, progress=None):
        del recall, progress
        rows, shown = [], []
        for tick in range(start, stop):
            who = tick % 5
            topic = ["water", "trains"][tick // 3 % 2]
            text = f"I {['oppose', 'support'][tick // 40 % 2]} {topic}, think of {WORDS[tick % 8]}"
            rows.append(
                dict.fromkeys(EPISODES.names)
                | {"episode": 1000 + tick, "tick": tick, "ordinal": 0, "actor": who, "kind": "post", "root": 1000 + tick, "text": text}
                | {"sentence": sentence("post", PEOPLE[who][0], text=text)}
            )
            shown += [{"tick": tick + 1, "reader": (who + d) % 5, "episode": 1000 + tick, "rank": d - 1} for d in (1, 2) if tick + 1 < stop]
        people = [
            {"agent": i, "id": key, "name": name, "persona": "resident", "is_voice": False, "joined": 0}
            for i, (key, name) in enumerate(PEOPLE)
        ]
        return Step(
            agents=pa.Table.from_pylist(people if start == 0 else [], schema=AGENTS),
            episodes=pa.Table.from_pylist(rows, schema=EPISODES),
            exposures=pa.Table.from_pylist(shown, schema=EXPOSURES),
            turns=empty(TURNS),
            state=state,
        )


class Reader:
    """Reads `oppose` and `support` without ever failing."""

    id = "reader/1"

    def __init__(self, cell, embedder):
        del cell, embedder

    def extract(self, batch):
        found = []
        for passage in batch:
            topic = "water" if "water" in passage.text else "trains"
            found.append(
                Finding(passage.episode, "opinion", passage.actor, None, topic, None, 1.0 if "support" in passage.text else -1.0, 1.0)
            )
        return Extraction(tuple(found), ())


CELL = Cell(
    "small-town",
    "base",
    {},
    1,
    topics=(Topic("water", about="Water bills.", words=("bills",)), Topic("trains", about="Night trains.")),
    clock=Clock(ticks=160, window=40, minutes=60),
    memory=Memory(half_life=30, refresh=40, top=5),
    extract=Extract(every=20, batch=10),
    events=(Event("council vote", "post", at=60, text="vote"),),
)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A .simflow folder with one finished run of the small town."""
    root = tmp_path_factory.mktemp("town") / ".simflow"
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        made = {"engine": Talkers, "embedder": Words, "extractor": Reader}
        patched.setattr(parts, "factory", lambda part, name: made[part])
        run = open_cell("small-town.yaml", CELL, root)
        for number in range(len(run.windows)):
            run.window(number)
    return root


@pytest.fixture(scope="session")
def run(home):
    """What the run committed."""
    from simflow.runs import find_run
    from simflow.store import Store

    return Store(home).open(find_run(home, "small-town"))


@pytest.fixture
def view(run):
    """Its memory."""
    return memory.open(run, embedder=Words())


@pytest.fixture
def words():
    """The embedder of the run."""
    return Words()


__all__ = ["CELL", "PEOPLE", "Words", "replace", "segments"]
