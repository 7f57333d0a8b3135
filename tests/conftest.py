"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real data that SIMFLOW_CORPORA names; skips where it is not set."""
    given = os.environ.get("SIMFLOW_CORPORA")
    if not given or not Path(given).is_dir():
        pytest.skip("SIMFLOW_CORPORA is not set: this test runs on real data that does not ship with the project")
    return Path(given)
