"""Scenario files of a project, what is wrong with them, and what a run would compute; in worker threads and a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simflow.errors import SimflowError

SKIPPED = {"library", "data", "node_modules"}
"""Folders whose YAML files are parts of scenarios, not scenarios."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a scenario file as it was at `stamp`. `problems`: (severity, message, lines of its report). `plan`: lines of text."""

    path: Path
    stamp: tuple[int, int]
    ok: bool = False
    problems: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    summary: str = ""
    plan: tuple[str, ...] | None = None
    trouble: str = ""


def stamp(path: Path) -> tuple[int, int]:
    """When and how long; (0, 0) if it is not there."""
    try:
        seen = path.stat()
    except OSError:
        return 0, 0
    return seen.st_mtime_ns, seen.st_size


def scenario_files(homes: Sequence[Path]) -> list[Path]:
    """YAML files under `scenarios/` of each project, and of the folder that one stands in."""
    roots = list(dict.fromkeys([*(home.parent if home.name == ".simflow" else home for home in homes), Path.cwd()]))
    found: list[Path] = []
    for root in roots:
        folder = root / "scenarios"
        files = [f for pattern in ("*.yaml", "*.yml", "*/*.yaml", "*/*.yml") for f in folder.glob(pattern)]
        found += sorted(f for f in files if not SKIPPED & set(f.relative_to(folder).parts[:-1]) and not f.name.startswith("."))
    return list(dict.fromkeys(found))


def near(path: Path) -> Path:
    """The path as one would write it from here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def examine(path: Path) -> Verdict:
    """Problems of a file, all at once; quick, imports neither numpy nor Arrow."""
    from simflow.scenario import check  # noqa: PLC0415 - when a scenario is looked at, not before
    from simflow.scenario.problems import summary  # noqa: PLC0415

    seen = stamp(path)
    try:
        plan, problems = check(near(path))
    except (SimflowError, OSError, ValueError) as error:
        return Verdict(path, seen, trouble=str(error))
    told = tuple((p.severity, p.message, tuple(p.render().splitlines())) for p in problems)
    return Verdict(path, seen, plan is not None, told, summary(problems))


def outlook(path: Path, home: Path) -> tuple[str, ...]:
    """What `simflow plan` says: the same words as on the command line, from a process of its own, without a forecast."""
    environment = {**os.environ, "SIMFLOW_HOME": str(home), "NO_COLOR": "1"}
    done = subprocess.run(  # noqa: S603 - our own command, the path is one argument
        [*simflow(), "plan", str(near(path)), "--no-forecast", "--yes"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=300,
    )
    return tuple((done.stdout or done.stderr).splitlines())


def simflow() -> list[str]:
    """The command that is simflow, as installed beside this Python."""
    return [sys.executable, "-m", "simflow"]
