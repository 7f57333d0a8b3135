"""What `simflow plan` says: who, how many windows and which of them are there already, what variants change, what it will cost."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simflow.cli.forecast import Figure, Forecast, forecast, spends
from simflow.cli.spending import keep
from simflow.plan import Cell, Event, Limits, Plan
from simflow.plan.names import asset_name
from simflow.scenario.changes import Change, brief, sweeps, variants

ASSETS = ("plan", "episodes", "vectors", "edges", "personas", "snapshot")
SENTENCES_A_SECOND = {
    ("builtin", "en"): 50,
    ("builtin", "pt"): 38,
    ("builtin", "es"): 40,
    ("builtin", "uk"): 19,
    **{("static", language): 6000 for language in ("en", "pt", "es", "uk")},
}
"""(embedder, language) -> generated sentences that it reads in one second of processor time, as `simflow bench embedders` finds on one core of a
server: the dearest stage without a model. It spells out what its vocabulary does not know, so other languages than English take longer."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of all cells: how many there are, how many of them other cells have too, how many are stored, how many are left."""

    all: int
    shared: int
    stored: int

    @property
    def missing(self) -> int:
        """Windows that a run computes."""
        return self.all - self.shared - self.stored


@dataclass(slots=True)
class Outlook:
    """The compile result. `differs`: variant -> first tick at which its windows differ from the first variant's; None if they never do."""

    plan: Plan
    home: Path
    windows: Windows
    changes: Mapping[str, tuple[Change, ...]]
    swept: Mapping[str, tuple[list[Any], str]]
    differs: dict[str, int | None]
    forecasts: dict[str, Forecast] = field(default_factory=dict)

    @property
    def first(self) -> Cell:
        """The first cell, which stands for what all have in common."""
        return self.plan.cells[0]

    @property
    def seeds(self) -> int:
        """Repetitions of each variant and sweep value."""
        return len({c.seed for c in self.plan.cells})

    def total(self, quantile: str) -> dict[str, float]:
        """Tokens, money (USD) and texts (`episodes`) of all cells that are left to compute."""
        share = self.windows.missing / self.windows.all if self.windows.all else 0.0
        counts = {v: sum(c.variant == v for c in self.plan.cells) for v in self.forecasts}
        whole = {
            n: sum(getattr(getattr(f, n), quantile) * counts[v] for v, f in self.forecasts.items()) for n in ("tokens", "cost", "episodes")
        }
        return {name: value * share for name, value in whole.items()}

    def beyond(self) -> list[str]:
        """Limits that the P90 of one cell, which is what a limit stops, goes beyond; each as a sentence."""
        return [said for variant, one in self.forecasts.items() for said in _over(self.first.limits, variant, one)]

    def plain(self) -> dict[str, Any]:
        """JSON values; version 1."""
        first = self.first
        return {
            "version": 1,
            "scenario": self.plan.scenario,
            "path": self.plan.path,
            "about": self.plan.about,
            "agents": sum(p.count for p in first.personas),
            "personas": {p.name: p.count for p in first.personas},
            "ticks": first.clock.ticks,
            "cells": [c.name for c in self.plan.cells],
            "windows": {
                "all": self.windows.all,
                "shared": self.windows.shared,
                "stored": self.windows.stored,
                "missing": self.windows.missing,
            },
            "assets": [f"{asset_name(self.plan.scenario)}/{a}" for a in ASSETS],
            "variants": {
                v: {
                    "first_tick": self.differs.get(v),
                    "changes": [{"key": c.key, "before": c.before, "after": c.after, "place": c.place} for c in cs],
                }
                for v, cs in self.changes.items()
            },
            "sweep": {k: v for k, (v, _) in self.swept.items()},
            "forecast": {variant: one.plain() for variant, one in self.forecasts.items()},
            "total": {q: self.total(q) for q in ("p50", "p90")},
            "beyond_limits": self.beyond(),
        }


def outlook(plan: Plan, home: Path, *, dry_runs: bool | None = None) -> Outlook:
    """Look at a plan. dry_runs: whether to run the built-in engine for a forecast; None: only where a model is called."""
    from simflow.run import keys_of

    keys = keys_of(plan.cells)
    distinct = {k for chain in keys.values() for k in chain}
    count = sum(map(len, keys.values()))
    stored = _stored(home, distinct)
    windows = Windows(count, count - len(distinct), len(stored))
    made = Outlook(plan, home, windows, variants(plan.path), sweeps(plan.path), _differs(plan, keys))
    for cell in _firsts(plan.cells):
        if dry_runs or (dry_runs is None and spends(cell)):
            made.forecasts[cell.variant] = forecast(cell)
    for cell in plan.cells:
        if cell.variant in made.forecasts and keys[cell.name][-1] not in stored:  # what is told after a run is no forecast
            keep(home, cell, keys[cell.name], made.forecasts[cell.variant])
    return made


def _firsts(cells: Sequence[Cell]) -> list[Cell]:
    """The first cell of each variant, which stands for its other seeds and sweep values."""
    found: dict[str, Cell] = {}
    for cell in cells:
        found.setdefault(cell.variant, cell)
    return list(found.values())


