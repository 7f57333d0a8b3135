"""Reads what two runs are compared by; in worker threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simflow.errors import SimflowError
from simflow_tui.committed import Committed
from simflow_tui.society import Society
from simflow_tui.watch import RunView, Watch


@dataclass(frozen=True)
class Side:
    """One run as it is compared. `kinds`: episodes by kind; `stances`: (topic, persona) -> mean at its end; `lines`: topic -> mean over time."""

    run: RunView
    windows: Committed
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


def side(run: RunView, watch: Watch, society: Society, *, stop: Callable[[], bool] = lambda: False) -> tuple[Side, str]:
    """One run's side, and what went wrong while reading it. `society`: what was read of it before."""
    windows = watch.windows(run.record)
    society.advance(windows, stop=stop)
    stances = {key: line[-1] for key, line in society.stances.means.items() if line and line[-1] is not None}
    sizes: dict[tuple[str, str], int] = {}
    for agent, topic in society.stances.held:
        who = society.agents.get(agent)
        key = (topic, who.persona if who and who.persona else "others")
        sizes[key] = sizes.get(key, 0) + 1
    lines = {topic: tuple(_mean(society, sizes, topic)) for topic in society.stances.topics()}
    return Side(run, windows, dict(windows.kinds), {k: v for k, v in stances.items() if v is not None}, lines), society.trouble


def _mean(society: Society, sizes: dict[tuple[str, str], int], topic: str) -> list[tuple[int, float | None]]:
    # Over all residents that hold an opinion at the end, so that strata count by their size.
    points: list[tuple[int, float | None]] = []
    for at, tick in enumerate(society.stances.ticks):
        parts = [(line[at], sizes.get(key, 0)) for key, line in society.stances.means.items() if key[0] == topic]
        total = sum(n for v, n in parts if v is not None)
        points.append((tick, sum(v * n for v, n in parts if v is not None) / total if total else None))
    return points


def compare(
    left: RunView, right: RunView, watch: Watch, societies: Mapping[str, Society], *, stop: Callable[[], bool] = lambda: False
) -> Comparison:
    """Both sides and what differs. `societies`: run -> what was read of it before, brought up to date here."""
    a, trouble_a = side(left, watch, societies[left.key], stop=stop)
    b, trouble_b = side(right, watch, societies[right.key], stop=stop)
    both = min(a.windows.total, b.windows.total)
    shared = next((i for i in range(both) if a.windows.places[i].key != b.windows.places[i].key), both)
    changes, trouble = differences(left.about, right.about)
    return Comparison(a, b, changes, shared, "; ".join(t for t in (trouble_a, trouble_b, trouble) if t))


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[tuple[tuple[str, str, str], ...], str]:
    """Keys of the resolved scenario in which two contents of run.yaml differ, with both values as short text."""
    from simflow.plan import revive  # noqa: PLC0415 - when two runs are compared, not before
    from simflow.scenario.changes import brief  # noqa: PLC0415
    from simflow.scenario.changes import differences as between  # noqa: PLC0415

    try:
        found = between(revive(left["cell"]), revive(right["cell"]))
        return tuple((c.key, brief(c.before), brief(c.after)) for c in found), ""
    except (SimflowError, KeyError, TypeError, ValueError) as error:
        return (), f"the scenarios cannot be compared: {error}"
