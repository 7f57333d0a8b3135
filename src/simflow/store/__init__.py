"""Windows in Parquet, the LanceDB index of a run, content addresses."""

from simflow.store.lance import Index
from simflow.store.rundata import RunData, Store
from simflow.store.windows import FORMAT, Window, Windows

__all__ = ["FORMAT", "Index", "RunData", "Store", "Window", "Windows"]
