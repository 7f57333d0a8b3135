"""Measures of the windows of a run: each is measured once, from its own data and what stood before it, and kept beside the windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import TRUTH
from simflow.measures.standing import STANDING, condensed, rows_schema, stand
from simflow.measures.window import MEASURES, window_measures
from simflow.plan import Cell
from simflow.store import RunData, Window

VERSION = "v1"
"""Of the formulas: with another one, everything is measured anew."""
HEADLINE = (
    *("variance", "spread", "bimodality", "esteban_ray", "camps", "drift", "flips_per_1000"),
    *("assortativity", "controversy", "cross_cutting", "participation", "exposures", "posting_gini", "virality_mean"),
)
"""Measures that are shown beside the other figures of a window."""
_PEOPLE = ["agent", "persona", "is_voice", "joined"]
_ACTS = ["episode", "tick", "actor", "kind", "parent", "text"]
_SEEN = ["tick", "reader", "episode"]
_SAID = ["episode", "topic", "stance", "side", "argument"]


def measured(run: RunData, number: int, cell: Cell | None = None) -> pa.Table:
    """The measures of window `number`, schema `MEASURES`; computed and kept if they are not there, with those before it that are missing.

    cell: what the run computes, if it is at hand. Raises RunFailed if a window that is needed is gone.
    """
    kept = run.store.measured
    keys = [w.key for w in run.windows[: number + 1]]
    if (found := kept.get(VERSION, keys[-1])) is not None:
        return found
    begin = next((n for n in range(number, 0, -1) if kept.has(VERSION, keys[n - 1])), 0)
    standing = kept.get(VERSION, keys[begin - 1], "standing") if begin else None
    table = MEASURES.empty_table()
    for n in range(begin, number + 1):
        table, standing = _measure(run, cell or run.cell, n, standing)
        kept.put(VERSION, keys[n], table, standing)
    return table


def headline(run: RunData) -> dict[str, float]:
    """`HEADLINE` of everybody in the newest window, by name, or name/topic; nothing if it has not been measured."""
    table = run.store.measured.get(VERSION, run.windows[-1].key) if run.windows else None
    if table is None:
        return {}
    rows = table.filter(pc.and_(pc.is_null(table["group"]), pc.is_in(table["measure"], value_set=pa.array(HEADLINE)))).to_pylist()
    return {"/".join(filter(None, (row["measure"], row["topic"]))): row["value"] for row in rows}


def run_measures(run: RunData, progress: Callable[[int, int], None] | None = None) -> pa.Table:
    """The measures of every committed window of a run, in order."""
    parts = []
    for window in run.windows:
        parts.append(measured(run, window.number))
        if progress:
            progress(len(parts), len(run.windows))
    return pa.concat_tables(parts) if parts else MEASURES.empty_table()


def _measure(run: RunData, cell: Cell, number: int, standing: pa.Table | None) -> tuple[pa.Table, pa.Table]:
    record, window = run.windows[number], run.window(number)
    episodes, exposures = window.table("episodes", _ACTS), window.table("exposures", _SEEN)
    earlier = list(_earlier(run, number, _referred(episodes, exposures)))
    truth = {name: window.table(f"truth/{name}") for name in TRUTH if f"truth/{name}" in window.rows}
    if "statements" in truth:
        truth["statements"] = pa.concat_tables([truth["statements"].select(_SAID), *(said for _, said in earlier)])
    rows = _stances(truth.get("stances"), standing, record.start)
    if rows is not None:
        truth["stances"] = rows
    table = window_measures(
        number,
        record.start,
        record.stop,
        topics=[topic.name for topic in cell.topics],
        agents=_people(run, number, record.stop),
        episodes=pa.concat_tables([*(acts for acts, _ in reversed(earlier)), episodes]),
        exposures=exposures,
        truth=truth or None,
        feed=cell.platform.feed.posts,
    )
    return table, STANDING.empty_table() if rows is None else stand(rows)


def _stances(fresh: pa.Table | None, standing: pa.Table | None, start: int) -> pa.Table | None:
    if fresh is None:
        return None
    schema = rows_schema()
    rows = fresh.select(schema.names).cast(schema)
    return rows if standing is None or not standing.num_rows else pa.concat_tables([condensed(standing, start), rows])


def _people(run: RunData, number: int, stop: int) -> pa.Table:
    # Only windows in which somebody came are read.
    came = [run.window(w.number).table("agents", _PEOPLE) for w in run.windows[: number + 1] if w.rows.get("agents", 1)]
    agents = pa.concat_tables(came).sort_by("agent") if came else run.window(number).table("agents", _PEOPLE)
    return agents.filter(pc.less(agents["joined"], stop))


def _referred(episodes: pa.Table, exposures: pa.Table) -> pa.Array:
    ids = pa.chunked_array([*episodes["parent"].drop_null().chunks, *exposures["episode"].chunks], pa.int64())
    wanted = pc.unique(ids)
    return wanted.filter(pc.invert(pc.is_in(wanted, value_set=episodes["episode"].combine_chunks())))


def _earlier(run: RunData, number: int, wanted: pa.Array) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Episodes among `wanted` and what they said, window by window backwards; feeds show what is new, so it does not go far back."""
    for n in range(number - 1, -1, -1):
        if not len(wanted):
            return
        window: Window = run.window(n)
        # Their texts are not needed again, and may be most of the file.
        acts = window.table("episodes", _ACTS[:-1])
        acts = acts.filter(pc.is_in(acts["episode"], value_set=wanted))
        if not acts.num_rows:
            continue
        there = acts["episode"].combine_chunks()
        wanted = wanted.filter(pc.invert(pc.is_in(wanted, value_set=there)))
        said = TRUTH["statements"].empty_table().select(_SAID)
        if "truth/statements" in window.rows:
            said = window.table("truth/statements", _SAID)
            said = said.filter(pc.is_in(said["episode"], value_set=there))
        yield acts.append_column("text", pa.nulls(acts.num_rows, pa.string())), said
