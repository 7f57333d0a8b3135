"""A small run of the built-in world, with vectors from words, so that its truth and its memory can be compared in a second."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.plan import Cell, Clock, Constant, Event, Extract, Memory, Normal, Persona, Topic
from simflow.run import open_cell, parts
from simflow.runs import find_run
from simflow.store import Store
from simflow.world.builtin import BuiltinEngine


class Words:
    """Vectors from words: texts that share words are near."""

    id = "words/2"
    dimension = 64

    def __init__(self, cell=None):
        self.cell = cell

    def embed(self, texts):
        out = np.zeros((len(texts), 64), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                out[row, int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % 64] += 1
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


CELL = Cell(
    "small-town",
    "base",
    {},
    3,
    topics=(Topic("water tariff", "A rise of the water bill.", words=("tariff",)), Topic("night buses", "Buses that run at night.")),
    personas=(
        Persona(
            "resident", 40, stance={"water tariff": Normal(-0.2, 0.5), "night buses": Normal(0.3, 0.5)}, traits={"activity": Constant(0.9)}
        ),
    ),
    clock=Clock(ticks=160, window=80, minutes=60),
    events=(Event("turn", "nudge", at=80, topic="water tariff", amount=0.9),),
    memory=Memory(refresh=80),
    extract=Extract(every=20),
)


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("town") / ".simflow"
    with pytest.MonkeyPatch().context() as patched:
        made = {"engine": BuiltinEngine, "embedder": Words, "extractor": BuiltinExtractor}
        patched.setattr(parts, "factory", lambda part, name: made[part])
        going = open_cell("small-town.yaml", CELL, root)
        for number in range(len(going.windows)):
            going.window(number)
    return Store(root).open(find_run(root, "small-town"))


@pytest.fixture
def words():
    return Words()
