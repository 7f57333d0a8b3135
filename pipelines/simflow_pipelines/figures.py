"""Figures of one materialised window, with stable names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from simflow.runs import RunRecord, is_remote

if TYPE_CHECKING:
    from simflow_pipelines.assets import Result

_FIGURES: dict[str, tuple[str, ...]] = {
    "episodes": ("episodes", "exposures", "seconds_world", "tokens", "cost", "measure/"),
    "vectors": ("seconds_vectors",),
    "edges": ("edges_in_force", "edges_superseded", "queue", "seconds_edges", "stance_mean/", "stance_sd/"),
    "personas": ("seconds_personas", "stance_mean/", "stance_sd/"),
    "snapshot": ("edges_in_force", "edges_superseded", "seconds_snapshot", "stance_mean/", "stance_sd/"),
}
_ROWS = {"episodes": "episodes", "vectors": "vectors", "edges": "edges", "personas": "personas"}


def materialization_metadata(name: str, home: Path, run: RunRecord, result: Result, *, reused: bool) -> dict[str, Any]:
    """Metadata of one asset of a window: figures by name, where its file lies, which run, whether anything had to be computed."""
    record = result.record
    chosen: dict[str, Any] = {
        k: v for k, v in result.metadata.items() if any(k == f or (f.endswith("/") and k.startswith(f)) for f in _FIGURES[name])
    }
    chosen |= {"window": record.number, "from_tick": record.start, "to_tick": record.stop, "reused": reused, "run": run.id}
    if name in _ROWS:
        chosen["dagster/row_count"] = dg.MetadataValue.int(_rows(record.rows, _ROWS[name]))
        chosen["file"] = _where(home / "windows" / record.key[:2] / record.key / f"{_ROWS[name]}.parquet")
    else:
        chosen["file"] = _where(home / "lance" / run.id)
    return chosen


def _rows(rows: Mapping[str, int], table: str) -> int:
    return int(rows.get(table, 0))


def _where(path: Path) -> dg.MetadataValue[Any]:
    return dg.MetadataValue.url(str(path)) if is_remote(path) else dg.MetadataValue.path(str(path))
