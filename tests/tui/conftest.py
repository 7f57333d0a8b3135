"""Runs made by hand: a real ledger and real windows in a real store, so that every screen has something true to show."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input

from simflow.episode import TABLES, sentence, vectors_schema
from simflow.plan import Cell, Check, Clock, Event, Limits, Persona, Topic, canonical
from simflow.runs import Ledger, Progress, RunRecord, WindowRecord

NOW = 1_790_000_000.0
"""The clock of the goldens."""

NAMES = (
    ("rosa0", "Rosa Lind", "pensioner"),
    ("тарас1", "Тарас Шевчук", "young renter"),
    ("小明2", "王小明", "shop owner"),
    ("ליאת3", "ליאת כהן", "water engineer"),
    ("zoë4", "Zoë 🌊 Álvarez", "young renter"),
    ("omar5", "عمر حداد", "pensioner"),
    ("ben6", "Ben Okafor", "shop owner"),
    ("ida7", "Ida Berg", "water engineer"),
)
TOPICS = ("water tariff", "council trust")
SAID = (
    "The water bill is already half my pension, and now 18% more?",
    "Тариф зростає, а труби течуть. Спершу полагодьте труби!",
    "水费上涨对小店影响很大，我们怎么办？",
    "התוכנית הזאת סבירה אם הכסף הולך לתיקון הדליפות.",
    "honestly 18% 😤 for rusty pipes 🚰 no thanks",
    "لا أثق بالمجلس البلدي في هذا الأمر.",
    "My shop uses 40 m³ a month. I did the sums: it is bad, not fatal.",
    "We lose a third of the water to leaks; this pays for the repair.",
)


@dataclass
class Made:
    """A run made by hand."""

    home: Path
    record: RunRecord
    windows: tuple[WindowRecord, ...]

    def committed(self, number: int | None = None):
        """The first `number` windows as the terminal knows them, all for None."""
        from simflow_tui.committed import Committed, Places

        windows = self.windows[:number]
        places = Places()
        for window in windows:
            places.add(window)
        return Committed(len(windows), windows, places=places)


def make_cell(ticks: int, window: int, variant: str = "price") -> Cell:
    """A resolved cell."""
    return Cell(
        scenario="water-tariff",
        variant=variant,
        sweep={},
        seed=7,
        topics=tuple(Topic(t, words=(t.split()[-1],)) for t in TOPICS),
        personas=tuple(Persona(p, 75) for p in dict.fromkeys(p for _, _, p in NAMES)),
        clock=Clock(ticks=ticks, window=window),
        events=(
            Event("announcement", "post", ticks // 8, text="From 1 May household water bills rise by 18%."),
            Event("leak map", "post", ticks // 2, text="We found 312 leaks in the old town."),
        ),
        checks=(Check("covered", {"topic": "water tariff", "by": 100, "at_least": 0.95}),),
        limits=Limits(tokens=5_000_000, cost=20.0),
        about="Does explaining the leaks soften opposition?",
    )


def tables(number: int, start: int, stop: int, each: int) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """Tables of one window, the same for the same arguments."""
    rng = np.random.default_rng(1000 + number)
    agents = [
        {
            "agent": i,
            "id": id_,
            "name": name,
            "persona": p,
            "is_voice": False,
            "joined": 0,
            "about": f"{name}, {p}",
            "traits": json.dumps({"age": 30 + i}),
        }
        for i, (id_, name, p) in enumerate(NAMES)
    ] + [
        {
            "agent": 8,
            "id": "city-council",
            "name": "city council",
            "persona": None,
            "is_voice": True,
            "joined": 0,
            "about": None,
            "traits": None,
        }
    ]
    rows: list[dict[str, object]] = []
    for i in range(each):
        tick = start + i * (stop - start) // each
        actor = int(rng.integers(0, len(NAMES)))
        kind = "post" if i % 5 == 0 or not rows else ("reply", "like", "reply", "repost")[i % 4]
        parent = rows[-1 - int(rng.integers(0, min(len(rows), 3)))] if kind != "post" else None
        text = SAID[actor] if kind in {"post", "reply", "repost"} else None
        episode = number * 100_000 + i + 1
        target = parent["actor"] if parent else None
        rows.append(
            {
                "episode": episode,
                "tick": tick,
                "ordinal": i,
                "actor": actor,
                "kind": kind,
                "parent": parent["episode"] if parent else None,
                "root": parent["root"] if parent else episode,
                "target": target,
                "text": text,
                "sentence": sentence(kind, NAMES[actor][0], target=NAMES[target][0] if target is not None else None, text=text),
                "event": None,
                "source": None,
                "ts": None,
                "lang": None,
            }
        )
    exposures = [
        {"tick": r["tick"], "reader": int(reader), "episode": r["episode"], "rank": 0}
        for r in rows
        for reader in rng.choice(len(NAMES), size=int(rng.integers(0, len(NAMES))), replace=False)
    ]
    edges = []
    lean = {"pensioner": -0.6, "young renter": -0.2, "shop owner": -0.3, "water engineer": 0.6}
    for i, (_, _, persona) in enumerate(NAMES):
        for t, topic in enumerate(TOPICS):
            value = float(np.clip(lean[persona] * (1 - 0.7 * t) + 0.06 * number * (1 if i % 2 else -0.5) + 0.05 * rng.normal(), -1, 1))
            evidence = [r["episode"] for r in rows if r["actor"] == i and r["text"]][:3] or [rows[0]["episode"]]
            edge = number * 1000 + i * 10 + t
            base = {
                "kind": "opinion",
                "of": i,
                "on_agent": None,
                "on_topic": topic,
                "about": None,
                "weight": 1.5,
                "evidence": evidence,
                "last_seen": stop - 5,
            }
            if number and i % 3 == 0:
                edges.append(
                    {
                        **base,
                        "edge": (number - 1) * 1000 + i * 10 + t,
                        "version": 2,
                        "value": value,
                        "count": 2,
                        "valid_from": start - 20,
                        "valid_to": start + 10,
                        "superseded_by": edge,
                        "learnt": stop,
                    }
                )
            edges.append(
                {
                    **base,
                    "edge": edge,
                    "version": 1,
                    "value": value,
                    "count": 1 + i % 3,
                    "valid_from": start + 10,
                    "valid_to": None,
                    "superseded_by": None,
                    "learnt": stop,
                }
            )
        edges.append(
            {
                "edge": number * 1000 + 500 + i,
                "version": 1,
                "kind": "attitude",
                "of": i,
                "on_agent": (i + 1) % len(NAMES),
                "on_topic": None,
                "about": TOPICS[0],
                "value": 0.4 if i % 2 else -0.5,
                "weight": 1.0,
                "evidence": [rows[0]["episode"]],
                "count": 1,
                "valid_from": start + 3,
                "valid_to": None,
                "superseded_by": None,
                "last_seen": start + 3,
                "learnt": stop,
            }
        )
    claims = [
        {
            "claim": e["edge"] * 100 + k,
            **{c: e[c] for c in ("kind", "of", "on_agent", "on_topic", "about", "value", "learnt")},
            "confidence": 0.8,
            "tick": next((r["tick"] for r in rows if r["episode"] == episode), start),
            "episode": episode,
            "quote": None,
            "extractor": "builtin-1",
        }
        for e in edges
        if e["version"] == 1
        for k, episode in enumerate(e["evidence"])
    ]
    personas = [
        {
            "agent": i,
            "tick": stop,
            "text": f"{name} is a {p}. Mood: tense. Opposes the water tariff, and says so.",
            "tokens": 17,
            "evidence": [rows[0]["episode"]],
        }
        for i, (_, name, p) in enumerate(NAMES)
    ]
    made = {
        "agents": pa.Table.from_pylist(agents if number == 0 else [], TABLES["agents"]),
        "episodes": pa.Table.from_pylist(rows, TABLES["episodes"]),
        "exposures": pa.Table.from_pylist(exposures, TABLES["exposures"]),
        "claims": pa.Table.from_pylist(claims, TABLES["claims"]),
        "edges": pa.Table.from_pylist(edges, TABLES["edges"]),
        "personas": pa.Table.from_pylist(personas, TABLES["personas"]),
    }
    kinds: dict[str, int] = {}
    for r in rows:
        kinds[str(r["kind"])] = kinds.get(str(r["kind"]), 0) + 1
    return made, kinds


def embedded(episodes: pa.Table, cell: Cell) -> pa.Table:
    """Vectors of the texts, by the real sentence model."""
    from simflow.memory.embedders import load
    from simflow.memory.vectors import embed

    return embed(episodes, load(cell))


def make_run(
    home: Path,
    *,
    scenario: str = "water-tariff",
    cell: str = "price-s7",
    stamp: str = "20261130-072000",
    state: str = "running",
    done: int = 3,
    of: int = 6,
    size: int = 250,
    each: int = 60,
    heartbeat: float = NOW - 1,
    now: float = NOW,
    data: bool = True,
    reason: str = "",
    tokens: int = 0,
    cost: float = 0.0,
    about: dict[str, object] | None = None,
    log: bool = True,
    variant: str = "price",
    vectors: bool = False,
) -> Made:
    """A run whose first `done` of `of` windows are committed."""
    from simflow.store import Store

    record = RunRecord(f"{scenario}/{stamp}-{cell}", home / "runs" / scenario / f"{stamp}-{cell}")
    ledger = Ledger(record)
    made_cell = make_cell(of * size, size, variant)
    ledger.begin(
        {
            "scenario": scenario,
            "file": f"scenarios/{scenario}.yaml",
            "variant": variant,
            "seed": 7,
            "about": made_cell.about,
            "cell": canonical(made_cell),
            **(about or {}),
        }
    )
    store = Store(home)
    windows = []
    for number in range(done):
        start, stop = number * size, (number + 1) * size
        kinds: dict[str, int] = {"post": each // 5, "reply": each // 2}
        key = hashlib.sha256(f"{scenario} {cell} {stamp} {number}".encode()).hexdigest()
        rows = {"episodes": each, "exposures": each * 4, "edges": 24}
        if data:
            made, kinds = tables(number, start, stop, each)
            table = embedded(made["episodes"], made_cell) if vectors else vectors_schema(4).empty_table()
            window = store.windows.commit(
                key,
                about={"start": start, "stop": stop, "number": number, "queue": (7 * number) % 19},
                tables=made,
                vectors=table,
                truth={},
                state={},
            )
            rows = window.rows
        windows.append(
            WindowRecord(
                number,
                key,
                start,
                stop,
                rows,
                {"world": 1.2 + 0.1 * number, "vectors": 2.5, "edges": 0.8, "personas": 0.3, "snapshot": 0.4},
                kinds,
                number == 0,
                now - 10 * (done - number),
            )
        )
    ledger.windows(tuple(windows))
    tick = of * size if state == "done" else min(of * size, done * size + size // 3)
    ledger.progress(
        Progress(
            state,
            done,
            of,
            tick,
            of * size,
            "vectors" if state == "running" else "",
            each * done,
            24 * done,
            tokens,
            cost,
            12,
            1 if done else 0,
            41.7,
            (of * size - tick) / 41.7,
            now - 95,
            heartbeat,
            4242,
            reason,
        )  # type: ignore[arg-type]
    )
    if log:
        lines = [{"time": "2026-11-30T07:20:01.000+00:00", "level": "info", "stage": "run", "message": "begins"}]
        lines += [
            {
                "time": f"2026-11-30T07:20:{10 + w.number:02d}.000+00:00",
                "level": "info",
                "stage": "window",
                "message": f"window {w.number} committed",
                "window": w.number,
            }
            for w in windows
        ]
        lines += [
            {"time": "2026-11-30T07:20:31.000+00:00", "level": "warning", "stage": "world", "message": "missing parents: 3", "window": 1}
        ]
        if state == "failed":
            lines += [{"time": "2026-11-30T07:20:41.000+00:00", "level": "error", "stage": "vectors", "message": reason}]
        (record.path / "log.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return Made(home, record, tuple(windows))


class Picture(SingleFileSnapshotExtension):
    """A screen as SVG. Ids that Textual draws by chance are replaced, so that equal screens are equal files."""

    file_extension = "svg"
    _write_mode = WriteMode.TEXT

    def serialize(self, data, **kwargs):
        del kwargs
        return re.sub(r"terminal-\d+", "terminal", data)


@pytest.fixture
def picture(snapshot):
    """Compares a screen with its golden picture."""
    return snapshot.use_extension(Picture)


NAP = 0.02
"""Seconds: longer than the timers with which Textual puts off painting."""


async def idle(*_: float) -> None:
    """Wait until the loop has nothing to do, and what its short timers brought is done as well.

    Textual's own measure is that the process uses no CPU for a moment, which a process that gets none does not either.
    """
    for nap in (NAP, 0.0):
        still = 0
        while still < 4:
            await asyncio.sleep(0)
            still = 0 if asyncio.get_running_loop()._ready else still + 1
        await asyncio.sleep(nap)


@pytest.fixture(autouse=True)
def _patient(monkeypatch) -> None:
    """Keys and pauses wait for the application itself, and nothing on a screen moves by the clock."""
    monkeypatch.setattr("textual.app.wait_for_idle", idle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", idle)
    monkeypatch.setattr(Pilot._wait_for_screen, "__defaults__", (500.0,))
    monkeypatch.setattr(Input.cursor_blink, "_default", False)


def make_app(home: Path, **given: object):
    """The application with a still clock, reading only when told to."""
    from simflow_tui.app import SimflowApp
    from simflow_tui.asking import Asker

    app = SimflowApp([home], live=False, clock=lambda: NOW, asker=Asker(), **given)  # type: ignore[arg-type]
    app.animation_level = "none"
    return app


async def settle(app, pilot) -> None:
    """Read once, and wait until nothing moves any more."""
    await pilot.pause()
    await app.workers.wait_for_complete()
    app.take(app.read())
    app.gather()
    app.tell()
    await app.workers.wait_for_complete()
    await calm(app, pilot)


async def calm(app, pilot) -> None:
    """Wait until nobody works any more and nothing moves."""
    seen: list[Strip] = []
    looks, deadline = 0, time.monotonic() + 120
    while time.monotonic() < deadline:  # parts of a screen are painted one after another: wait until three looks see the same
        await pilot.pause()
        now = app.screen._compositor.render_strips()
        looks = looks + 1 if now == seen and all(worker.is_finished for worker in app.workers) else 0
        if looks == 2:
            return
        seen = now
    pytest.fail(f"the screen never came to rest; working: {list(app.workers)}")


@pytest.fixture
def make():
    """What makes runs and applications, for tests that cannot import this file."""
    return Kit()


class Kit:
    """See `make`."""

    now = NOW
    run = staticmethod(make_run)
    app = staticmethod(make_app)
    settle = staticmethod(settle)
    calm = staticmethod(calm)

    @staticmethod
    @contextlib.asynccontextmanager
    async def shown(home: Path, *keys: str, size: tuple[int, int] = (120, 36), **given: object):
        """An application on a screen of `size`, after `keys`; gives (app, pilot)."""
        app = make_app(home, **given)
        async with app.run_test(size=size) as pilot:
            await settle(app, pilot)
            for key in keys:
                await pilot.press(key)
                await settle(app, pilot)
            yield app, pilot

    @staticmethod
    def text(app) -> str:
        """The words on the screen, line by line."""
        height = app.size.height
        lines = app.screen._compositor.render_strips()
        return "\n".join(strip.text for strip in lines[:height])


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "city" / ".simflow"
    folder.mkdir(parents=True)
    monkeypatch.setenv("SIMFLOW_HOME", str(folder))
    monkeypatch.chdir(folder.parent)
    for name in ("NO_COLOR", "SIMFLOW_THEME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def run(home) -> Made:
    return make_run(home)
