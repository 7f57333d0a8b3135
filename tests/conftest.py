"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Machines are shared and slow at times: how long an example takes says nothing about whether it is right.
# CI draws the same examples each time, so that a red run can be looked into; anywhere else they are new each time.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

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
