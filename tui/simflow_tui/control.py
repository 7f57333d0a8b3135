"""Starting, stopping and going on with runs: always `simflow` in a process of its own, so that closing the terminal ends nothing."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import yaml

from simflow.errors import BadInput
from simflow_tui.scenarios import simflow
from simflow_tui.watch import RunView


@dataclass
class Launched:
    """A process that we started. `words`: the command as a person would write it; its errors go to the file `errors`."""

    words: str
    process: subprocess.Popen[bytes]
    errors: Path

    def ended(self) -> tuple[int, str] | None:
        """Exit code and the last lines of its errors; None while it is at work."""
        code = self.process.poll()
        if code is None:
            return None
        try:
            lines = self.errors.read_text("utf-8", errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return code, "\n".join(lines[-4:])


def scenario_of(run: RunView) -> Path:
    """The scenario file of a run, as its record has it. Raises BadInput if it is gone."""
    given = Path(str(run.about.get("file") or ""))
    root = run.project.parent if run.project.name == ".simflow" else Path.cwd()
    for path in (given, root / given, Path.cwd() / given):
        if given.name and path.is_file():
            return path.absolute()
    raise BadInput(f"the scenario file of {run.id} is not here: {given}", hint="start the terminal in the project's folder")


def words(scenario: Path, *, variant: str | None = None, seed: int | None = None, ticks: int | None = None) -> list[str]:
    """`run SCENARIO ...` as arguments."""
    found = ["run", str(scenario)]
    found += ["--variant", variant] if variant else []
    found += ["--seed", str(seed)] if seed is not None else []
    found += ["--ticks", str(ticks)] if ticks else []
    return found


def again(run: RunView) -> list[str]:
    """The arguments that go on with a run: the same cell of the same file, as long as it was."""
    variant, seed = run.about.get("variant"), run.about.get("seed")
    return words(
        scenario_of(run),
        variant=str(variant) if variant is not None else None,
        seed=seed if isinstance(seed, int) else None,
        ticks=run.progress.ticks or None,
    )


def launch(arguments: list[str], home: Path) -> Launched:
    """Start `simflow ...` detached from this terminal. Raises BadInput if that is impossible."""
    folder = home / "terminal"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        errors = folder / f"{os.getpid()}-{len(list(folder.iterdir()))}.txt"
        out: IO[bytes]
        with errors.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - our own command; every argument is one word, whatever is in it
                [*simflow(), *arguments, "--home", str(home), "--quiet"] if arguments[0] == "run" else [*simflow(), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=out,
                start_new_session=True,
                cwd=home.parent if home.name == ".simflow" else None,
            )
    except OSError as error:
        raise BadInput(f"cannot start a run in {home}: {error}", hint="is the project on this machine, and may you write there?") from error
    return Launched(shlex.join(["simflow", *arguments]), process, errors)


def changed(scenario: Path, change: str) -> Path:
    """A scenario file beside the given one that starts from it and changes one key: `network.rewire: 0.2`.

    Raises BadInput if the change cannot be read. The new file is written, never the old one.
    """
    key, colon, value = change.partition(":")
    key = key.strip()
    if not colon or not key:
        raise BadInput(f"'{change}' is no change", hint="write a key and a value, as in network.rewire: 0.2")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise BadInput(f"the value of '{key}' cannot be read: {error}", hint="write it as in a scenario") from error
    made: object = parsed
    for part in reversed(key.split(".")):
        made = {part: made}
    name = re.sub(r"[^\w]+", "-", f"{key}-{value.strip()}").strip("-")[:48]
    path = scenario.with_name(f"{scenario.stem}.{name}.yaml")
    text = f"# {scenario.name} with one change.\nfrom: {scenario.name}\n" + yaml.safe_dump(made, allow_unicode=True, sort_keys=False)
    path.write_text(text, "utf-8")
    return path
