"""The way in: a path to a plan, or to everything that is wrong with it."""

from __future__ import annotations

from pathlib import Path

from simflow.plan import Plan
from simflow.scenario.cells import cells
from simflow.scenario.compose import Composer
from simflow.scenario.kinds import Reader
from simflow.scenario.problems import Problem, Problems, ordered


def load(path: str | Path) -> Plan:
    """The plan of the scenario at `path`. Raises Problems with all that is wrong; warnings alone do not stop it."""
    plan, problems = check(path)
    if plan is None:
        raise Problems(problems)
    return plan


def check(path: str | Path) -> tuple[Plan | None, list[Problem]]:
    """The plan, or None if there are errors; and all problems, warnings among them, in the order of the text."""
    path = Path(path)
    composer = Composer()
    tree = composer.load(path)
    reader = Reader(composer.problems)
    if tree is None:
        return None, ordered(reader.problems)
    made = cells(tree, path.absolute().parent, reader)
    problems = ordered(reader.problems)
    if not made or any(p.severity == "error" for p in problems):
        return None, problems
    return Plan(made[0].scenario, str(path), made[0].about, tuple(made)), problems
