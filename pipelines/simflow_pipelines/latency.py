"""How long a recall takes at the end of a window: what an agent would wait for."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from simflow.store import RunData

QUESTIONS = 5


def recall_latency(run: RunData, number: int) -> float | None:
    """Median wall milliseconds of a recall at the end of window `number`; None where nobody has said anything in it.

    The situations are the window's newest texts, each put to an agent that answered or wrote it; the first one loads the memory and is not
    counted.
    """
    from simflow import memory  # noqa: PLC0415 - the engine's room

    window = run.window(number).table("episodes", ["actor", "sentence", "text"])
    said = window.filter(pc.is_valid(window["text"])).select(["actor", "sentence"])
    newest: pa.Table = said.slice(max(0, said.num_rows - QUESTIONS))
    if not newest.num_rows:
        return None
    view = memory.open(type(run)(run.store, run.record, run.windows[: number + 1]))
    taken = []
    for row in [*newest.slice(0, 1).to_pylist(), *newest.to_pylist()]:
        began = time.perf_counter()
        view.recall(row["actor"], None, row["sentence"])
        taken.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(taken[1:]), 3)
