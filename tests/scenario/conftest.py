"""Scenarios in a temporary folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simflow.plan import Plan
from simflow.scenario import check
from simflow.scenario.catalogue import scenario
from simflow.scenario.problems import Problem

Checked = tuple[Plan | None, list[Problem]]


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Checked]:
    """Check a part of a scenario; what it leaves out is that of a small scenario that is fine. Files by name lie beside it."""
    monkeypatch.delenv("SIMFLOW_CORPORA", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(part: str, **files: str) -> Checked:
        for name, content in files.items():
            Path(name.replace("__", ".")).write_text(content, "utf-8")
        Path("scenario.yaml").write_text(scenario(part), "utf-8")
        return check("scenario.yaml")

    return run


@pytest.fixture
def cell(checked: Callable[..., Checked]) -> Callable[..., object]:
    """The first cell of a scenario that must be fine."""

    def run(part: str, **files: str) -> object:
        plan, problems = checked(part, **files)
        assert plan is not None, "\n".join(p.render() for p in problems)
        return plan.cells[0]

    return run
