"""The example over many runs says what came of a build without counts that age, and docs/tables.md says it as it does."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore:sqlglotrs is deprecated:DeprecationWarning")  # of dagster-dbt's making


@pytest.fixture(scope="module")
def verdict():
    return runpy.run_path(str(ROOT / "pipelines" / "examples" / "many_runs.py"))["verdict"]


@pytest.mark.parametrize(
    ("statuses", "words"),
    [
        ({"model success": 3, "test pass": 4, "unit_test pass": 5}, "every model success, every test pass, every unit_test pass"),
        ({"model success": 3, "test pass": 4, "test fail": 1}, "every model success, test 1 fail, 4 pass"),
        ({"model success": 3, "model skipped": 2, "unit_test runtime error": 1}, "model 2 skipped, 3 success, unit_test 1 runtime error"),
    ],
)
def test_a_build_is_told_by_kind_and_what_failed_is_counted(verdict, statuses, words):
    assert verdict(statuses) == words


def test_the_page_prints_what_the_example_says_of_a_good_build(verdict):
    line = next(line for line in (ROOT / "docs" / "tables.md").read_text("utf-8").splitlines() if line.startswith("dbt build:"))
    said = verdict({"model success": 1, "test pass": 1, "unit_test pass": 1})
    assert line.startswith(f"dbt build: {said}; ")
