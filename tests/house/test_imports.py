"""The rooms stay apart: by their contracts, and in a running process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("dagster", "lancedb", "textual", "dbt", "openai", "instructor", "onnxruntime")


def loaded(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_contracts_hold(root):
    done = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "0 broken" in done.stdout


def test_help_loads_nothing_heavy():
    code = "from simflow.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
    assert loaded(code).isdisjoint({*HEAVY, "numpy", "pyarrow", "pydantic"})


@pytest.mark.parametrize("room", ["simflow.plan", "simflow.runs", "simflow.features"])
def test_words_and_ledger_need_no_arrays(room):
    assert loaded(f"import {room}").isdisjoint({*HEAVY, "numpy", "pyarrow", "pandas"})


@pytest.mark.parametrize("room", ["simflow.store", "simflow.memory", "simflow.world", "simflow.run"])
def test_simflow_loads_no_orchestrator_and_no_terminal(room):
    assert loaded(f"import {room}").isdisjoint({"dagster", "textual", "dbt"})


def test_the_terminal_loads_neither_dagster_nor_lancedb():
    code = "import pkgutil, importlib, simflow_tui\nfor m in pkgutil.walk_packages(simflow_tui.__path__, 'simflow_tui.'):\n    importlib.import_module(m.name)\n"
    assert loaded(code).isdisjoint({"dagster", "lancedb", "dbt", "simflow_pipelines"})


def test_scenarios_are_checked_without_arrays(root):
    code = f"from simflow.cli import main\ntry:\n    main(['validate', {str(root / 'scenarios' / 'water-tariff.yaml')!r}])\nexcept SystemExit as e:\n    assert e.code == 0, e.code\n"
    assert loaded(code).isdisjoint({*HEAVY, "numpy", "pyarrow"})
