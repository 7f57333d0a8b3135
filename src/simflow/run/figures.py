"""Figures of a run as of its last window, with stable names: what the catalogue, the terminal and the report show."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from simflow.measures.record import headline
from simflow.memory.beliefs import present
from simflow.store import RunData


def figures(run: RunData) -> dict[str, float | int | str]:
    """Figures of the newest window and of the beliefs at its end.

    episodes, exposures: rows of the window. edges_in_force, edges_superseded: at its end. queue: episodes that wait for extraction.
    seconds_<stage>: wall seconds. stance_mean/<topic>, stance_sd/<topic>: of the opinions in force, as the memory sees them.
    tokens, cost: spent on models in the window. measure/<name>, measure/<name>/<topic>: of `headline`, where the window has been measured.
    """
    if not run.windows:
        return {}
    record = run.windows[-1]
    window = run.window(record.number)
    edges = present(run.table("edges"))
    standing = edges.filter(pc.is_null(edges.column("valid_to"))) if edges.num_rows else edges
    found: dict[str, float | int | str] = {
        "episodes": record.rows.get("episodes", 0),
        "exposures": record.rows.get("exposures", 0),
        "edges_in_force": standing.num_rows,
        "edges_superseded": edges.num_rows - standing.num_rows,
        "queue": int(window.manifest.get("queue", 0)),
        "tokens": int(window.manifest.get("tokens", 0)),
        "cost": float(window.manifest.get("cost", 0.0)),
        **{f"seconds_{stage}": seconds for stage, seconds in record.seconds.items()},
    }
    for topic in run.cell.topics:
        values = standing.filter(pc.equal(standing.column("on_topic"), topic.name)).column("value") if standing.num_rows else None
        if values is not None and len(values):
            stances = np.asarray(values, dtype=np.float64)
            found[f"stance_mean/{topic.name}"] = round(float(stances.mean()), 4)
            found[f"stance_sd/{topic.name}"] = round(float(stances.std()), 4)
    return found | {f"measure/{name}": value for name, value in headline(run).items()}
