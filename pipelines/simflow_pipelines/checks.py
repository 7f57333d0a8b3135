"""Asset checks on a committed window: where data would be wrong they block, where it would be poor they warn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simflow.evaluation.verdicts import scenario_verdicts
from simflow.plan.names import identifier
from simflow.run.turns import Turns, counted

if TYPE_CHECKING:
    from simflow.plan import Cell, Plan
    from simflow.store import RunData

_Group = Literal["checks", "patterns"]
_GROUPS: dict[_Group, bool] = {"checks": True, "patterns": False}
"""A scenario's own checks -> whether they block."""
ANSWERS = ("reply", "repost", "quote", "message", "group", "like", "dislike", "report")
HOMOGENEOUS, DRIFT, EXTRACTION_ERRORS, LOST_TURNS = 0.5, 0.3, 0.05, 0.1
"""Warnings: share of repeated texts above, change of a mean stance above, share of failed extractions above, of turns that came to nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check on one window of one cell. `breaks` counts what is wrong; `words` say it to a person."""

    check: str
    passed: bool
    words: str = ""
    figures: dict[str, Any] = field(default_factory=dict)


CHECKS: dict[str, tuple[str, bool, str]] = {
    "unique_episodes": ("episodes", True, "No episode is there twice, in this window or before."),
    "episodes_in_their_time": ("episodes", True, "Each episode lies in its window, and no answer comes before what it answers."),
    "acted_on_what_was_seen": (
        "episodes",
        True,
        "Whoever answered or reacted had been shown it before. Traces do not say: not checked there.",
    ),
    "world_not_silent": ("episodes", True, "Something happened within the last day. Traces may have gaps: not checked there."),
    "varied_texts": ("episodes", False, "Fewer than half of the texts are repeated."),
    "turns_come_to_something": (
        "episodes",
        False,
        "At most 10 % of the window's turns that a model decides came to nothing: refused, cut short, not possible, without an answer.",
    ),
    "edges_have_evidence": ("edges", True, "Each edge rests on episodes that exist."),
    "nothing_from_the_future": ("edges", True, "The memory has learnt nothing before it happened, nor later than the window's end."),
    "extraction_works": ("edges", False, "At most 5 % of the window's texts could not be extracted."),
    "within_limits": ("snapshot", True, "Tokens and money of the run are within the scenario's limits."),
    "no_sudden_drift": ("snapshot", False, "No mean stance moved by more than 0.3 in one window."),
}
"""Check -> (asset, whether it blocks, what it means)."""


def check_specs(plan: Plan, keys: dict[str, dg.AssetKey]) -> list[dg.AssetCheckSpec]:
    """All checks of a scenario: those of the data, and its own `checks:` and `patterns:`. `keys`: asset -> its key."""
    specs = [
        dg.AssetCheckSpec(name, asset=keys[asset], blocking=blocking, description=about)
        for name, (asset, blocking, about) in CHECKS.items()
    ]
    cell = plan.cells[0]
    for group, blocking in _GROUPS.items():
        for name, check in zip(scenario_checks(cell, group), getattr(cell, group), strict=True):
            wanted = ", ".join(
                f"{k.replace('_', ' ')} {v:g}" if isinstance(v, float) else f"{k.replace('_', ' ')} {v}" for k, v in check.args.items()
            )
            about = f"From the scenario's `{group}`: {check.kind}, {wanted}."
            specs.append(dg.AssetCheckSpec(name, asset=keys["snapshot"], blocking=blocking, description=about))
    return specs


def scenario_checks(cell: Cell, group: _Group) -> tuple[str, ...]:
    """The names of a scenario's own checks, in order: by what is checked and not by place or bounds, so that a history outlives changes."""
    names: list[str] = []
    for check in getattr(cell, group):
        what = [check.kind, *(str(check.args[k]) for k in ("name", "kind", "stance", "topic", "persona") if check.args.get(k) is not None)]
        name = f"{group.removesuffix('s')}_{identifier('_'.join(what))}"
        again = sum(n == name or n.startswith(f"{name}_again_") for n in names)
        names.append(f"{name}_again_{again}" if again else name)
    return tuple(names)


