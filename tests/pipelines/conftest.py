"""A stand-in for the run room: commits windows by content address, as the real one does, but what is in them costs nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from simflow.errors import RunFailed
from simflow.plan import Cell, Clock, Event, Plan, Topic, window_key
from simflow.runs import Ledger, RunRecord, WindowRecord

IDS = {"engine": "fake/1"}


@dataclass(frozen=True)
class Result:
    record: WindowRecord
    metadata: dict[str, float | int | str]

    @property
    def key(self) -> str:
        return self.record.key

    @property
    def reused(self) -> bool:
        return self.record.reused


@dataclass
class Fake:
    """Opens fake work. `computed` lists (cell, window) in the order of computing; `before` is called before each window is."""

    computed: list[tuple[str, int]] = field(default_factory=list)
    before: object = None

    def keys(self, cell: Cell) -> list[str]:
        keys: list[str] = []
        for number in range(len(cell.windows)):
            keys.append(window_key(cell, number, keys[-1] if keys else None, IDS))
        return keys

    def __call__(self, path: str, cell: Cell, home: Path, **options: object) -> Work:
        return Work(self, cell, home)


class Work:
    def __init__(self, fake: Fake, cell: Cell, home: Path) -> None:
        self.fake, self.cell, self.home = fake, cell, home
        self.record = RunRecord(
            f"{cell.scenario}/20260101-000000-{cell.name}", home / "runs" / cell.scenario / f"20260101-000000-{cell.name}"
        )
        self.record.path.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger(self.record)

    def window(self, number: int) -> Result:
        keys, done = self.fake.keys(self.cell), self.record.windows()
        if [w.key for w in done] != keys[: len(done)]:
            done = ()
        if number < len(done):
            return Result(done[number], {"episodes": 3})
        if number > len(done):
            raise RunFailed(f"window {number} needs window {number - 1}")
        if callable(self.fake.before):
            self.fake.before(self.cell, number)
        there = self.home / "windows" / keys[number]
        reused = there.exists()
        if not reused:
            self.fake.computed.append((self.cell.name, number))
            there.mkdir(parents=True)
        start, stop = self.cell.windows[number]
        record = WindowRecord(number, keys[number], start, stop, rows={"episodes": 3}, reused=reused, committed=time.time())
        self.ledger.windows((*done, record))
        return Result(
            record, {"episodes": 3, "edges_in_force": 2, "stance_mean/tariff": 0.25, "seconds_world": 0.1, "measure/variance/tariff": 0.5}
        )


def make_plan(
    *variants: str, ticks: int = 30, window: int = 10, events: tuple[Event, ...] = (), changed: dict[str, Event] | None = None
) -> Plan:
    cells = tuple(
        Cell(
            scenario="town",
            variant=variant,
            sweep={},
            seed=7,
            topics=(Topic("tariff"),),
            clock=Clock(ticks=ticks, window=window),
            events=(*events, *([changed[variant]] if changed and variant in changed else [])),
            owner="town-data",
            source={"events": "town.yaml:12"},
        )
        for variant in (variants or ("base",))
    )
    return Plan(scenario="town", path="/project/scenarios/town.yaml", about="A town.", cells=cells)


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def plan():
    """Make a plan: names of variants, ticks, window, events."""
    return make_plan


@pytest.fixture
def post():
    """Make an event that posts at a tick."""
    return lambda at, text="hello": Event(name=f"post at {at}", verb="post", at=at, text=text, topic="tariff")
