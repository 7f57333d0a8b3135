"""A run of a week: whatever has been written, what the terminal holds of it stays small."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.runs import Ledger, RunRecord, WindowRecord
from simflow_tui.committed import KEEP, WindowsFile
from simflow_tui.society import POINTS, Stances
from simflow_tui.watch import LogTail, Watch


def record(number: int, size: int = 10) -> WindowRecord:
    key = hashlib.sha256(f"w{number}".encode()).hexdigest()
    kinds = {"post": 200, "reply": 300, "like": 500}
    return WindowRecord(
        number, key, number * size, (number + 1) * size, {"episodes": 1000, "edges": 40}, {"world": 0.5, "vectors": 0.25}, kinds
    )


WATCH = """
import sys
from pathlib import Path
from simflow_tui.committed import WindowsFile

def highest():
    return next(int(l.split()[1]) for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM"))

file, before = WindowsFile(Path(sys.argv[1])), highest()
now = file.poll()
last = [p.key for p in now.since(now.total - 2)]
print(now.total, len(now.recent), now.stop, now.kinds, now.seconds, *last, highest() - before, sep="|")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_hundred_thousand_windows_cost_their_places_alone(tmp_path):
    path, count = tmp_path / "windows.json", 100_000
    row = dataclasses.asdict(record(0))
    with path.open("w") as out:
        for number in range(count):
            row |= {"number": number, "key": f"{number:064x}", "start": number * 10, "stop": number * 10 + 10}
            out.write(("[\n" if number == 0 else ",\n") + json.dumps(row))
        out.write("\n]")
    assert path.stat().st_size > 25_000_000
    done = subprocess.run([sys.executable, "-c", WATCH, str(path)], capture_output=True, text=True, check=True)
    *told, grown = done.stdout.strip().split("|")
    kinds = {"post": 200 * count, "reply": 300 * count, "like": 500 * count}
    seconds = {"world": count * 0.5, "vectors": count * 0.25}
    assert told == [str(v) for v in (count, KEEP, count * 10, kinds, seconds, f"{count - 2:064x}", f"{count - 1:064x}")]
    assert int(grown) < 16_000, "kilobytes, at their highest while the file of 25 MB was read"


def test_what_is_added_is_read_and_what_was_read_is_not(tmp_path, monkeypatch):
    ledger = Ledger(RunRecord("s/20260101-000000-c", tmp_path))
    file, taken = WindowsFile(tmp_path / "windows.json"), []
    kept = WindowsFile._take
    monkeypatch.setattr(WindowsFile, "_take", lambda self, row: (taken.append(row["number"]), kept(self, row)))
    for count in (3, 4, 4, 9):
        ledger.windows(tuple(record(n) for n in range(count)))
        assert file.poll().total == count
    assert taken == list(range(9))
    ledger.windows(tuple(record(n + 50) for n in range(9)))  # other windows: the run was begun anew
    assert [p.number for p in file.poll().since(0)] == list(range(50, 59))


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=1, max_size=6),
    keep=st.integers(1, 5),
    names=st.sampled_from(["post", "тариф", "水", "😤"]),
)
def test_windows_that_are_followed_are_those_that_are_written(tmp_path_factory, steps, keep, names):
    folder = tmp_path_factory.mktemp("run")
    ledger, file = Ledger(RunRecord("s/20260101-000000-c", folder)), WindowsFile(folder / "windows.json", keep=keep)
    for count, which in steps:
        rows = [dataclasses.replace(record(n + 100 * which), kinds={names: n}, reused=n % 2 == 0) for n in range(count)]
        ledger.windows(tuple(rows))
        now = file.poll()
        assert now.recent == tuple(rows[-keep:])
        assert [p.key for p in now.since(0)] == [r.key for r in rows]
        assert now.reused == sum(r.reused for r in rows)
        assert now.kinds == ({names: sum(range(count))} if rows else {})


def test_a_million_lines_of_log_cost_the_newest_ones(tmp_path):
    tail, path = LogTail(tmp_path / "log.jsonl"), tmp_path / "log.jsonl"
    line = json.dumps({"time": "2026-11-30T07:20:10.000+00:00", "level": "info", "stage": "window", "message": "window 12345 committed"})
    block = f"{line}\n" * 50_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            with path.open("a") as out:
                out.write(block)
            tail.poll()
        held, peak = (value - before for value in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 100_000_000
    assert len(tail.lines) == 500
    assert held < 2_000_000
    assert peak < 2_000_000 + 2 * len(block)
    path.unlink()


def test_a_line_that_never_ends_is_let_go(tmp_path):
    tail, path = LogTail(tmp_path / "log.jsonl"), tmp_path / "log.jsonl"
    for _ in range(5):
        with path.open("a") as out:
            out.write("x" * (tail.REACH // 2))
        tail.poll()
        assert len(tail._rest) <= tail.REACH
    with path.open("a") as out:
        out.write('\n{"message": "after"}\n')
    assert tail.poll()
    assert [entry["message"] for entry in tail.lines] == ["after"]


def test_a_curve_keeps_as_many_points_as_a_terminal_can_show(tmp_path):
    stances, means = Stances(), {("water", "pensioner"): 0.5}
    for number in range(20_000):
        stances.append(number, {**means, ("water", "late"): 0.1} if number > 9000 else means)
    assert len(stances.ticks) <= POINTS
    assert stances.ticks[-1] == 19_999
    assert all(b - a == stances.every for a, b in zip(stances.ticks[1:-2], stances.ticks[2:-1], strict=True))
    assert all(len(line) == len(stances.ticks) for line in stances.means.values())
    late = stances.means["water", "late"]
    assert [value is not None for value in late] == [tick > 9000 for tick in stances.ticks]


def test_extraction_queues_of_old_windows_are_forgotten(home, make):
    made = make.run(home, done=6)
    watch = Watch([home])
    windows = watch.windows(made.record)
    assert len(watch.queue(home, windows)) == 6
    watch.queue(home, dataclasses.replace(windows, recent=windows.recent[-2:]))
    assert len(watch._queue) == 2
