"""`.simflow/catalog`: which windows belong to which run, as Parquet, for readers that know SQL and not the ledger."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from simflow.episode import TABLES
from simflow.measures.record import VERSION
from simflow.measures.window import MEASURES
from simflow.runs import RunRecord, list_runs
from simflow.store import Store
from simflow.store.windows import encode

RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("scenario", pa.string()),
        ("cell", pa.string()),
        ("variant", pa.string()),
        ("sweep", pa.string()),
        ("seed", pa.int64()),
        ("started", pa.timestamp("us")),
        ("state", pa.string()),
        ("reason", pa.string()),
        ("ticks", pa.int32()),
        ("planned_windows", pa.int32()),
        ("is_latest", pa.bool_()),
        ("engine", pa.string()),
        ("embedder", pa.string()),
        ("extractor", pa.string()),
        ("simflow", pa.string()),
        ("topics", pa.list_(pa.string())),
        ("minutes_per_tick", pa.int32()),
    ]
)

WINDOWS = pa.schema(
    [
        ("run", pa.string()),
        ("window_number", pa.int32()),
        ("key", pa.string()),
        ("folder", pa.string()),
        ("from_tick", pa.int32()),
        ("to_tick", pa.int32()),
        ("is_reused", pa.bool_()),
        ("committed", pa.timestamp("us")),
        ("is_present", pa.bool_()),
        ("measures_folder", pa.string()),
        ("queue", pa.int64()),
        ("tokens", pa.int64()),
        ("cost", pa.float64()),
        *((f"seconds_{stage}", pa.float64()) for stage in ("world", "vectors", "edges", "personas", "snapshot")),
    ]
)


def write_catalog(home: Path) -> dict[str, int]:
    """Write runs.parquet, windows.parquet and one empty file for each table, whose columns stand where there is no window yet.

    Returns the number of rows by table. Runs whose run.yaml cannot be read are left out: they cannot be told apart.
    """
    store = Store(home)
    records = [(record, about) for record in list_runs(home) if "cell" in (about := record.about())]
    runs = [_run(record, about, records) for record, about in records]
    windows = [row for record, _ in records for row in _windows(store, record)]
    for name, table in {"runs": pa.Table.from_pylist(runs, RUNS), "windows": pa.Table.from_pylist(windows, WINDOWS)}.items():
        store.files.write(f"catalog/{name}.parquet", encode(table))
    for name, schema in {**TABLES, "measures": MEASURES}.items():
        store.files.write(f"catalog/empty/{name}.parquet", encode(schema.empty_table()))
    return {"runs": len(runs), "windows": len(windows)}


def _measures(store: Store, key: str) -> str | None:
    return store.files.url(store.measured.path(VERSION, key)) if store.measured.has(VERSION, key) else None


def _run(record: RunRecord, about: dict[str, Any], records: list[tuple[RunRecord, dict[str, Any]]]) -> dict[str, Any]:
    cell = about["cell"]
    progress = record.progress()
    ids = about.get("ids") or {}
    # The ledger lists newest first: the first run of a cell is its latest.
    latest = next(r.id for r, a in records if r.scenario == record.scenario and _cell(r) == _cell(record))
    return {
        "run": record.id,
        "scenario": record.scenario,
        "cell": _cell(record),
        "variant": str(about.get("variant", "")),
        "sweep": json.dumps(cell.get("sweep") or {}, sort_keys=True, ensure_ascii=False),
        "seed": int(about.get("seed", 0)),
        "started": _started(record),
        "state": progress.state if progress else "unknown",
        "reason": (progress.reason or None) if progress else None,
        "ticks": int(about.get("ticks", 0)),
        "planned_windows": int(about.get("windows", 0)),
        "is_latest": latest == record.id,
        "engine": ids.get("engine"),
        "embedder": ids.get("embedder"),
        "extractor": ids.get("extractor"),
        "simflow": about.get("simflow"),
        "topics": [str(t["name"]) for t in cell.get("topics") or []],
        "minutes_per_tick": int((cell.get("clock") or {}).get("minutes", 0)),
    }


def _cell(record: RunRecord) -> str:
    # Run folders are named <date>-<time>-<cell>.
    return record.path.name.split("-", 2)[-1]


def _started(record: RunRecord) -> datetime | None:
    try:
        return datetime.strptime("-".join(record.path.name.split("-")[:2]), "%Y%m%d-%H%M%S").replace(tzinfo=UTC).replace(tzinfo=None)
    except ValueError:
        return None


def _windows(store: Store, record: RunRecord) -> list[dict[str, Any]]:
    rows = []
    for window in record.windows():
        stored = store.windows.get(window.key)
        manifest = stored.manifest if stored else {}
        rows.append(
            {
                "run": record.id,
                "window_number": window.number,
                "key": window.key,
                "folder": store.files.url(store.windows.path(window.key)),
                "from_tick": window.start,
                "to_tick": window.stop,
                "is_reused": window.reused,
                "committed": datetime.fromtimestamp(window.committed, UTC).replace(tzinfo=None),
                "is_present": stored is not None,
                "measures_folder": _measures(store, window.key) if stored else None,
                "queue": int(manifest.get("queue", 0)),
                "tokens": int(manifest.get("tokens", 0)),
                "cost": float(manifest.get("cost", 0.0)),
                **{
                    f"seconds_{stage}": float(window.seconds.get(stage, 0.0))
                    for stage in ("world", "vectors", "edges", "personas", "snapshot")
                },
            }
        )
    return rows
