"""The ledger: the readable record of runs."""

from simflow.runs.ledger import CheckRecord, Ledger, Progress, RunRecord, State, WindowRecord, find_arm, find_run, home, list_runs
from simflow.runs.place import is_remote, place, workplace

__all__ = [
    "CheckRecord",
    "Ledger",
    "Progress",
    "RunRecord",
    "State",
    "WindowRecord",
    "find_arm",
    "find_run",
    "home",
    "is_remote",
    "list_runs",
    "place",
    "workplace",
]
