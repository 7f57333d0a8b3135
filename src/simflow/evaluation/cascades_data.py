"""Cascades that happened: how many had shared a post, how deep and how broad, some minutes after it."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput
from simflow.measures.cascade import depths, parents

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

MINUTES = (10, 60, 360, 1440, 10080)
"""Ten minutes, an hour, six hours, a day, a week."""
KINDS = ("size", "depth", "breadth")


@dataclass(frozen=True, slots=True)
class Cascades:
    """curves: (n, len(MINUTES), 3), shares (without the post itself), deepest level, broadest level. final: (n, 3), at the end of the record.

    hours: shares by hour of the day (UTC), 24 counts; zeros where only curves are known.
    """

    ids: tuple[str, ...]
    curves: F64
    final: F64
    hours: F64


def read(where: Path) -> Cascades:
    """Cascades of a folder: `cascade_curves.jsonl` (id, size, max_depth, max_breadth, at), `episodes.jsonl` (id, thread, ts, parent_id), or both.

    Raises BadInput if there is neither, or for a line that does not fit.
    """
    curves_file, episodes_file = where / "cascade_curves.jsonl", where / "episodes.jsonl"
    threads = _threads(episodes_file) if episodes_file.exists() else {}
    hours = np.bincount([t.hour for rows in threads.values() for t, _, _ in rows], minlength=24).astype(np.float64)
    if curves_file.exists():
        ids, curves, final = zip(*(_curve(curves_file, number, row) for number, row in _lines(curves_file)), strict=True)
    elif threads:
        ids = tuple(threads)
        curves, final = zip(*(_grown(rows) for rows in threads.values()), strict=True)
    else:
        raise BadInput(f"no cascade_curves.jsonl or episodes.jsonl in {where}", hint="give a folder of cascades")
    return Cascades(tuple(ids), np.array(curves, dtype=np.float64), np.array(final, dtype=np.float64), hours)


def curve(parent: I64, minutes: F64) -> F64:
    """Curve of one cascade, shape (len(MINUTES), 3). parent: row of each node's parent, -1 for the post; minutes since the post."""
    depth = depths(parent)
    out = np.zeros((len(MINUTES), len(KINDS)))
    for k, until in enumerate(MINUTES):
        here = depth[(minutes <= until) & (depth > 0)]
        if len(here):
            out[k] = (len(here), here.max(), np.bincount(here).max())
    return out


def _curve(file: Path, number: int, row: dict[str, Any]) -> tuple[str, F64, tuple[float, float, float]]:
    try:
        curves = np.array([[float(row["at"][str(m)][kind]) for kind in KINDS] for m in MINUTES])
        return str(row["id"]), curves, (float(row["size"]), float(row["max_depth"]), float(row["max_breadth"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"{file}:{number}: not a cascade: {error}", hint=f"id, size, max_depth, max_breadth and `at` for minutes {MINUTES}"
        ) from error


def _threads(file: Path) -> dict[str, list[tuple[datetime, str, str | None]]]:
    threads: dict[str, list[tuple[datetime, str, str | None]]] = defaultdict(list)
    for number, row in _lines(file):
        try:
            threads[row["thread"]].append((datetime.fromisoformat(row["ts"]), str(row["id"]), row.get("parent_id")))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{file}:{number}: not an episode of a thread: {error}", hint="id, thread, ts (ISO 8601), parent_id") from error
    return threads


def _grown(rows: list[tuple[datetime, str, str | None]]) -> tuple[F64, F64]:
    rows = sorted(rows, key=lambda row: row[0])
    place = {name: k for k, (_, name, _) in enumerate(rows)}
    known = np.array([place.get(above, -1) if above else -1 for _, _, above in rows], dtype=np.int64)
    parent = parents(np.arange(len(rows)), known)
    parent[(parent < 0) & (np.arange(len(rows)) > 0)] = 0  # a share of something unseen hangs on the post
    minutes = np.array([(t - rows[0][0]).total_seconds() / 60.0 for t, _, _ in rows])
    depth = depths(parent)
    shares = depth[depth > 0]
    final = np.array([len(shares), depth.max(initial=0), np.bincount(shares).max() if len(shares) else 0], dtype=np.float64)
    return curve(parent, minutes), final


def _lines(file: Path) -> list[tuple[int, dict[str, Any]]]:
    out = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                out.append((number, json.loads(line)))
            except json.JSONDecodeError as error:
                raise BadInput(f"{file}:{number}: not JSON: {error.msg}", hint="one JSON object a line") from error
    return out
