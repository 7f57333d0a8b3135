"""The DuckDB file of a project: where it is, and whether it holds what the ledger says, without opening it."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from simflow.runs import workplace
from simflow.runs.ledger import replace
from simflow_pipelines.catalog import write_catalog
from simflow_pipelines.dbt_project import dbt_folder


def path(home: Path) -> Path:
    """Where the warehouse is: in the state folder, or in the workplace of an object store."""
    return workplace(home) / "warehouse.duckdb"


def project_digest(folder: Path) -> str:
    """Digest of the dbt project's files and of what compiles them."""
    digest = hashlib.sha256(f"{metadata.version('dbt-core')} {metadata.version('dbt-duckdb')}".encode())
    kinds = {".sql", ".yml", ".yaml", ".md", ".csv"}
    for file in sorted(p for p in folder.rglob("*") if p.suffix in kinds and not {"target", "logs"} & set(p.parts)):
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def fresh(home: Path) -> bool:
    """Whether the last whole build was of these models over these runs and windows. Writes the catalog to find out."""
    write_catalog(home)
    built = workplace(home) / "dbt" / "built"
    return path(home).exists() and built.exists() and built.read_text("utf-8") == _state(home)


def remember(home: Path) -> None:
    """Note that the warehouse has just been built from the catalog as it is."""
    replace(workplace(home) / "dbt" / "built", _state(home))


def _state(home: Path) -> str:
    digest = hashlib.sha256(project_digest(dbt_folder()).encode())
    for name in ("runs", "windows"):
        digest.update((home / "catalog" / f"{name}.parquet").read_bytes())
    return digest.hexdigest()