def beyond(cells: Sequence[Cell], home: Path) -> list[str]:
    """Limits that the cells would go beyond, as `Outlook.beyond` says them; cells that spend nothing, or are stored whole, are not looked at."""
    from simflow.run import keys_of

    limited = [c for c in _firsts(cells) if (c.limits.tokens is not None or c.limits.cost is not None) and spends(c)]
    keys = keys_of(limited)
    found = []
    for cell in limited:
        if _stored(home, set(keys[cell.name])) < set(keys[cell.name]):
            made = forecast(cell)
            keep(home, cell, keys[cell.name], made)
            found += _over(cell.limits, cell.variant, made)
    return found


def _over(limits: Limits, variant: str, one: Forecast) -> list[str]:
    found = []
    if limits.tokens is not None and one.tokens.p90 > limits.tokens:
        found.append(f"{variant}: {one.tokens.p90:,.0f} tokens a cell (P90), and limits.tokens is {limits.tokens:,}")
    if limits.cost is not None and one.cost.p90 > limits.cost:
        found.append(f"{variant}: {_usd(one.cost.p90)} USD a cell (P90), and limits.cost is {_usd(limits.cost)}")
    return found


def _stored(home: Path, keys: set[str]) -> set[str]:
    if not home.exists() and "://" not in str(os.environ.get("SIMFLOW_HOME", "")):
        return set()
    from simflow.store import Store

    windows = Store(home).windows
    return {key for key in keys if windows.get(key) is not None}


def _differs(plan: Plan, keys: Mapping[str, tuple[str, ...]]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    base = plan.cells[0]
    for cell in plan.cells:
        if cell.variant in found or cell.seed != base.seed or cell.sweep != base.sweep:
            continue
        pairs = zip(keys[base.name], keys[cell.name], cell.windows, strict=False)
        found[cell.variant] = next((start for a, b, (start, _) in pairs if a != b), None)
    return found


def render(view: Outlook) -> Iterator[str]:
    """The lines of the text form."""
    plan, first = view.plan, view.first
    yield f"{plan.scenario}  {plan.path}"
    if plan.about:
        yield plan.about
    yield ""
    for name, text in _facts(view):
        yield f"  {name:<10} {text}"
    yield from _variants(view)
    yield from _bill(view)
    if first.schedule:
        yield f"  {'schedule':<10} {first.schedule} (stopped until somebody starts it in Dagster)"


def _facts(view: Outlook) -> Iterator[tuple[str, str]]:
    from simflow.scenario.build.context import length

    first, clock = view.first, view.first.clock
    if first.replay:
        yield "trace", f"{first.replay.path} ({first.replay.format}, placed by {first.replay.time})"
    else:
        kinds = ", ".join(f"{p.name} {p.count:,}" for p in first.personas)
        yield (
            "people",
            f"{sum(p.count for p in first.personas):,}: {kinds}" + (f"; {len(first.people):,} of them by name" if first.people else ""),
        )
    if first.voices:
        yield "voices", ", ".join(f"{v.name} ({v.followers:.0%} follow)" for v in first.voices)
    yield "topics", ", ".join(t.name for t in first.topics) or "none"
    yield (
        "time",
        f"{clock.ticks:,} ticks of {length(clock.minutes)} = {length(clock.ticks * clock.minutes)}; {len(first.windows):,} window{'' if len(first.windows) == 1 else 's'} of {clock.window:,}",
    )
    for number, event in enumerate(first.events):
        by = f" by {event.by}" if event.by else ""
        about = f" on {event.topic}" if event.topic and event.verb in {"post", "broadcast"} else ""
        yield ("events" if not number else ""), f"{_when(event)}  {event.name}: {event.verb}{about}{by}"
    yield "parts", f"engine {first.models.engine}, extractor {first.models.extractor}, embedder {first.models.embedder}"
    yield "cells", f"{len(view.plan.cells):,} = {_product(view)}"
    w = view.windows
    yield "windows", f"{w.all:,}: {w.shared:,} shared by cells, {w.stored:,} stored, {w.missing:,} to compute"
    yield "assets", f"{asset_name(view.plan.scenario)}/{{{', '.join(ASSETS)}}}"


def _when(event: Event) -> str:
    again, until = f", every {event.every:,}" if event.every else "", f" until {event.until:,}" if event.until else ""
    if (trigger := event.when) is None:
        return f"tick {event.at:>6,}{again}{until}"
    side, value = ("above", trigger.above) if trigger.above is not None else ("below", trigger.below)
    return f"when {trigger.measure}{f' of {trigger.topic}' if trigger.topic else ''} is {side} {value:g}{again}{until}"


def _product(view: Outlook) -> str:
    parts = [f"{len(view.differs) or 1} variant{'s' if len(view.differs) > 1 else ''}"]
    parts += [f"{len(values)} values of {key}" for key, (values, _) in view.swept.items()]
    return " x ".join([*parts, f"{view.seeds} seed{'s' if view.seeds > 1 else ''}"])


def _variants(view: Outlook) -> Iterator[str]:
    if len(view.changes) > 1 or any(view.changes.values()):
        yield ""
        yield "  variants"
        first = next(iter(view.changes))
        for name, changes in view.changes.items():
            when = view.differs.get(name)
            if not changes:
                said = "the scenario as it stands"
            elif len(view.changes) == 1:
                said = "the only one; `as it stands: {}` beside it would run the scenario without the change"
            elif name == first:
                said = "the first, with which the others are compared"
            else:
                said = "no window differs" if when is None else f"differs from {first} in windows from tick {when:,} on"
            yield f"    {name}: {said}"
            for change in changes:
                yield f"      {change.key}: {brief(change.before)} -> {brief(change.after)}   {change.place}"
    for key, (values, place) in view.swept.items():
        yield f"  sweep      {key}: {', '.join(brief(v) for v in values)}   {place}"


def _bill(view: Outlook) -> Iterator[str]:
    yield ""
    if not view.forecasts:
        yield "  cost       no model is called: no tokens, no money. `--forecast` runs the engine for a while to say how much will happen"
        return
    yield f"  forecast   a cell, P50 and P90; from {next(iter(view.forecasts.values())).basis}"
    for variant, one in view.forecasts.items():
        yield f"    {f'{variant}: ' if len(view.forecasts) > 1 else ''}{_both(one.episodes)} texts{_embedded(view.first, one.episodes)}"
        yield from _phases(one)
    low, high = view.total("p50"), view.total("p90")
    count, cells = view.windows, len(view.plan.cells)
    left = f"{count.missing:,} of {count.all:,} windows of {cells:,} cell{'' if cells == 1 else 's'}"
    if cells > 1 and count.missing:
        texts = Figure(low["episodes"], high["episodes"])
        yield f"  all that is left to compute, {left}: {_both(texts)} texts{_embedded(view.first, texts)}"
    if any(f.phases for f in view.forecasts.values()):
        yield f"  all that is left to compute, {left}: {low['tokens']:,.0f} to {high['tokens']:,.0f} tokens, {_usd(low['cost'])} to {_usd(high['cost'])} USD"
        yield from _limits(view)


def _embedded(cell: Cell, texts: Figure) -> str:
    speed = SENTENCES_A_SECOND.get((cell.models.embedder, cell.language.code))
    if speed is None:
        return ""
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "min"), (1, "s")) if texts.p50 / speed >= 2 * size or size == 1)
    return f"; about {_both(Figure(texts.p50 / speed / size, texts.p90 / speed / size))} {unit} of processor time to embed them"


