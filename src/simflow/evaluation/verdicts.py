"""A scenario's own `checks:` and `patterns:`, judged at the end of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from simflow.plan import Check

if TYPE_CHECKING:
    from simflow.store import RunData

SIDES = {"opposes": (-1.01, -0.15), "unsure": (-0.15, 0.15), "supports": (0.15, 1.01)}


def scenario_verdicts(run: RunData, checks: Sequence[Check]) -> Iterator[tuple[Check, bool, str]]:
    """Each check with whether it holds and what was found. A measure that cannot be taken does not hold."""
    for check in checks:
        value, words = _value(run, check)
        if value is None:
            yield check, False, words
            continue
        low, high = _bounds(check)
        yield check, low <= value <= high, f"{words}: {_number(value)}, should be {_wanted(low, high)}"


def _wanted(low: float, high: float) -> str:
    if low == high:
        return _number(low)
    if math.isinf(low):
        return f"at most {_number(high)}"
    return f"at least {_number(low)}" if math.isinf(high) else f"from {_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value.is_integer() else f"{value:.4g}"


def _bounds(check: Check) -> tuple[float, float]:
    args = check.args
    if "value" in args:
        return float(args["value"]) - float(args["tolerance"]), float(args["value"]) + float(args["tolerance"])
    low, high = args.get("between") or (args.get("at_least", float("-inf")), args.get("at_most", float("inf")))
    if check.kind == "covered":
        low = args.get("at_least", 1.0)
    return float(low), float(high)


def _value(run: RunData, check: Check) -> tuple[float | None, str]:
    match check.kind:
        case "covered":
            return _covered(run, check)
        case "share":
            return _share(run, check)
        case "episodes":
            kind = check.args.get("kind")
            count = sum(sum(w.kinds.values()) if kind is None else w.kinds.get(str(kind), 0) for w in run.windows)
            return float(count), f"episodes{f' of kind {kind}' if kind else ''}"
        case "measure":
            return _measure(run, check)
        case "lost_turns":
            return _lost_turns(run, check)
        case _:
            return None, f"there is no check called {check.kind}"


def _covered(run: RunData, check: Check) -> tuple[float | None, str]:
    # Which posts are on a topic: the truth of the world where it has one, else what was extracted.
    topic, by = str(check.args["topic"]), check.args.get("by")
    stop = int(by) if isinstance(by, int) else run.end
    statements = run.truth("statements")
    if statements.num_rows:
        number = [t.name for t in run.cell.topics].index(topic)
        on = statements.filter(pc.equal(statements["topic"], number))["episode"]
    else:
        claims = run.table("claims", columns=["episode", "on_topic"])
        on = claims.filter(pc.equal(claims["on_topic"], topic))["episode"]
    exposures = run.table("exposures", columns=["tick", "reader", "episode"])
    seen = exposures.filter(pc.and_(pc.less(exposures["tick"], stop), pc.is_in(exposures["episode"], on.combine_chunks())))
    agents = run.agents()
    residents = agents.filter(pc.invert(agents["is_voice"]))["agent"]
    reached = len(set(seen["reader"].to_pylist()) & set(residents.to_pylist()))
    return (reached / len(residents) if len(residents) else None), f"share of residents that saw a post on {topic} by tick {stop}"


def _share(run: RunData, check: Check) -> tuple[float | None, str]:
    from simflow.memory.beliefs import present  # noqa: PLC0415 - the engine's room

    topic, stance, persona = str(check.args["topic"]), str(check.args["stance"]), check.args.get("persona")
    agents = run.agents()
    wanted = {a for a, p in zip(agents["agent"].to_pylist(), agents["persona"].to_pylist(), strict=True) if persona in {None, p}}
    edges = present(run.table("edges"))
    held = [
        row["value"]
        for row in edges.select(["of", "on_topic", "value", "valid_to"]).to_pylist()
        if row["valid_to"] is None and row["on_topic"] == topic and row["of"] in wanted
    ]
    words = f"share{f' of {persona}' if persona else ''} that {'is unsure about' if stance == 'unsure' else stance} {topic}, of {len(held)} whose opinion the memory knows"
    low, high = SIDES.get(stance, (0.0, 0.0))
    return (sum(low <= v <= high for v in held) / len(held) if held else None), words


def _lost_turns(run: RunData, check: Check) -> tuple[float | None, str]:
    from simflow.run.turns import turns  # noqa: PLC0415 - the engine's room

    persona = check.args.get("persona")
    found, of = turns(run, persona), f" of {persona}" if persona else ""
    if not found.all:
        return None, f"no turn{of} was a model's"
    why = f" ({', '.join(f'{kind} {count:,}' for kind, count in found.reasons.items())})" if found.lost else ""
    return found.lost / found.all, f"share of {found.all:,} turns{of} that came to nothing{why}"


def _measure(run: RunData, check: Check) -> tuple[float | None, str]:
    from simflow.measures.record import measured  # noqa: PLC0415 - imported where a scenario asks for it

    name, topic, persona, at = (check.args.get(key) for key in ("name", "topic", "persona", "at"))
    stop = int(at) if isinstance(at, int) else run.end
    windows = run.until(stop)
    if not windows:
        return None, f"{name}: no window ends by tick {stop}"
    last = windows[-1]
    table = measured(run, last.number)
    rows = [r for r in table.to_pylist() if r["measure"] == name and r["topic"] in {topic, None} and r["group"] == persona]
    rows.sort(key=lambda r: r["topic"] is None)
    about = " ".join(str(part) for part in (name, topic, persona) if part)
    return (float(rows[0]["value"]), f"{about} at tick {last.stop}") if rows else (None, f"{about} cannot be measured in this run")
