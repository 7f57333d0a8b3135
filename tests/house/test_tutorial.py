"""What the tutorial prints of the commands that cost nothing is what they print."""

from __future__ import annotations

import re

import pytest

from simflow.cli import main


@pytest.fixture
def page(root):
    return (root / "docs/tutorial.md").read_text("utf-8")


@pytest.fixture
def said(page, tmp_path, monkeypatch, capsys):
    scenario = re.search(r"```yaml\n(scenario: phones\n.*?)```", page, re.DOTALL)[1]
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/phones.yaml").write_text(scenario, "utf-8")
    slips = scenario.replace("teacher: {share", "teacher: {shair").replace("by: head teacher", "by: head techer")
    (tmp_path / "scenarios/slip.yaml").write_text(slips, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / ".simflow"))
    monkeypatch.setenv("NO_COLOR", "1")

    def run(command):
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main(command.split()[1:])
        out = capsys.readouterr()
        return "\n".join(line.rstrip() for line in (out.err + out.out).strip("\n").splitlines())

    return run


@pytest.mark.parametrize(
    "command", ["simflow validate scenarios/phones.yaml", "simflow validate scenarios/slip.yaml", "simflow plan scenarios/phones.yaml"]
)
def test_the_tutorial_shows_what_its_commands_print(page, said, command):
    shown = page.split(f"```console\n$ {command}\n", 1)[1].split("\n```", 1)[0]
    assert shown == said(command)