def _phases(one: Forecast) -> Iterator[str]:
    if not one.phases:
        return
    money = one.cost.p50 > 0
    whole = one.cost.p50 if money else one.tokens.p50
    wide = max(26, *(len(p.name) + len(p.model) + 4 for p in one.phases))
    yield f"      {'':<{wide}}{'calls':>8}{'tokens in':>13}{'tokens out':>12}{'USD':>10}{'share':>7}{'tokens P90':>14}{'USD P90':>10}"
    for p in sorted(one.phases, key=lambda p: -p.cost.p50 if money else -p.tokens.p50):
        part = (p.cost.p50 if money else p.tokens.p50) / whole if whole else 0.0
        used = f"{p.calls.p50:>8,.0f}{p.tokens_in.p50:>13,.0f}{p.tokens_out.p50:>12,.0f}{p.cost.p50:>10,.4f}{part:>7.0%}"
        yield f"      {f'{p.name} ({p.model})':<{wide}}{used}{p.tokens.p90:>14,.0f}{p.cost.p90:>10,.4f}"
    if len(one.phases) > 1:
        calls, sent, answered = (sum(getattr(p, name).p50 for p in one.phases) for name in ("calls", "tokens_in", "tokens_out"))
        used = f"{calls:>8,.0f}{sent:>13,.0f}{answered:>12,.0f}{one.cost.p50:>10,.4f}{'':>7}"
        yield f"      {'all':<{wide}}{used}{one.tokens.p90:>14,.0f}{one.cost.p90:>10,.4f}"


def _usd(cost: float) -> str:
    return f"{cost:,.2f}" if cost >= 1 or not cost else f"{cost:.4f}"


def _both(figure: Figure) -> str:
    low, high = f"{figure.p50:,.0f}", f"{figure.p90:,.0f}"
    return low if low == high else f"{low} to {high}"


def _limits(view: Outlook) -> Iterator[str]:
    limits = view.first.limits
    worst = {name: max(getattr(f, name).p90 for f in view.forecasts.values()) for name in ("tokens", "cost")}
    given = []
    for name, value in (("tokens", limits.tokens), ("cost", limits.cost)):
        if value is not None:
            given.append(f"{name} {value:,} (the P90 is {worst[name] / value:.1%} of it)" if value else f"{name} 0")
    if limits.hours is not None:
        given.append(f"hours {limits.hours:g}")
    if given:
        yield f"  limits     {', '.join(given)} a cell: {'beyond' if view.beyond() else 'within'}"
    else:
        yield "  limits     none: nothing stops a run that costs more; `limits: {tokens: ..., cost: ...}` would"
