"""The ledger: the readable record of runs."""

from simflow.runs.ledger import Ledger, Progress, RunRecord, State, WindowRecord, find_run, home, list_runs

__all__ = ["Ledger", "Progress", "RunRecord", "State", "WindowRecord", "find_run", "home", "list_runs"]
