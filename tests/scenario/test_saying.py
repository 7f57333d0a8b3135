"""docs/saying.md: each part that it shows is a scenario without a fault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simflow.cli import main
from simflow.llm.endpoint import VARIABLES
from simflow.llm.speaker import ModelSpeaker
from simflow.scenario.reference import every_key

PAGE = Path(__file__).parents[2] / "docs" / "saying.md"
ROWS = re.findall(r"^\| ([^|]+) \| `([^`]+)`", PAGE.read_text("utf-8"), re.MULTILINE)
NEEDS = {
    "newcomers during the run": "population: {personas: {one: {count: 20}, late: {count: 0}}}\n",
    "my own kinds of relation": "models: {extractor: llm, model: gpt-4o-mini}\n",
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


@pytest.fixture
def keyed(tmp_path, monkeypatch):
    """An environment that holds a key and nothing else about models."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / "state"))


@pytest.mark.usefixtures("keyed")
def test_residents_that_the_page_lets_a_model_speak_for_need_a_key_and_no_more(cell):
    found = [one for want, part in ROWS if "engine: llm" in part and (one := cell(f"{NEEDS.get(want, '')}{part}\n")).speaks]
    assert found
    for one in found:
        ModelSpeaker(one).ready()


@pytest.mark.usefixtures("keyed")
def test_what_the_page_says_of_models_is_planned_with_its_price(checked, capsys):
    part = dict(ROWS)["some people through a model, the others not"]
    assert checked(f"clock: {{ticks: 12}}\n{part}\n")[0]
    with pytest.raises(SystemExit) as end:
        main(["plan", "scenario.yaml"])
    shown = capsys.readouterr()
    assert not end.value.code, shown.err
    assert re.search(r"act \(gpt-4o-mini\) +\d", shown.out)
