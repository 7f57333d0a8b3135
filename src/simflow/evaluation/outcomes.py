"""What a change does: the measures of two arms at the same tick, paired by seed and sweep, with an interval where there are several pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simflow.errors import BadInput
from simflow.evaluation.contrasts import Contrast, paired
from simflow.measures.record import measured
from simflow.store import RunData

Pair = tuple[RunData, RunData]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One measure in both arms, as means over the pairs, and their difference B - A; `contrast` has its interval, None for a single pair."""

    topic: str | None
    group: str | None
    measure: str
    first: float
    second: float
    contrast: Contrast | None = None

    @property
    def difference(self) -> float:
        """B - A."""
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class Outcomes:
    """All measures of the last window that every run of both arms has, which ends at `tick`. `since`: where the first windows differ."""

    tick: int
    pairs: int
    since: int | None
    rows: tuple[Outcome, ...]


def pairs(first: Sequence[RunData], second: Sequence[RunData]) -> list[Pair]:
    """Runs of the same seed and sweep, one of each arm; two single runs are a pair whatever they are.

    Raises BadInput if nothing pairs.
    """
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    mine = {_cell(run): run for run in first}
    found = [(mine[_cell(run)], run) for run in second if _cell(run) in mine]
    if not found:
        hint = "run both variants with the same seeds: `simflow run SCENARIO --all`"
        raise BadInput(f"no run of {first[0].record.id} has the seed and sweep of one of {second[0].record.id}", hint=hint)
    return sorted(found, key=lambda pair: repr(_cell(pair[0])))


def _cell(run: RunData) -> tuple[str, int]:
    return repr(sorted(run.cell.sweep.items())), run.cell.seed


def outcomes(of: Sequence[Pair]) -> Outcomes:
    """Compare arms. Raises BadInput if the runs have no window that ends at the same tick."""
    stops = [{w.stop for w in run.windows} for pair in of for run in pair]
    shared = set.intersection(*stops)
    if not shared:
        raise BadInput("the runs have no window that ends at the same tick", hint="compare runs with the same `clock.window`")
    tick = max(shared)
    values = []
    for pair in of:
        arms = []
        for run in pair:
            number = next(w.number for w in run.windows if w.stop == tick)
            rows = measured(run, number).to_pylist()
            arms.append({(r["topic"], r["group"], r["measure"]): r["value"] for r in rows})
        values.append(arms)
    keys = [k for k in values[0][0] if all(k in arm and math.isfinite(arm[k]) for arms in values for arm in arms)]
    return Outcomes(tick, len(of), _since(of), tuple(_outcome(key, values) for key in keys))


def _outcome(key: tuple[str | None, str | None, str], values: list[list[dict[tuple[str | None, str | None, str], float]]]) -> Outcome:
    first, second = [a[key] for a, _ in values], [b[key] for _, b in values]
    means = math.fsum(first) / len(first), math.fsum(second) / len(second)
    return Outcome(*key, *means, paired(first, second) if len(values) > 1 else None)


def _since(of: Sequence[Pair]) -> int | None:
    starts = [a.start for one, two in of for a, b in zip(one.windows, two.windows, strict=False) if a.key != b.key]
    return min(starts, default=None)
