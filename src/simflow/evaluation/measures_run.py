"""The measures of all windows of a stored run."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import TRUTH
from simflow.evaluation.measures import MEASURES, window_measures
from simflow.store import RunData


def run_measures(data: RunData, progress: Callable[[int, int], None] | None = None) -> pa.Table:
    """The long table (`measures.MEASURES`) of every committed window of a run, in order."""
    cell = data.cell
    agents, episodes, exposures = data.agents(), data.table("episodes"), data.table("exposures")
    truth = {name: data.truth(name) for name in TRUTH}
    texts = episodes.select(["episode", "tick"])
    truth["statements"] = truth["statements"].join(texts, "episode").combine_chunks()
    seen = any(table.num_rows for table in truth.values())
    parts = []
    for window in data.windows:
        before = {name: _until(table, window.stop) for name, table in truth.items()}
        parts.append(
            window_measures(
                window.number,
                window.start,
                window.stop,
                topics=[topic.name for topic in cell.topics],
                agents=agents.filter(pc.less(agents["joined"], window.stop)),
                episodes=_until(episodes, window.stop),
                exposures=_until(exposures, window.stop),
                truth=before if seen else None,
                feed=cell.platform.feed.posts,
            )
        )
        if progress:
            progress(len(parts), len(data.windows))
    return pa.concat_tables(parts) if parts else MEASURES.empty_table()


def _until(table: pa.Table, stop: int) -> pa.Table:
    return table.filter(pc.less(table["tick"], stop))
