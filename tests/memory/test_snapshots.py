"""Readers while a run is writing: each sees one moment, whole, and nothing of what comes after."""

from __future__ import annotations

import json
import multiprocessing
import time
from pathlib import Path

import pytest
from tests.memory.conftest import CELL, Reader, Talkers, Words

from simflow import memory
from simflow.run import open_cell, parts
from simflow.runs import find_run
from simflow.store import Store

READERS = 8
QUESTIONS = [(0, "leaks and pipes"), (1, "What is being said about water now?"), (2, "Bob Ray on trains"), (4, "before tick 30")]


PATIENCE = 500.0
"""Seconds after which a process that waits for the others gives up."""


def write(root, seen):
    # The next window is not begun before every reader has seen the one before it; they go on reading while it is written.
    parts.factory = lambda part, _name: {"engine": Talkers, "embedder": Words, "extractor": Reader}[part]
    run = open_cell("small-town.yaml", CELL, Path(root))
    for number, (_, stop) in enumerate(run.windows):
        run.window(number)
        until = time.monotonic() + PATIENCE
        while not all((Path(seen) / f"{reader}-{stop}").exists() for reader in range(READERS)):
            if time.monotonic() > until:
                raise AssertionError(f"nobody came to see tick {stop}")
            time.sleep(0.02)


def read(root, number, seen, found):
    # Opens the run again and again while it grows; keeps every answer with the moment that it was given for.
    answers, again, until = {}, 0, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            data = Store(Path(root)).open(find_run(Path(root), "small-town"))
        except Exception as error:  # before the run exists
            if "is no run" not in str(error):
                raise
            time.sleep(0.1)
            continue
        if not data.windows:
            time.sleep(0.1)
            continue
        view = memory.open(data, embedder=Words())
        agent, about = QUESTIONS[(number + again) % len(QUESTIONS)]
        block = view.recall(agent, None, about)
        time.sleep(0.005)
        if view.recall(agent, None, about).plain() != block.plain():
            raise AssertionError("an open memory moved")
        key = f"{data.end}/{(number + again) % len(QUESTIONS)}"
        if answers.setdefault(key, block.plain()) != block.plain():
            raise AssertionError(f"two answers for one moment: {key}")
        again += 1
        (Path(seen) / f"{number}-{data.end}").touch()
        if data.end == CELL.clock.ticks and again > 8:
            break
    Path(found).write_text(json.dumps({"asked": again, "answers": answers}), "utf-8")


@pytest.mark.slow
def test_eight_readers_see_whole_moments_while_a_run_is_written(tmp_path):
    root, seen = tmp_path / ".simflow", tmp_path / "seen"
    seen.mkdir()
    context = multiprocessing.get_context("spawn")
    files = [tmp_path / f"reader-{n}.json" for n in range(READERS)]
    readers = [context.Process(target=read, args=(str(root), n, str(seen), str(files[n]))) for n in range(READERS)]
    writer = context.Process(target=write, args=(str(root), str(seen)))
    for process in (writer, *readers):
        process.start()
    for process in (writer, *readers):
        process.join()
    assert [p.exitcode for p in (writer, *readers)] == [0] * (READERS + 1)
    data = Store(root).open(find_run(root, "small-town"))
    moments = set()
    for file in files:
        for key, answer in json.loads(file.read_text("utf-8"))["answers"].items():
            end, question = map(int, key.split("/"))
            moments.add(end)
            agent, about = QUESTIONS[question]
            # What a reader was told then is what the finished run says of that moment now.
            expected = memory.open(data, as_of=end, embedder=Words()).recall(agent, None, about).plain()
            assert answer == json.loads(json.dumps(expected))
    assert moments == {stop for _, stop in CELL.windows}
