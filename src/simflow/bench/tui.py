"""`simflow bench tui`: what the terminal costs while a run writes, measured from outside, through a pseudo-terminal."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import click

from simflow.bench.screen import Terminal
from simflow.runs import Ledger, Progress, RunRecord, WindowRecord

LIMITS: Mapping[str, float] = {"cpu_share": 0.15, "key_to_paint_p95_ms": 60.0, "memory_mb": 200.0, "first_paint_cpu_s": 0.8}
"""What the terminal promises: share of one core at 1,000 episodes a second, and the rest as named."""

AGENTS = 300
SCREENS = {"runs": "r", "watch": "w", "society": "s", "agent": "a"}


@click.command()
@click.option("--seconds", default=12.0, show_default=True, help="Seconds of writing on each screen.")
@click.option("--rate", default=1_000, show_default=True, help="Episodes a second that the run writes.")
@click.option("--episodes", default=1_000_000, show_default=True, help="Episodes of the long run whose memory is measured.")
@click.option("--keys", default=80, show_default=True, help="Keys pressed for the latency.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def tui(seconds: float, rate: int, episodes: int, keys: int, as_json: bool) -> None:
    """CPU share while a run writes, time from key to paint, memory of a long run, CPU time to the first paint."""
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder), seconds=seconds, rate=rate, episodes=episodes, keys=keys)
    if as_json:
        click.echo(json.dumps(result, indent=1))
        return
    for name, limit in LIMITS.items():
        click.echo(f"{name:24} {result[name]:>8} (at most {limit:g}) {'ok' if result['within'][name] else 'BEYOND'}")
    click.echo(f"by screen: {result['cpu_share_by_screen']}; load of the machine {result['load_average']}")


def measure(folder: Path, *, seconds: float, rate: int, episodes: int, keys: int) -> dict[str, Any]:
    """All figures. CPU of the terminal's process alone; the writer is this process."""
    small, large = folder / "small/.simflow", folder / "large/.simflow"
    writer = Writer(small, rate)
    writer.window()
    paints = []
    for _ in range(3):
        with Terminal(command(small)) as terminal:
            terminal.until("water-tariff")
            paints.append(terminal.cpu())
    shares, latencies = live(writer, small, seconds, keys)
    grown, memory = long(large, episodes)
    ordered = sorted(latencies)
    result: dict[str, Any] = {
        "cpu_share": max(shares.values()),
        "cpu_share_by_screen": shares,
        "episodes_a_second": rate,
        "key_to_paint_p95_ms": round(ordered[int(0.95 * (len(ordered) - 1))] * 1000, 1) if ordered else None,
        "key_to_paint_median_ms": round(ordered[len(ordered) // 2] * 1000, 1) if ordered else None,
        "keys": len(ordered),
        "memory_mb": max(memory.values()),
        "memory_mb_by_screen": memory,
        "episodes": grown,
        "first_paint_cpu_s": round(sorted(paints)[len(paints) // 2], 3),
        "load_average": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
    }
    result["within"] = {name: result[name] is not None and result[name] <= limit for name, limit in LIMITS.items()}
    return result


def command(home: Path) -> list[str]:
    """The terminal on one project."""
    return [sys.executable, "-m", "simflow", "tui", "--home", str(home)]


def live(writer: Writer, home: Path, seconds: float, keys: int) -> tuple[dict[str, float], list[float]]:
    """CPU share by screen, and seconds from a key to its paint on the list of runs, while the run writes."""
    shares: dict[str, float] = {}
    latencies: list[float] = []
    for number in range(12):
        Writer(home, 10, cell=f"other-s{number}", stamp=f"20261129-0000{number:02}").window()
    with Terminal(command(home)) as terminal, writer:
        terminal.until("water-tariff")
        terminal.idle(2.0)
        for name, key in SCREENS.items():
            terminal.write(key)
            terminal.idle(3.0)
            cpu, wall = terminal.cpu(), time.perf_counter()
            terminal.idle(seconds)
            shares[name] = round((terminal.cpu() - cpu) / (time.perf_counter() - wall), 4)
        terminal.write("r")
        terminal.idle(2.0)
        for number in range(keys):
            began = time.perf_counter()
            terminal.write("j" if number % 8 < 4 else "k")
            if terminal.until("▸", seconds=5.0):
                latencies.append(time.perf_counter() - began)
            terminal.idle(0.05 + 0.013 * (number % 7))
    return shares, latencies


def long(home: Path, episodes: int) -> tuple[int, dict[str, float]]:
    """Episodes written, and resident megabytes of the terminal after each screen of a run of that length."""
    each = 2_500
    writer = Writer(home, each)
    for _ in range(max(1, episodes // each)):
        writer.window()
    memory: dict[str, float] = {}
    with Terminal(command(home)) as terminal:
        terminal.until("water-tariff")
        for name, key in SCREENS.items():
            terminal.write(key)
            terminal.settle()
            memory[name] = round(terminal.memory() / 1e6, 1)
    return each * max(1, episodes // each), memory


class Writer:
    """Writes a run as `simflow.run` does: windows into the store, then the ledger. One window holds a second's worth of episodes."""

    def __init__(self, home: Path, rate: int, *, cell: str = "price-s7", stamp: str = "20261130-000000") -> None:
        from simflow.plan import Cell, Clock, Persona, Topic, canonical
        from simflow.store import Store

        self.rate = rate
        self.store = Store(home)
        record = RunRecord(f"water-tariff/{stamp}-{cell}", home / "runs/water-tariff" / f"{stamp}-{cell}")
        self.ledger = Ledger(record)
        personas = tuple(Persona(name, AGENTS // 4) for name in ("pensioner", "young renter", "shop owner", "water engineer"))
        made = Cell(
            "water-tariff", "price", {}, 7, (Topic("water tariff"), Topic("council trust")), personas, clock=Clock(100_000, 60, 100)
        )
        self.ledger.begin({"scenario": "water-tariff", "cell": canonical(made)})
        self.windows: list[WindowRecord] = []
        self.name = cell + stamp
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._told = Progress("running", 0, 1000, 0, 100_000, "world", started=time.time(), rate=100.0, eta=1000.0, pid=os.getpid())

    def window(self) -> None:
        """Commit the next window."""
        import hashlib

        number = len(self.windows)
        key = hashlib.sha256(f"{self.name} {number}".encode()).hexdigest()
        start, stop = number * 100, (number + 1) * 100
        tables, kinds = society(number, start, self.rate)
        from simflow.episode import vectors_schema

        window = self.store.windows.commit(
            key,
            about={"start": start, "stop": stop, "number": number, "queue": number % 50},
            tables=tables,
            vectors=vectors_schema(4).empty_table(),
            truth={},
            state={},
        )
        self.windows.append(
            WindowRecord(number, key, start, stop, window.rows, {"world": 0.5, "vectors": 0.3}, kinds, committed=time.time())
        )
        self.ledger.windows(tuple(self.windows))
        self.tell(window=number + 1, tick=stop, episodes=self._told.episodes + self.rate)
        self.ledger.log("info", "window", f"window {number} committed", window=number)

    def tell(self, **changes: Any) -> None:
        """A heartbeat."""
        self._told = replace(self._told, heartbeat=time.time(), **changes)
        self.ledger.progress(self._told)

    def __enter__(self) -> Self:
        """Write a window a second and two heartbeats between, until the end."""
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop writing."""
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        due = time.perf_counter()
        while not self._stop.is_set():
            self.window()
            due += 1.0
            while (left := due - time.perf_counter()) > 0 and not self._stop.wait(min(0.5, left)):
                self.tell()


def society(number: int, start: int, count: int) -> tuple[dict[str, Any], dict[str, int]]:
    """Tables of one window: `count` episodes with texts, eight exposures each, an opinion and a persona state for each resident."""
    import numpy as np
    import pyarrow as pa

    from simflow.episode import TABLES

    rng = np.random.default_rng(number)
    ids = np.arange(count, dtype=np.int64) + number * 10_000_000
    actors = rng.integers(0, AGENTS, count)
    kinds = np.asarray(["post", "reply", "like", "reply", "repost"])[np.arange(count) % 5]
    parents = [None if i % 5 == 0 else int(ids[i - i % 5]) for i in range(count)]
    roots = [int(ids[i - i % 5]) for i in range(count)]
    texts = [None if i % 5 == 2 else f"The water bill of household {i} went up again, and nobody explains why." for i in range(count)]
    sentences = [f'@agent{a} wrote: "{t}"' for a, t in zip(actors.tolist(), texts, strict=True)]
    nothing = [None] * count
    columns = {
        "episode": ids,
        "tick": start + np.arange(count) * 100 // count,
        "ordinal": np.arange(count),
        "actor": actors,
        "kind": kinds.tolist(),
        "parent": parents,
        "root": roots,
        "target": nothing,
        "text": texts,
        "sentence": sentences,
        **dict.fromkeys(("event", "source", "ts", "lang", "topic"), nothing),
    }
    shown = rng.integers(0, count, 8 * count)
    exposures = {
        "tick": np.full(8 * count, start),
        "reader": rng.integers(0, AGENTS, 8 * count),
        "episode": ids[shown],
        "rank": np.zeros(8 * count),
    }
    agents = [
        {
            "agent": i,
            "id": f"agent{i}",
            "name": f"Agent {i}",
            "persona": "pensioner" if i % 2 else "shop owner",
            "is_voice": False,
            "joined": 0,
        }
        for i in range(AGENTS if number == 0 else 0)
    ]
    edges = [
        {
            "edge": number * AGENTS + i, "version": 1, "kind": "opinion", "of": i, "on_topic": "water tariff", "value": float(v), "weight": 1.0,
            "evidence": [int(ids[0])], "count": 1, "valid_from": start, "last_seen": start, "learnt": start + 100,
        }
        for i, v in enumerate(rng.uniform(-1, 1, AGENTS))
    ]  # fmt: skip
    states = [
        {"agent": i, "tick": start + 100, "text": f"Agent {i} is tense.", "tokens": 5, "evidence": [int(ids[0])]} for i in range(AGENTS)
    ]
    made = {
        "episodes": pa.table({f.name: pa.array(columns[f.name], f.type) for f in TABLES["episodes"]}, TABLES["episodes"]),
        "exposures": pa.table({f.name: pa.array(exposures[f.name]).cast(f.type) for f in TABLES["exposures"]}, TABLES["exposures"]),
        **{n: pa.Table.from_pylist(rows, TABLES[n]) for n, rows in (("agents", agents), ("edges", edges), ("personas", states))},
    }
    names, counts = np.unique(kinds, return_counts=True)
    return made, dict(zip(names.tolist(), counts.tolist(), strict=True))
