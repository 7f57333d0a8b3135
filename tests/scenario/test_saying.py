"""docs/saying.md: each part that it shows is a scenario without a fault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simflow.scenario.reference import every_key

PAGE = Path(__file__).parents[2] / "docs" / "saying.md"
ROWS = re.findall(r"^\| ([^|]+) \| `([^`]+)`", PAGE.read_text("utf-8"), re.MULTILINE)
NEEDS = {
    "newcomers during the run": "population: {personas: {one: {count: 20}, late: {count: 0}}}\n",
    "my own kinds of relation": "models: {extractor: llm, model: small-instruct}\n",
    "an account that is silenced for a while": "population: {agents: 20, voices: {council: {followers: 80%}}}\n",
}


def test_the_page_has_parts_for_every_section_of_a_scenario():
    told = {part.split(":")[0] for _, part in ROWS}
    top = {path[0] for path, _ in every_key() if len(path) == 1}
    assert told <= top
    assert top - told <= {"scenario", "from", "about", "owner", "vars", "topics", "dynamics", "language", "models", "replay"}


@pytest.mark.parametrize(("want", "part"), ROWS, ids=[want for want, _ in ROWS])
def test_what_the_page_shows_is_a_scenario_without_a_fault(checked, want, part):
    plan, problems = checked(f"{NEEDS.get(want, '')}{part}\n")
    assert plan is not None, "\n".join(p.render() for p in problems)
    assert plan.cells
    assert [p.render() for p in problems] == []