def blocks(check: str) -> bool:
    """Whether a failure of the check ends the run."""
    return CHECKS[check][1] if check in CHECKS else check.startswith("check_")


def asset_of(check: str) -> str:
    """The asset that a check is about."""
    return CHECKS[check][0] if check in CHECKS else "snapshot"


def judge(run: RunData, number: int) -> list[Verdict]:
    """All checks on window `number`, which is the newest that is read; the scenario's own ones once its last window is there."""
    found = [*_episodes(run, number), *_edges(run, number), *_snapshot(run, number)]
    if number + 1 == len(run.cell.windows):
        for group in _GROUPS:
            said = scenario_verdicts(run, getattr(run.cell, group))
            found += [Verdict(n, passed, words) for n, (_, passed, words) in zip(scenario_checks(run.cell, group), said, strict=True)]
    return found


def _verdict(check: str, breaks: int, looked_at: int, words: str) -> Verdict:
    return Verdict(check, breaks == 0, "" if breaks == 0 else words, {"breaks": breaks, "looked_at": looked_at})


def _episodes(run: RunData, number: int) -> list[Verdict]:
    record = run.windows[number]
    window = run.window(number).table("episodes")
    everything = run.table("episodes", columns=["episode", "tick"], until=record.stop)
    ids, ticks = everything["episode"].to_numpy(), everything["tick"].to_numpy()
    doubles = len(ids) - len(np.unique(ids))
    here = window["tick"].to_numpy()
    outside = int(((here < record.start) | (here >= record.stop)).sum())
    order = np.argsort(ids, kind="stable")
    answers = window.filter(pc.and_(pc.is_in(window["kind"], pa.array(ANSWERS)), pc.is_valid(window["parent"])))
    parents = answers["parent"].to_numpy()
    place = np.minimum(np.searchsorted(ids[order], parents), max(len(ids) - 1, 0))
    known = ids[order][place] == parents if len(ids) else np.zeros(0, bool)
    early = int((ticks[order][place][known] > answers["tick"].to_numpy()[known]).sum()) if len(ids) else 0
    spoken = counted(run.window(number).table("turns", ["outcome"]))
    found = [
        _verdict("unique_episodes", doubles, len(ids), f"{doubles} episodes are there twice"),
        _verdict("episodes_in_their_time", outside + early, len(here), f"{outside} outside their window, {early} before what they answer"),
        _silence(run, ticks, record.stop, spoken),
    ]
    if run.cell.replay is None:
        blind = _unseen(run, record.stop, answers)
        found.append(
            _verdict("acted_on_what_was_seen", blind, answers.num_rows, f"{blind} acts on episodes that the actor was never shown")
        )
    else:
        found.append(Verdict("acted_on_what_was_seen", passed=True, words="a trace does not record what people were shown"))
    written = window.filter(pc.is_in(window["kind"], pa.array(["post", "reply", "quote"])))["text"].drop_null()
    repeated = 1 - pc.count_distinct(written).as_py() / len(written) if len(written) else 0.0
    found.append(
        Verdict(
            "varied_texts", repeated < HOMOGENEOUS, f"{repeated:.0%} of {len(written)} texts are repeated", {"repeated_share": repeated}
        )
    )
    share = spoken.lost / spoken.all if spoken.all else 0.0
    found.append(
        Verdict(
            "turns_come_to_something", share <= LOST_TURNS, str(spoken) if spoken.all else "", {"turns": spoken.all, "lost": spoken.lost}
        )
    )
    return found


