"""Small worlds made by hand, for everything that turns episodes into beliefs."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from simflow.episode import AGENTS, CLAIMS, EDGES, EPISODES, sentence
from simflow.plan import Cell, Extract, Memory, Topic
from simflow.ports import Extraction, Finding, Passage

NAMES = ("Rosa Lind", "Bo Falk", "Ana Reis", "Li Wen")


class Scripted:
    """An extractor that reads words like `+ tariff 0.9` or `- @bo1`: what a text says is written in it."""

    id = "scripted@1"

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []
        self.fail: set[str] = set()

    def extract(self, batch: Sequence[Passage]) -> Extraction:
        self.calls.append(tuple(p.episode for p in batch))
        findings, nothing, failed = [], [], {}
        for passage in batch:
            sign, _, rest = passage.text.partition(" ")
            topic, _, sure = rest.partition(" ")
            if passage.text in self.fail:
                failed[passage.episode] = "cannot read this"
            elif sign in {"+", "-", "0"}:
                value = {"+": 1.0, "-": -1.0, "0": 0.0}[sign]
                confidence = float(sure or 1)
                findings.append(Finding(passage.episode, "opinion", passage.actor, None, topic, None, value, confidence, passage.text))
                if passage.target is not None:
                    findings.append(Finding(passage.episode, "attitude", passage.actor, passage.target, None, topic, value, confidence))
            else:
                nothing.append(passage.episode)
        return Extraction(tuple(findings), tuple(nothing), failed)


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


@pytest.fixture
def cell() -> Cell:
    return Cell(
        "town",
        "base",
        {},
        7,
        (Topic("tariff", "A rise of the water bill.", words=("bill",)), Topic("council", "Whether to trust the city council.")),
        extract=Extract(every=10),
        memory=Memory(refresh=20),
    )


@pytest.fixture
def agents() -> pa.Table:
    ids = [f"{name.split()[0].lower()}{i}" for i, name in enumerate(NAMES)]
    n = len(NAMES)
    columns = [range(n), ids, NAMES, ["resident"] * n, [False] * n, [0] * n, [None] * n, ["{}"] * n]
    return pa.Table.from_arrays([pa.array(list(c), f.type) for c, f in zip(columns, AGENTS, strict=True)], schema=AGENTS)


def make_episodes(rows: Sequence[dict]) -> pa.Table:
    """Rows need tick, actor, kind; the rest has defaults. The episode id defaults to its place + 1."""
    full = []
    for at, row in enumerate(rows):
        base = {
            "episode": at + 1, "ordinal": at, "parent": None, "root": None, "target": None, "text": None,
            "event": None, "source": None, "ts": None, "lang": None,
        }  # fmt: skip
        one = base | row
        one["root"] = one["root"] or one["parent"] or one["episode"]
        one["sentence"] = sentence(one["kind"], f"a{one['actor']}", text=one["text"])
        full.append(one)
    return pa.Table.from_pylist(full, schema=EPISODES)


@pytest.fixture
def episodes():
    return make_episodes


@pytest.fixture
def run(cell, scripted, agents):
    """Distil a list of episodes, window by window; returns (claims, edges, last Distilled)."""
    from simflow.memory.distil import distil

    def go(table: pa.Table, stop: int, window: int | None = None, extractor=scripted, of=cell):
        claims, edges, last = CLAIMS.empty_table(), EDGES.empty_table(), None
        size = window or stop
        for start in range(0, stop, size):
            end = min(start + size, stop)
            seen = table.filter(pa.compute.less(table["tick"], end))
            last = distil(of, extractor, agents=agents, episodes=seen, claims=claims, edges=edges, start=start, stop=end)
            claims, edges = pa.concat_tables([claims, last.claims]), pa.concat_tables([edges, last.edges])
        return claims, edges, last

    return go
