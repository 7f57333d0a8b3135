"""Starting, going on, and running again with one change: always another process."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from simflow.errors import BadInput
from simflow_tui import control, scenarios
from simflow_tui.dialogs import Confirm, Line
from simflow_tui.watch import Watch


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Stands in for `simflow`: writes down what it was asked, and fails if told to."""
    script = tmp_path / "simflow.py"
    script.write_text(
        "import json, sys, pathlib\npathlib.Path(sys.argv[0]).with_suffix('.json').write_text(json.dumps(sys.argv[1:]))\nif 'broken.yaml' in ' '.join(sys.argv):\n    sys.exit('error: it is broken')\n"
    )
    monkeypatch.setattr(control, "simflow", lambda: [sys.executable, str(script)])

    def read(app) -> list[str]:
        app.launched[-1].process.wait(60)
        return json.loads(script.with_suffix(".json").read_text())

    return read


@pytest.fixture
def project(home, root):
    folder = home.parent / "scenarios"
    folder.mkdir()
    shutil.copy(root / "scenarios/hello.yaml", folder / "water-tariff.yaml")
    shutil.copy(root / "scenarios/hello.yaml", folder / "broken.yaml")
    return home


async def test_going_on_runs_the_same_cell_of_the_same_file(project, make, asked):
    make.run(project, state="stopped", done=2)
    async with make.shown(project, "u") as (app, pilot):
        assert isinstance(app.screen, Confirm)
        await pilot.press("y")
        await pilot.pause()
        words = asked(app)
    path = str(project.parent / "scenarios/water-tariff.yaml")
    assert words == ["run", path, "--variant", "price", "--seed", "7", "--ticks", "1500", "--home", str(project), "--quiet"]


async def test_a_run_is_started_from_the_plan_and_its_failure_is_told(project, make, asked, monkeypatch):
    told: list[str] = []
    async with make.shown(project, "p") as (app, pilot):
        monkeypatch.setattr(app, "notify", lambda message, **_: told.append(message))
        await pilot.press("n", "y")
        await pilot.pause()
        assert asked(app)[:2] == ["run", str(project.parent / "scenarios/broken.yaml")]
        await make.settle(app, pilot)
        assert not app.launched
    assert told[-1] == "error: it is broken"


async def test_running_again_with_one_change_writes_a_new_file_that_is_a_scenario(project, make, asked):
    from simflow.scenario import load

    make.run(project, state="done", done=6)
    async with make.shown(project) as (app, pilot):
        await app.run_action("rerun")
        await pilot.pause()
        assert isinstance(app.screen, Line)
        app.screen.query_one("Input").value = "network.rewire: 0.2"
        await pilot.press("enter")
        await pilot.pause()
        words = asked(app)
    made = project.parent / "scenarios/water-tariff.network-rewire-0-2.yaml"
    assert words[:2] == ["run", str(made)]
    before, after = load(project.parent / "scenarios/water-tariff.yaml").cells[0], load(made).cells[0]
    assert (before.network.rewire, after.network.rewire) == (0.1, 0.2)
    assert before.personas == after.personas


@pytest.mark.parametrize("change", ["", "no colon", ": 3", "a: [1"])
def test_what_is_no_change_is_refused(tmp_path, change):
    (tmp_path / "s.yaml").write_text("scenario: s\n")
    with pytest.raises(BadInput):
        control.changed(tmp_path / "s.yaml", change)
    assert [p.name for p in tmp_path.iterdir()] == ["s.yaml"]


def test_a_run_whose_file_is_gone_cannot_go_on(home, make):
    made = make.run(home, state="stopped")
    with pytest.raises(BadInput, match="is not here"):
        control.again(Watch([home]).view(made.record, home))


def test_scenario_files_are_found_and_parts_of_scenarios_are_not(project):
    (project.parent / "scenarios/library").mkdir()
    (project.parent / "scenarios/library/city.yaml").write_text("population: {agents: 3}\n")
    assert [p.name for p in scenarios.scenario_files([project])] == ["broken.yaml", "water-tariff.yaml"]


def test_the_plan_follows_the_file(project):
    path = project.parent / "scenarios/water-tariff.yaml"
    good = scenarios.examine(path)
    assert good.ok
    path.write_text(path.read_text("utf-8").replace("share: 45%", "shair: 45%"), "utf-8")
    bad = scenarios.examine(path)
    assert not bad.ok
    assert good.stamp != bad.stamp
    assert any("shair" in line for _, _, lines in bad.problems for line in lines)
