"""One window of one cell, from state to committed snapshot."""

from simflow.run.cellrun import STAGES, CellRun, WindowResult, ids, keys_of, open_cell, window_keys
from simflow.run.figures import figures

__all__ = ["STAGES", "CellRun", "WindowResult", "figures", "ids", "keys_of", "open_cell", "window_keys"]
