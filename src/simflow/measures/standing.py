"""Where everybody stands at the end of a window: all that the measures of the next one need to know of the past."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simflow.measures.activity import HYSTERESIS

STANDING = pa.schema(
    [
        pa.field("agent", pa.int32(), nullable=False),
        pa.field("topic", pa.int16(), nullable=False),
        pa.field("first", pa.int64()),
        pa.field("stance", pa.int64(), nullable=False),
        pa.field("side", pa.int8(), nullable=False),
    ]
)
"""One row for each agent and topic: stance before tick 0 (null for who came later) and now, in units of 2**-32; the side last taken."""
_ROWS = ("tick", "agent", "topic", "stance")
_GRID = 1 << 32
_KINDS = (pa.int32(), pa.int32(), pa.int16(), pa.int64())


def condensed(standing: pa.Table, start: int) -> pa.Table:
    """Stance rows (tick, agent, topic, stance) that stand for the whole history before tick `start`.

    They give the same stance before tick 0, the same stance now and the same last side as the history itself.
    """
    n = standing.num_rows
    known = standing.filter(standing["first"].is_valid())
    sided = standing.filter(pa.array(standing["side"].to_numpy() != 0))
    parts = [
        (np.full(known.num_rows, -1), known, known["first"]),
        (np.full(sided.num_rows, start - 1), sided, pa.array(sided["side"].to_numpy().astype(np.int64) * _GRID)),
        (np.full(n, start - 1), standing, standing["stance"]),
    ]
    tables = [
        pa.table([pa.array(tick, pa.int32()), rows["agent"], rows["topic"], stance], names=list(_ROWS)) for tick, rows, stance in parts
    ]
    return pa.concat_tables([t.cast(rows_schema()) for t in tables])


def rows_schema() -> pa.Schema:
    """The columns of stance rows that measures read."""
    return pa.schema(list(zip(_ROWS, _KINDS, strict=True)))


def stand(rows: pa.Table) -> pa.Table:
    """`STANDING` after stance rows, condensed ones of the past first. Rows of one tick count in their order."""
    agent, topic, tick, stance = (rows[name].to_numpy().astype(np.int64) for name in ("agent", "topic", "tick", "stance"))
    order = np.lexsort((np.arange(len(tick)), tick, topic, agent))
    agent, topic, tick, stance = agent[order], topic[order], tick[order], stance[order]
    last = np.ones(len(agent), dtype=bool)
    last[:-1] = (agent[1:] != agent[:-1]) | (topic[1:] != topic[:-1])
    begins = np.flatnonzero(np.r_[True, last[:-1]]) if len(agent) else np.zeros(0, np.int64)
    ends = np.flatnonzero(last)
    side = np.where(stance > HYSTERESIS * _GRID, 1, np.where(stance < -HYSTERESIS * _GRID, -1, 0))
    # The newest row that takes a side, of each agent and topic: the highest place so far that has one.
    place = np.maximum.accumulate(np.where(side != 0, np.arange(len(side)), -1)) if len(side) else np.zeros(0, np.int64)
    taken = np.where(place[ends] >= begins, side[place[ends]], 0) if len(ends) else np.zeros(0, np.int64)
    before = np.add.reduceat((tick < 0).astype(np.int64), begins) if len(begins) else begins
    first = stance[begins + np.maximum(before - 1, 0)]
    return pa.table(
        [
            pa.array(agent[ends], pa.int32()),
            pa.array(topic[ends], pa.int16()),
            pa.array(first, pa.int64(), mask=before == 0),
            pa.array(stance[ends], pa.int64()),
            pa.array(taken, pa.int8()),
        ],
        schema=STANDING,
    )
