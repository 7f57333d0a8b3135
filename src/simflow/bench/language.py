"""`simflow bench language`: what a check costs, and what becomes of awkward and hostile files."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

CPU_LIMIT = 2.0
"""Processor seconds that one file may take at most."""
REPEATS = 5


@dataclass(slots=True)
class Tally:
    """What became of the files of one folder. `wrong`: not what its index expects; `slow`: beyond `CPU_LIMIT`.

    `misread`: those of the wrong ones that were taken for something else in silence; the others were refused with a reason.
    """

    files: int = 0
    as_expected: int = 0
    wrong: list[str] = field(default_factory=list)
    misread: list[str] = field(default_factory=list)
    crashed: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    without_place: list[str] = field(default_factory=list)
    cpu_max: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)

    def plain(self) -> dict[str, Any]:
        """JSON values."""
        lists = {k: getattr(self, k) for k in ("wrong", "misread", "crashed", "slow", "without_place")}
        return {
            "files": self.files,
            "as_expected": self.as_expected,
            **{k: len(v) for k, v in lists.items()},
            "cpu_max_s": round(self.cpu_max, 4),
            "outcomes": dict(sorted(self.outcomes.items())),
            "examples": {k: v[:20] for k, v in lists.items() if v},
        }


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of awkward files; $SIMFLOW_CORPORA/messy if left out.",
)
def language(as_json: bool, corpus: Path | None) -> None:
    """Reading scenarios and people: processor seconds of a check, and every file of the messy corpus."""
    given = os.environ.get("SIMFLOW_CORPORA")
    folder = corpus or (Path(given) / "messy" if given else None)
    report: dict[str, Any] = {"validate": speed(), "hostile": hostile()}
    if folder is not None and (folder / "INDEX.jsonl").is_file():
        report["messy"] = messy(folder)
    else:
        report["messy"] = None
        click.echo("SIMFLOW_CORPORA is not set or has no messy corpus: its files were not read", err=True)
    click.echo(json.dumps(report, ensure_ascii=False, indent=1) if as_json else _text(report))


def _text(report: dict[str, Any]) -> str:
    lines = [f"{name:<28} {value}" for name, value in report["validate"].items()]
    lines += [f"hostile {name:<20} {value['cpu_s']} s  {value['outcome']}" for name, value in report["hostile"].items()]
    for name, tally in (report["messy"] or {}).items():
        keys = ("files", "as_expected", "wrong", "misread", "crashed", "slow", "without_place", "cpu_max_s")
        lines.append(f"messy {name:<20} " + "  ".join(f"{k} {tally[k]}" for k in keys))
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------------------- speed


def speed() -> dict[str, float]:
    """Processor seconds (user and system, median of some runs) of whole commands, each in a process of its own."""
    from simflow.scenario.project import starters

    scenario = starters() / "water-tariff.yaml"
    commands = {
        "python_s": ["-c", "pass"],
        "help_s": ["-m", "simflow", "--help"],
        "validate_s": ["-m", "simflow", "validate", str(scenario)],
    }
    found = {name: round(sorted(_cpu(args) for _ in range(REPEATS))[REPEATS // 2], 3) for name, args in commands.items()}
    return {"scenario_lines": float(len(scenario.read_text("utf-8").splitlines())), **found}


def _cpu(args: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *args], check=True, capture_output=True)  # noqa: S603 - our own interpreter and module
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


# -------------------------------------------------------------------------------------------------------------------- hostile


def _hostile() -> dict[str, str]:
    nested = "a0: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    return {
        "alias bomb": nested,
        "deep flow": "a: " + "[" * 100_000,
        "deep maps": "a: " + "{a: " * 50_000,
        "many keys": "\n".join(f"k{n}: v" for n in range(80_000)),
        "unknown keys": "\n".join(f"scenarioo{n}: v" for n in range(20_000)),
        "long line": "about: " + "x" * 900_000,
        "open quote": "about: '" + "\n" * 400_000,
        "open list": "about: [" + "x, " * 200_000,
        "many variables": "about: " + "${a}" * 200_000,
        "variable bomb": "vars:\n"
        + "\n".join(f"  v{n}: {'${v' + str(n - 1) + '}' * 1}${{v{n - 1}}}" if n else "  v0: x" for n in range(40))
        + "\nabout: ${v39}",
        "many cells": "experiment: {repeats: 100000, sweep: {network.links: [" + ", ".join(map(str, range(2000))) + "]}}",
    }


def hostile() -> dict[str, dict[str, Any]]:
    """Processor seconds and outcome of a check of texts made to hang or to exhaust memory."""
    return {name: _checked(text) for name, text in _hostile().items()}


def _checked(text: str) -> dict[str, Any]:
    from simflow.scenario import check

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_text(text, "utf-8")
        start = time.process_time()
        plan, problems = check(path)
        cpu = time.process_time() - start
    return {"cpu_s": round(cpu, 3), "outcome": "accepted" if plan else f"refused: {problems[0].code}", "problems": len(problems)}


# ---------------------------------------------------------------------------------------------------------------------- messy


def messy(folder: Path) -> dict[str, dict[str, Any]]:
    """Every file of the corpus through the reader of its kind, and through the check of a scenario."""
    tallies: dict[str, Tally] = {}
    rows = [json.loads(line) for line in (folder / "INDEX.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        name = row["path"].split("/")[0]
        tally = tallies.setdefault(name, Tally())
        scenario = tallies.setdefault("as scenarios", Tally())
        path = folder / row["path"]
        for expected, work in _works(path, row):
            _count(tally, row["path"], expected, work)
        _count(scenario, row["path"], "refused", lambda path=path: _scenario(path))  # type: ignore[misc]
    return {name: tally.plain() for name, tally in tallies.items()}


def _count(tally: Tally, name: str, expected: str, work: Callable[[], str]) -> None:
    start = time.process_time()
    try:
        outcome = work()
    except Exception as error:  # noqa: BLE001 - a crash is what is being counted
        outcome = "crashed"
        tally.crashed.append(f"{name}: {type(error).__name__}: {error}"[:200])
    cpu = time.process_time() - start
    tally.files += 1
    tally.cpu_max = max(tally.cpu_max, cpu)
    tally.outcomes[outcome] += 1
    if cpu > CPU_LIMIT:
        tally.slow.append(f"{name}: {cpu:.1f} s")
    if outcome == "refused without a place":
        tally.without_place.append(name)
        outcome = "refused"
    kind = outcome.split(":")[0]
    if kind == expected or (expected == "either" and kind in {"accepted", "refused"}):
        tally.as_expected += 1
    elif kind != "crashed":
        tally.wrong.append(f"{name}: {outcome}, expected {expected}")
        if kind != "refused":
            tally.misread.append(name)


def _scenario(path: Path) -> str:
    from simflow.scenario import check

    plan, problems = check(path)
    if plan is not None:
        return "accepted"
    placed = all(p.span is not None and p.span.line >= 1 and p.span.column >= 1 for p in problems)
    for problem in problems:
        problem.render()
    return "refused" if placed else "refused without a place"


def _works(path: Path, row: dict[str, Any]) -> Iterator[tuple[str, Callable[[], str]]]:
    from simflow.bench.suites import csv_answer, strings_survive, yaml_cases, yaml_outcome
    from simflow.scenario.people.records import read_records

    def read() -> str:
        return _refusable(lambda: str(len(read_records(path, path.name).rows)) and "accepted")

    expect = str(row.get("expect", ""))
    if "yaml_test_suite" in row["path"]:
        for case in yaml_cases(path):
            yield case.expected, lambda case=case: yaml_outcome(case)  # type: ignore[misc]
    elif path.suffix == ".xml":
        yield "refused", lambda: _scenario(path)
    elif row["path"].startswith("csv_spectrum/"):
        yield "accepted", lambda: csv_answer(path, path.parent.parent / row["answer"])
    elif row["path"].startswith("strings/"):
        yield "accepted", lambda: strings_survive(path)
    else:
        yield ("accepted" if expect in {"accept", "answer"} else "refused" if expect.startswith(("reject", "error")) else "either"), read


def _refusable(work: Callable[[], str]) -> str:
    from simflow.scenario.problems import Unreadable

    try:
        return work()
    except Unreadable as error:
        error.problem.render()
        placed = error.problem.span is not None and error.problem.span.line >= 1
        return "refused" if placed else "refused without a place"
