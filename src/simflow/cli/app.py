"""The root command: finds each command by name and imports it only when it is used."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from simflow import __version__
from simflow.errors import SimflowError

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("simflow.cli.project:init", "make a project that runs"),
    "validate": ("simflow.cli.language:validate", "check scenarios and say what is wrong, and where"),
    "plan": ("simflow.cli.language:plan", "show what a run would compute and cost, before it does"),
    "diff": ("simflow.cli.language:diff", "compare two scenarios or two runs"),
    "schema": ("simflow.cli.language:schema", "print the JSON Schema of scenarios, or say what reads a key"),
    "convert": ("simflow.cli.project:convert", "turn another tool's persona files into a people file"),
    "explain-error": ("simflow.cli.language:explain_error", "explain an error code"),
    "runs": ("simflow.cli.runs:runs", "list runs, or show one"),
    "recall": ("simflow.cli.recall:recall", "what an agent remembers in a situation, with its sources"),
    "explain": ("simflow.cli.explain:explain", "why an agent believes something, down to the raw events"),
    "ask": ("simflow.cli.ask:ask", "put the scenario's questions to agents' memories"),
    "serve": ("simflow.cli.serve:serve", "answer from memory over HTTP, read-only"),
    "doctor": ("simflow.cli.doctor:doctor", "verify stored windows and rebuild the index from them"),
    "calibrate": ("simflow.cli.calibrate:calibrate", "fit dynamics to data and write a fragment for scenarios"),
    "prompts": ("simflow.cli.prompts:prompts", "show exactly what a model is sent"),
    "eval": ("simflow.cli.evaluate:evaluate", "measure against known answers"),
    "bench": ("simflow.cli.bench:bench", "measure speed and size"),
}
"""Name -> ("module:attribute", one line of help). Commands of other packages come from the entry point group `simflow.commands`."""

PLUGINS: dict[str, str] = {
    "run": "run a scenario: every stage, every window, resumable",
    "dev": "open Dagster's UI on this project",
    "tui": "watch runs and question memories in the terminal",
}
"""Help lines of the commands that the sibling packages bring, so that `--help` need not import them."""


MACHINE = frozenset(
    getattr(errno, name)
    for name in [
        "ENOSPC",
        "EDQUOT",
        "EFBIG",
        "EROFS",
        "EACCES",
        "EPERM",
        "ENOTDIR",
        "EISDIR",
        "EIO",
        "EMFILE",
        "ENFILE",
        "ENAMETOOLONG",
        "ENOMEM",
    ]
    if hasattr(errno, name)
)
"""Faults of the machine, its disk or its rights; all others are ours."""
DATABASE = ("database or disk is full", "disk I/O error", "attempt to write a readonly database", "unable to open database file")


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used, never before."""

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], plugins: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = dict(lazy)
        self.plugins = dict(plugins or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of a first day of work."""
        del ctx
        names = list(self.lazy)
        at = names.index("runs") if "runs" in names else len(names)
        return [*names[:at], *self.plugins, *names[at:]]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name in self.lazy:
            module, _, attribute = self.lazy[cmd_name][0].partition(":")
            found: click.Command = getattr(importlib.import_module(module), attribute)
            return found
        if cmd_name in self.plugins:
            from importlib.metadata import entry_points

            for entry in entry_points(group="simflow.commands", name=cmd_name):
                loaded: click.Command = entry.load()
                return loaded
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List help lines without importing anything."""
        lines = {name: about for name, (_, about) in self.lazy.items()} | self.plugins
        with formatter.section("Commands"):
            formatter.write_dl([(name, lines[name]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    plugins=PLUGINS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with: simflow init, simflow plan scenarios/hello.yaml, simflow run scenarios/hello.yaml",
)
@click.version_option(__version__, prog_name="simflow")
def app() -> None:
    """Simulated societies as data pipelines: scenarios in YAML, memory that says how it knows."""


def main(argv: list[str] | None = None) -> None:
    """Entry point: runs a command and turns errors into words and an exit code."""
    try:
        result = app.main(args=argv, standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):  # the first is what click makes of the second
        click.echo("interrupted: what is committed is kept", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(0)
    except SimflowError as error:
        click.echo(f"{error.heading}{error}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        sys.exit(error.exit_code)
    except Exception as error:
        if os.environ.get("SIMFLOW_DEBUG"):
            raise
        if wrong := _surroundings(error):
            click.echo(f"error: {wrong}", err=True)
            click.echo("hint: what is committed is kept; run again when that is mended (SIMFLOW_DEBUG=1 shows where it happened)", err=True)
            sys.exit(1)
        import tempfile  # both bring half of the standard library, which no other command needs
        import traceback

        with tempfile.NamedTemporaryFile("w", prefix="simflow-", suffix=".txt", delete=False, encoding="utf-8") as kept:
            kept.write(traceback.format_exc())
        click.echo(f"error: simflow met a fault of its own: {type(error).__name__}: {error}", err=True)
        click.echo(f"hint: what is committed is kept; the traceback is in {kept.name} (SIMFLOW_DEBUG=1 shows it)", err=True)
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)


def _surroundings(error: BaseException | None) -> str | None:
    """What is wrong with the disk or the machine, if that is what an error comes from; None if it does not."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        if isinstance(error, OSError) and error.errno in MACHINE:
            return f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
        if type(error).__module__ == "sqlite3" and (said := next((w for w in DATABASE if w in str(error)), None)):
            return f"{said}: the records of Dagster in the state folder; is the disk full?"
        error = error.__cause__ or error.__context__
    return None
