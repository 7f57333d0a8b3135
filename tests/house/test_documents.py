"""What the documents say exists."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from simflow.cli.app import COMMANDS, PLUGINS, app
from simflow.cli.bench import BENCHES
from simflow.cli.evaluate import EVALUATIONS

CALLS = (re.compile(r"`simflow ([^`\n]+)`"), re.compile(r"^(?:\$ | {4}|# +)?(?:[A-Z_]+=\S+ )?simflow ([a-z][^\n#]*)", re.MULTILINE))
"""A call in a sentence, and on a line of its own."""


def pages(root):
    return [*root.glob("*.md"), *(f for folder in ("docs", "src", "pipelines", "tui", "scenarios") for f in (root / folder).rglob("*.md"))]


def wrong(words):
    """What is not so in the words of a call: a command that does not exist, or options that it does not have."""
    command: click.Command = app
    while isinstance(command, click.Group):
        name, *words = words or ["--help"]
        if name.startswith("--"):
            return []
        found = command.get_command(click.Context(command), name)
        if found is None:
            return [name]
        command = found
    known = {"--help", *(option for p in command.params for option in (*p.opts, *p.secondary_opts))}
    return [w for w in (word.partition("=")[0] for word in words) if w.startswith("--") and w not in known]


def test_every_command_in_the_documents_exists_with_its_options(root):
    calls = [(page, call) for page in pages(root) for form in CALLS for call in form.findall(page.read_text("utf-8"))]
    assert len(calls) > 100
    first = [(page, re.split(r"\s{3,}|\s[#|>]\s|;|\s&&", call)[0]) for page, call in calls]
    assert [f"{page.relative_to(root)}: {call}" for page, call in first if wrong(call.split())] == []


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
