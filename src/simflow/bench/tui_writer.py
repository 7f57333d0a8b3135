"""A run that writes itself: windows into the store, then the ledger, as `simflow.run` does, without computing anything."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from simflow.runs import Ledger, Progress, RunRecord, WindowRecord

AGENTS = 300

DIMENSION = 384
"""Of a vector of the built-in model."""


class Writer:
    """Writes a run as `simflow.run` does: windows into the store, then the ledger. One window holds a second's worth of episodes."""

    def __init__(self, home: Path, rate: int, *, cell: str = "price-s7", stamp: str = "20261130-000000", embedded: bool = False) -> None:
        from simflow.plan import Cell, Clock, Persona, Topic, canonical
        from simflow.store import Store

        self.rate = rate
        self.embedded = embedded
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
        number = len(self.windows)
        key = hashlib.sha256(f"{self.name} {number}".encode()).hexdigest()
        start, stop = number * 100, (number + 1) * 100
        tables, kinds = society(number, start, self.rate)
        window = self.store.windows.commit(
            key,
            about={"start": start, "stop": stop, "number": number, "queue": number % 50},
            tables=tables,
            vectors=vectors(tables["episodes"], number if self.embedded else None),
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


def vectors(episodes: Any, seed: int | None) -> Any:
    """A vector of chance for each text, as long as the built-in model's: what is asked of memory weighs what it would. None: no vectors."""
    import numpy as np
    import pyarrow as pa

    from simflow.episode import vectors_schema

    schema = vectors_schema(DIMENSION)
    if seed is None:
        return schema.empty_table()
    ids = episodes["episode"].filter(episodes["text"].is_valid())
    made = np.random.default_rng(seed).normal(size=(len(ids), DIMENSION)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    columns = {"episode": ids.combine_chunks(), "vector": pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), DIMENSION)}
    return pa.table([columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema)
