"""`simflow bench tui`: what the terminal costs while a run writes, measured from outside, through a pseudo-terminal."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

from simflow.bench.screen import Terminal
from simflow.bench.tui_writer import Writer

LIMITS: Mapping[str, float] = {"cpu_share": 0.15, "key_to_paint_p95_ms": 60.0, "memory_mb": 200.0, "first_paint_cpu_s": 0.8}
"""What the terminal promises: share of one core at 1,000 episodes a second, and the rest as named."""

SCREENS: Mapping[str, tuple[str, str]] = {
    "runs": ("r", "order "),
    "watch": ("w", "throughput"),
    "society": ("s", "reactions"),
    "agent": ("a", "said and did"),
    "memory": ("m", "situation"),
    "belief": ("b", "as of"),
    "plan": ("p", "not usable"),
    "compare": ("c", "mean stance"),
}
"""Screen -> (its key, words that only it paints, a skeleton's excepted)."""

SKELETON = {**{name: words for name, (_, words) in SCREENS.items()}, "plan": "plan", "compare": "A price"}

LISTS = ("runs", "society", "agent")
"""Screens on whose list the cursor is moved."""

CURSOR = re.compile(rb"\x1b\[(\d+);\d+H(?:[^\x1b]|\x1b\[[0-9;:]*m)*?\xe2\x96\xb8 ")
"""The sign of the cursor, and the line that it is painted on."""


@click.command()
@click.option("--seconds", default=6.0, show_default=True, help="Seconds of writing on each screen.")
@click.option("--rate", default=1_000, show_default=True, help="Episodes a second that the run writes.")
@click.option("--episodes", default=1_000_000, show_default=True, help="Episodes of the long run whose memory is measured.")
@click.option("--keys", default=40, show_default=True, help="Keys that move a cursor, on each of three lists.")
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
    for name in ("cpu_share_by_screen", "key_to_paint_p95_ms_by_key", "memory_mb_by_screen"):
        click.echo(f"{name}: {result[name]}")
    click.echo(
        f"memory of the process that answers questions: {result['questions_memory_mb']} MB; load of the machine {result['load_average']}"
    )


def measure(folder: Path, *, seconds: float, rate: int, episodes: int, keys: int) -> dict[str, Any]:
    """All figures. CPU of the terminal and of what it starts; the writer is this process. Memory of the terminal's process alone."""
    small, large = folder / "small/.simflow", folder / "large/.simflow"
    for home in (small, large):
        (home.parent / "scenarios").mkdir(parents=True)
        (home.parent / "scenarios/broken.yaml").write_text("scenario: broken\n", "utf-8")
    writer = Writer(small, rate, embedded=True)
    writer.window()
    for number in range(12):
        Writer(small, 10, cell=f"price-s{number + 20}", stamp=f"20261129-0000{number:02}").window()
    paints = list(first_paints(small, 5))
    with Terminal(command(small)) as terminal, writer:
        terminal.until("water-tariff")
        terminal.idle(2.0)
        shares = dict(cpu_shares(terminal, seconds))
        latencies = {**{f"move {name}": moves(terminal, name, keys) for name in LISTS}, **switches(terminal, 3)}
    grown, memory, questions = long(large, episodes)
    every = [value for values in latencies.values() for value in values]
    result: dict[str, Any] = {
        "cpu_share": max(shares.values()),
        "cpu_share_by_screen": shares,
        "episodes_a_second": rate,
        "key_to_paint_p95_ms": percentile(every, 0.95),
        "key_to_paint_median_ms": percentile(every, 0.5),
        "key_to_paint_p95_ms_by_key": {name: percentile(values, 0.95) for name, values in latencies.items()},
        "keys": len(every),
        "memory_mb": max(memory.values()),
        "memory_mb_by_screen": memory,
        "questions_memory_mb": questions,
        "episodes": grown,
        "first_paint_cpu_s": round(median(paints), 3),
        "first_paints_cpu_s": [round(p, 2) for p in paints],
        "load_average": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
    }
    result["within"] = {name: result[name] is not None and result[name] <= limit for name, limit in LIMITS.items()}
    return result


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of them do not exceed, in milliseconds."""
    ordered = sorted(values)
    return round(ordered[int(share * (len(ordered) - 1))] * 1000, 1) if ordered else None


def command(home: Path) -> list[str]:
    """The terminal on one project."""
    return [sys.executable, "-m", "simflow", "tui", "--home", str(home)]


def first_paints(home: Path, times: int) -> Iterator[float]:
    """CPU seconds until the list of runs is on the screen, for each of some starts."""
    for _ in range(times):
        with Terminal(command(home)) as terminal:
            terminal.until("water-tariff")
            yield terminal.cpu()


def cpu_shares(terminal: Terminal, seconds: float) -> Iterator[tuple[str, float]]:
    """Screen -> share of a core while it is on, once it has read what there was before."""
    for name, (key, words) in SCREENS.items():
        terminal.write(key)
        terminal.until(words, seconds=20)
        if name == "memory":
            terminal.write("i")
            terminal.until("recall", seconds=5)
            terminal.write("the water bill\r")
            terminal.until("being said", seconds=30)
        terminal.idle(2.5)
        cpu, wall = terminal.cpu(), time.perf_counter()
        terminal.idle(seconds)
        yield name, round((terminal.cpu() - cpu) / (time.perf_counter() - wall), 4)


def moves(terminal: Terminal, name: str, keys: int) -> list[float]:
    """Seconds from a key to the paint of the cursor's sign on another line."""
    key, words = SCREENS[name]
    terminal.write(key)
    terminal.until(words, seconds=20)
    terminal.idle(1.0)
    found = []
    for number in range(keys):
        came: dict[bytes, None] = {}
        took = timed(terminal, "j" if number % 8 < 4 else "k", lambda seen, came=came: cursor(seen, came))  # type: ignore[misc]
        found += [took] if took is not None else []
        terminal.idle(0.05 + 0.013 * (number % 7))
    return found


def cursor(seen: bytes, came: dict[bytes, None]) -> bool:
    """Whether the sign was painted; `came` holds the lines on which it was."""
    came.update(dict.fromkeys(CURSOR.findall(seen)))
    return bool(came)


def switches(terminal: Terminal, rounds: int) -> dict[str, list[float]]:
    """Seconds from a screen's key to the paint of what only it shows, its data or the place where they will be."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, (key, _) in SCREENS.items():
            wanted = SKELETON[name].encode()
            took = timed(terminal, key, lambda seen, wanted=wanted: wanted in seen)  # type: ignore[misc]
            found.setdefault(f"go {name}", []).extend([took] if took is not None else [])
            terminal.idle(0.7)
    return found


def timed(terminal: Terminal, key: str, painted: Callable[[bytes], bool]) -> float | None:
    """Seconds until what a key asks for is painted; None if that does not come within five."""
    began = time.perf_counter()
    terminal.write(key)
    return time.perf_counter() - began if terminal.see(painted, seconds=5.0) else None


def long(home: Path, episodes: int) -> tuple[int, dict[str, float], float]:
    """Episodes written; resident megabytes of the terminal after each screen of a run of that length; those of who answers questions."""
    each = 2_500
    writer = Writer(home, each)
    for _ in range(max(1, episodes // each)):
        writer.window()
    Writer(home, each, cell="price-s8", stamp="20261129-000000").window()
    memory: dict[str, float] = {}
    questions = 0.0
    with Terminal(command(home)) as terminal:
        terminal.until("water-tariff")
        for name, (key, words) in SCREENS.items():
            terminal.write(key)
            terminal.until(words, seconds=60)
            terminal.settle(quiet=2.0)
            memory[name] = round(terminal.memory() / 1e6, 1)
            questions = max([questions, *(terminal.memory(pid) for pid in terminal.children())])
    return each * max(1, episodes // each), memory, round(questions / 1e6, 1)
