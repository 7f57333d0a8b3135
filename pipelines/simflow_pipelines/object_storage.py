"""The plugin of dbt-duckdb that lets models read state on object storage: `plugins: [{module: simflow_pipelines.object_storage}]`."""

from __future__ import annotations

from typing import Any

from dbt.adapters.duckdb.plugins import BasePlugin

from simflow.runs.place import filesystem


class Plugin(BasePlugin):
    """Gives DuckDB the filesystem behind `s3://`."""

    def configure_connection(self, conn: Any) -> None:
        """Register the filesystem with a new connection."""
        conn.register_filesystem(filesystem())
