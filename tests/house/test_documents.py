"""What the documents say exists."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from simflow.cli.app import COMMANDS, PLUGINS, app
from simflow.cli.bench import BENCHES
from simflow.cli.evaluate import EVALUATIONS


def fenced(text: str) -> list[str]:
    blocks = re.findall(r"```(?:console|sh|bash)\n(.*?)```", text, flags=re.DOTALL)
    return [line.removeprefix("$ ").strip() for block in blocks for line in block.splitlines()]


def test_every_command_in_the_readme_exists(root):
    found = set()
    for line in fenced((root / "README.md").read_text("utf-8")):
        if match := re.match(r"(?:\.venv/bin/)?simflow ([a-z-]+)", line):
            found.add(match[1])
    assert found, "the README shows no command"
    assert found <= {*COMMANDS, *PLUGINS}


def test_every_make_target_in_the_readme_exists(root):
    targets = set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`", (root / "README.md").read_text("utf-8"))) <= targets


@pytest.mark.parametrize("name", [*COMMANDS, *PLUGINS])
def test_every_listed_command_can_be_loaded(name):
    command = app.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    assert command.help


@pytest.mark.parametrize(("group", "name"), [*(("eval", n) for n in EVALUATIONS), *(("bench", n) for n in BENCHES)])
def test_every_listed_measurement_can_be_loaded(group, name):
    command = app.get_command(None, group).get_command(None, name)  # type: ignore[arg-type, union-attr]
    assert command is not None


def test_relative_links_in_documents_lead_somewhere(root):
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text("utf-8"))]
    assert [f"{page.relative_to(root)}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_the_version_is_said_once(root):
    done = subprocess.run([sys.executable, "-m", "simflow", "--version"], capture_output=True, text=True, check=True)
    from simflow import __version__

    assert __version__ in done.stdout


def test_the_reference_of_commands_is_what_the_commands_say(root):
    from simflow.cli.reference import page

    assert (root / "docs" / "commands.md").read_text("utf-8") == page(), "run: python -m simflow.cli.reference > docs/commands.md"