def _silence(run: RunData, ticks: npt.NDArray[np.int32], stop: int, spoken: Turns) -> Verdict:
    # A night may be quiet, and a trace may have gaps; a whole day in which nobody does anything is no world.
    day = max(1, 1440 // run.cell.clock.minutes)
    lately = int((ticks >= stop - day).sum())
    silent = run.cell.replay is None and stop >= day and lately == 0
    why = f"; {spoken}" if spoken.lost else ""
    return _verdict("world_not_silent", int(silent), lately, f"nothing happened in the day before tick {stop}{why}")


def _unseen(run: RunData, stop: int, answers: pa.Table) -> int:
    seen = run.table("exposures", columns=["reader", "episode", "tick"], until=stop)
    by = answers.select(["actor", "parent", "tick"]).rename_columns(["reader", "episode", "acted"])
    first = seen.group_by(["reader", "episode"]).aggregate([("tick", "min")])
    joined = by.join(first, ["reader", "episode"], join_type="left outer")
    late = pc.greater(joined["tick_min"], joined["acted"])
    return int(pc.sum(pc.fill_null(late, True)).as_py() or 0)


def _edges(run: RunData, number: int) -> list[Verdict]:
    record = run.windows[number]
    edges, claims = run.window(number).table("edges"), run.window(number).table("claims")
    ids = run.table("episodes", columns=["episode"], until=record.stop)["episode"]
    bare = int(pc.sum(pc.equal(pc.list_value_length(edges["evidence"]), 0)).as_py() or 0)
    cited = pc.list_flatten(edges["evidence"])
    unknown = len(cited) - int(pc.sum(pc.is_in(cited, ids.combine_chunks())).as_py() or 0)
    early = pc.or_(pc.less(claims["learnt"], claims["tick"]), pc.greater(claims["learnt"], record.stop))
    late = pc.or_(pc.less(edges["learnt"], edges["last_seen"]), pc.greater(edges["learnt"], record.stop))
    leaks = sum(int(pc.sum(flags).as_py() or 0) for flags in (early, late))
    failed = int(pc.sum(pc.equal(claims["kind"], "parked")).as_py() or 0)
    texts = int(sum(run.windows[number].kinds.get(kind, 0) for kind in ("post", "reply", "repost", "quote", "message", "group")))
    share = failed / texts if texts else 0.0
    return [
        _verdict("edges_have_evidence", bare + unknown, edges.num_rows, f"{bare} edges without evidence, {unknown} citations of nothing"),
        _verdict(
            "nothing_from_the_future", leaks, edges.num_rows + claims.num_rows, f"{leaks} rows learnt before they happened, or too late"
        ),
        Verdict("extraction_works", share <= EXTRACTION_ERRORS, f"{failed} of {texts} texts failed", {"failed": failed, "texts": texts}),
    ]


def _snapshot(run: RunData, number: int) -> list[Verdict]:
    from simflow.run import figures  # noqa: PLC0415 - the engine's room

    limits, windows = run.cell.limits, run.windows[: number + 1]
    manifests = [run.window(w.number).manifest for w in windows]
    tokens = sum(int(m.get("tokens", 0)) for m in manifests)
    cost = sum(float(m.get("cost", 0.0)) for m in manifests)
    over = (limits.tokens is not None and tokens > limits.tokens) or (limits.cost is not None and cost > limits.cost)
    found = [Verdict("within_limits", not over, f"{tokens:,} tokens, {cost:.2f} USD", {"tokens": tokens, "cost": cost})]
    moved: dict[str, float] = {}
    if number:
        now, before = (figures(type(run)(run.store, run.record, run.windows[:n])) for n in (number + 1, number))
        for topic in run.cell.topics:
            a, b = before.get(f"stance_mean/{topic.name}"), now.get(f"stance_mean/{topic.name}")
            if isinstance(a, float) and isinstance(b, float):
                moved[topic.name] = b - a
    far = {topic: change for topic, change in moved.items() if abs(change) > DRIFT}
    words = ", ".join(f"{topic} moved by {change:+.2f}" for topic, change in far.items())
    found.append(Verdict("no_sudden_drift", not far, words, {f"change/{t}": c for t, c in moved.items()}))
    return found
