"""Makes the helpers of this folder importable, and one world that many tests look at."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import make_cell, run

from simflow.plan import Cell
from simflow.ports import Step


@pytest.fixture(scope="session")
def standard() -> tuple[Cell, Step]:
    """A cell and all that happened in it."""
    cell = make_cell(agents=90, ticks=240)
    return cell, run(cell)
