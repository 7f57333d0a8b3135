"""Reads what two runs are compared by; in worker threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simflow.errors import SimflowError
from simflow.runs import RunRecord
from simflow_tui.society import Society
from simflow_tui.watch import RunView, Watch


@dataclass(frozen=True)
class Side:
    """One run as it is compared. `kinds`: episodes by kind; `stances`: (topic, persona) -> mean at its end; `lines`: topic -> mean over time."""

    run: RunView
    windows: int
    keys: tuple[str, ...]
    kinds: dict[str, int]
    stances: dict[tuple[str, str], float]
    lines: dict[str, tuple[tuple[int, float | None], ...]]


@dataclass(frozen=True)
class Comparison:
    """Two sides, the keys of the scenario in which they differ, and the number of windows that they share from the start."""

    left: Side
    right: Side
    changes: tuple[tuple[str, str, str], ...]
    shared: int
    trouble: str = ""


def side(run: RunView, watch: Watch, *, stop: Callable[[], bool] = lambda: False) -> tuple[Side, str]:
    """One run's side, and what went wrong while reading it."""
    windows = watch.windows(run.record)
    society = Society(run.project, run.record, keep=1)
    society.advance(windows, stop=stop)
    kinds: dict[str, int] = {}
    for window in windows:
        for kind, count in window.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + int(count)
    stances = {key: line[-1] for key, line in society.stances.means.items() if line and line[-1] is not None}
    sizes: dict[tuple[str, str], int] = {}
    for agent, topic in society.stances.held:
        who = society.agents.get(agent)
        key = (topic, who.persona if who and who.persona else "others")
        sizes[key] = sizes.get(key, 0) + 1
    lines = {topic: tuple(_mean(society, sizes, topic)) for topic in society.stances.topics()}
    return Side(
        run, len(windows), tuple(w.key for w in windows), kinds, {k: v for k, v in stances.items() if v is not None}, lines
    ), society.trouble


def _mean(society: Society, sizes: dict[tuple[str, str], int], topic: str) -> list[tuple[int, float | None]]:
    # Over all residents that hold an opinion at the end, so that strata count by their size.
    points: list[tuple[int, float | None]] = []
    for at, tick in enumerate(society.stances.ticks):
        parts = [(line[at], sizes.get(key, 0)) for key, line in society.stances.means.items() if key[0] == topic]
        total = sum(n for v, n in parts if v is not None)
        points.append((tick, sum(v * n for v, n in parts if v is not None) / total if total else None))
    return points


def compare(left: RunView, right: RunView, watch: Watch, *, stop: Callable[[], bool] = lambda: False) -> Comparison:
    """Both sides and what differs."""
    a, trouble_a = side(left, watch, stop=stop)
    b, trouble_b = side(right, watch, stop=stop)
    shared = next((i for i, (x, y) in enumerate(zip(a.keys, b.keys, strict=False)) if x != y), min(len(a.keys), len(b.keys)))
    changes, trouble = differences(left.project, left.record, right.project, right.record)
    return Comparison(a, b, changes, shared, "; ".join(t for t in (trouble_a, trouble_b, trouble) if t))


def differences(home: Path, left: RunRecord, other_home: Path, right: RunRecord) -> tuple[tuple[tuple[str, str, str], ...], str]:
    """Keys of the resolved scenario that differ, with both values as short text."""
    from simflow.scenario.changes import brief  # noqa: PLC0415 - when two runs are compared, not before
    from simflow.scenario.changes import differences as between  # noqa: PLC0415
    from simflow.store import Store  # noqa: PLC0415

    try:
        found = between(Store(home).open(left).cell, Store(other_home).open(right).cell)
        return tuple((c.key, brief(c.before), brief(c.after)) for c in found), ""
    except (SimflowError, OSError, KeyError, TypeError, ValueError) as error:
        return (), str(error)
