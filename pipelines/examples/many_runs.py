"""The tables over 20 runs x 40 windows: `dbt build` with all its tests, what it costs, and the same again from nothing.

Usage: python pipelines/examples/many_runs.py [FOLDER]. Prints what docs/tables.md shows. Exits with 1 if a test fails or the tables differ.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import duckdb

from simflow.run import open_cell
from simflow.scenario import load
from simflow_pipelines import warehouse
from simflow_pipelines.catalog import write_catalog
from simflow_pipelines.dbt_project import dbt_folder
from simflow_pipelines.tables import Tables

RUNS, WINDOWS = 20, 40
VILLAGE = """\
scenario: village
topics: {square: A plan to pave the village square.}
population:
  agents: 20
  personas:
    farmer: {share: 50%, stance: {square: -0.5 ± 0.3}}
    baker: {share: 50%, stance: {square: 0.5 ± 0.3}}
clock: {ticks: 480, window: 12}
extract: {every: 12}
events:
  plan: {at: 5, post: The square will be paved in May.}
experiment:
  seed: 1
  repeats: 4
  variants:
    quiet: {}
    soft: {events.late: {at: 430, post: The square will be paved in June.}}
    loud: {events.late: {at: 430, post: The square will be paved in June!, stance: 0.8}}
    later: {events.late: {at: 450, post: The square will be paved in June.}}
    never: {events.late: {at: 450, post: The square will not be paved.}}
"""


def dbt(home: Path, command: str, *options: str) -> tuple[dict[str, int], float, float]:
    """Run dbt; how many nodes came to which status, wall and CPU seconds."""
    folder = str(dbt_folder())
    tables = Tables(home)
    tables.target.mkdir(parents=True, exist_ok=True)
    program = str(Path(sysconfig.get_path("scripts")) / "dbt")
    began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [program, command, "--project-dir", folder, "--profiles-dir", folder, *options],
        env=os.environ | tables.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    found: dict[str, int] = {}
    for result in json.loads((tables.target / "run_results.json").read_text())["results"]:
        status = f"{result['unique_id'].split('.')[0]} {result['status']}"
        found[status] = found.get(status, 0) + 1
    if done.returncode:
        sys.stderr.write(done.stdout[-3000:])
    return found, time.monotonic() - began, spent.ru_utime + spent.ru_stime - used.ru_utime - used.ru_stime


def verdict(statuses: dict[str, int]) -> str:
    """What came of a build, by kind of node: that all of them passed, or how many ended how. How many there are is the project's affair."""
    good = {"pass", "success"}
    kinds: dict[str, dict[str, int]] = {}
    for name, count in sorted(statuses.items()):
        kind, status = name.split(maxsplit=1)
        kinds.setdefault(kind, {})[status] = count
    return ", ".join(
        f"every {kind} {' or '.join(found)}" if set(found) <= good else f"{kind} {', '.join(f'{n} {s}' for s, n in found.items())}"
        for kind, found in kinds.items()
    )


def rows(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables; floats to nine digits, since sums over threads differ in the last bits."""
    with duckdb.connect(str(warehouse.path(home)), read_only=True) as connection:
        listed = connection.sql("select table_name from information_schema.tables where table_schema = 'main' order by 1").fetchall()
        return {
            name: sorted(
                (tuple(round(v, 9) if isinstance(v, float) else v for v in row) for row in connection.table(name).fetchall()), key=repr
            )
            for (name,) in listed
        }


def say(text: str) -> None:
    """Print one line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Make the runs, build, delete, build again."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="simflow-runs-")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    home, file = folder / ".simflow", folder / "village.yaml"
    file.write_text(VILLAGE)
    for cell in load(file).cells:
        work = open_cell(file, cell, home)
        for number in range(len(work.windows)):
            work.window(number)
    counts = write_catalog(home)
    say(f"{counts['runs']} runs, {counts['windows']} windows")
    statuses, wall, cpu = dbt(home, "build")
    first = rows(home)
    say(f"dbt build: {verdict(statuses)}; {wall:.0f} s, {cpu:.0f} CPU s")
    say(f"{sum(map(len, first.values())):,} rows: {', '.join(f'{name} {len(found):,}' for name, found in first.items())}")
    again, wall, cpu = dbt(home, "build")
    say(f"built again over what was there: {wall:.0f} s, {cpu:.0f} CPU s; equal: {rows(home) == first}")
    warehouse.path(home).unlink()
    anew, wall, cpu = dbt(home, "build")
    equal = rows(home) == first
    say(f"warehouse deleted and built anew: {wall:.0f} s, {cpu:.0f} CPU s; equal: {equal}")
    bad = [s for found in (statuses, again, anew) for s in found if s.split()[1] not in {"pass", "success"}]
    return 0 if equal and not bad and counts == {"runs": RUNS, "windows": RUNS * WINDOWS} else 1


if __name__ == "__main__":
    sys.exit(main())
