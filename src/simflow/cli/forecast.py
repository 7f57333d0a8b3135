"""What a cell will cost, from free dry runs of the built-in engine: episodes, turns, calls, tokens and money, P50 and P90."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simflow.cli.rehearsal import rehearse
from simflow.plan import Cell, Models

if TYPE_CHECKING:
    import pyarrow as pa

SEEDS = 3
SAMPLE_TICKS = 144
SAMPLE_AGENTS = 2_000
SAMPLE_SPEAKERS = 60
"""Residents of a rehearsal in which some speak through a model: those remember, and a memory costs time."""
SPEND = 0.9
"""Part of its memory budget that an answer to a question uses; the P90 takes all of it."""
ASKED = 120
"""Completion tokens of an answer to a question: how much a model says there is its own, and no dry run can know it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The median and the 90th percentile of what a dry run would give over the whole length of a cell."""

    p50: float
    p90: float

    def times(self, factor: float, worse: float | None = None) -> Figure:
        """Scaled; `worse` is the factor of the P90 if it differs."""
        return Figure(self.p50 * factor, self.p90 * (factor if worse is None else worse))

    def plain(self) -> dict[str, float]:
        """JSON values."""
        return {"p50": round(self.p50, 4), "p90": round(self.p90, 4)}


@dataclass(frozen=True, slots=True)
class Phase:
    """One kind of call of a cell: how many, with how many tokens, for how much money (USD), on which model."""

    name: str
    model: str
    calls: Figure
    tokens_in: Figure
    tokens_out: Figure
    cost: Figure

    def plain(self) -> dict[str, Any]:
        """JSON values."""
        figures = {k: getattr(self, k).plain() for k in ("calls", "tokens_in", "tokens_out", "cost")}
        return {"phase": self.name, "model": self.model, **figures}


@dataclass(frozen=True, slots=True)
class Forecast:
    """Of one cell. `episodes` are texts; `basis` says what was run to find out."""

    episodes: Figure
    turns: Figure
    phases: tuple[Phase, ...]
    basis: str

    @property
    def tokens(self) -> Figure:
        """Of all phases."""
        return Figure(
            sum(p.tokens_in.p50 + p.tokens_out.p50 for p in self.phases), sum(p.tokens_in.p90 + p.tokens_out.p90 for p in self.phases)
        )

    @property
    def cost(self) -> Figure:
        """Of all phases, in USD."""
        return Figure(sum(p.cost.p50 for p in self.phases), sum(p.cost.p90 for p in self.phases))


def spends(cell: Cell) -> bool:
    """Whether any part of the cell calls a model."""
    return cell.models.extractor == "llm" or cell.models.engine == "llm" or any(p.engine == "llm" for p in cell.personas)


def forecast(cell: Cell) -> Forecast:
    """The forecast of one cell. Raises BadInput for a model whose price nobody knows, also where its share would be small."""
    prices = _prices(cell)
    if cell.replay is not None:
        return _replayed(cell, prices)
    world = dataclasses.replace(cell, models=Models(), personas=tuple(dataclasses.replace(p, engine=None) for p in cell.personas))
    world, factor = _smaller(world)
    day = max(1, 1440 // cell.clock.minutes)
    ticks = min(cell.clock.ticks, max(day, SAMPLE_TICKS // day * day))
    steps = [_dry(dataclasses.replace(world, seed=cell.seed + n), ticks) for n in range(SEEDS)]
    texts = [rate for step in steps for rate in _rates(step.episodes.filter(_is_text(step.episodes))["tick"].to_numpy(), ticks, day)]
    sessions = [rate for step in steps for rate in _rates(_sessions(step.exposures), ticks, day)]
    whole = cell.clock.ticks * factor
    episodes, turns = _figure(texts).times(whole), _figure(sessions).times(whole)
    basis = f"{SEEDS} dry runs of {ticks:,} ticks" + (f" with {1 / factor:.1%} of the residents" if factor > 1 else "")
    return Forecast(episodes, turns, tuple(_phases(cell, ticks, episodes, turns, prices)), basis)


def _smaller(cell: Cell, most: int = SAMPLE_AGENTS) -> tuple[Cell, float]:
    # Rates grow with the number of residents, since feeds are bounded: a sample of them is enough for a forecast.
    agents = sum(p.count for p in cell.personas)
    if agents <= most or cell.people or cell.network.edges:
        return cell, 1.0
    factor = agents / most
    personas = tuple(dataclasses.replace(p, count=max(1, round(p.count / factor)) if p.count else 0) for p in cell.personas)
    events = tuple(
        dataclasses.replace(e, amount=max(1.0, e.amount // factor)) if e.verb in {"join", "leave"} and e.amount else e for e in cell.events
    )
    return dataclasses.replace(cell, personas=personas, events=events), agents / sum(p.count for p in personas)


def _dry(cell: Cell, ticks: int) -> Any:
    from simflow.world.builtin import BuiltinEngine

    engine = BuiltinEngine(cell)
    return engine.advance(engine.begin(), 0, ticks)


def _is_text(episodes: pa.Table) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    from simflow.episode import TEXT_KINDS

    return pc.is_in(episodes["kind"], value_set=pa.array(sorted(TEXT_KINDS)))


def _sessions(exposures: pa.Table) -> Any:
    import numpy as np

    pairs = np.unique(exposures["tick"].to_numpy().astype(np.int64) << 32 | exposures["reader"].to_numpy())
    return pairs >> 32


def _rates(at: Any, ticks: int, day: int) -> Iterator[float]:
    """Events a tick in each whole day of the sample."""
    days = max(1, ticks // day)
    for n in range(days):
        start, stop = n * day, min(ticks, (n + 1) * day)
        yield float(((at >= start) & (at < stop)).sum()) / (stop - start)


def _figure(rates: list[float]) -> Figure:
    import numpy as np

    return Figure(float(np.quantile(rates, 0.5)), float(np.quantile(rates, 0.9)))


def _prices(cell: Cell) -> dict[str, Any]:
    if not spends(cell):
        return {}
    from simflow.llm.endpoint import Endpoint
    from simflow.llm.prices import price

    endpoint = Endpoint.from_environment(cell.models.model)
    names = {endpoint.model, *(p.model for p in cell.personas if p.model and (p.engine or cell.models.engine) == "llm")}
    return {"": endpoint.model, **{name: price(name, endpoint) for name in sorted(names)}}


def _phases(cell: Cell, ticks: int, episodes: Figure, turns: Figure, prices: dict[str, Any], step: Any = None) -> Iterator[Phase]:
    if not prices:
        return
    model = prices[""]
    day = max(1, 1440 // cell.clock.minutes)
    speaks = any((p.engine or cell.models.engine) == "llm" for p in cell.personas)
    small, factor = _smaller(cell, SAMPLE_SPEAKERS if speaks else SAMPLE_AGENTS) if step is None else (cell, 1.0)
    tried = rehearse(small, ticks, day, step)
    worse = max(1.1, turns.p90 / turns.p50 if turns.p50 else 1.0, episodes.p90 / episodes.p50 if episodes.p50 else 1.0)
    if cell.models.extractor == "llm":
        every = cell.extract.every
        figures = tried.reading.over(cell.clock.ticks // every * every, ticks // every * every, every)
        calls, sent, answered = (Figure(factor * n, factor * n * worse) for n in figures)
        yield _phase("extract", model, calls, sent, answered, prices)
    total = sum(p.count for p in cell.personas) or 1
    for spoken, one in sorted(tried.acts.items()):
        figures = one.over(cell.clock.ticks, ticks, min(day, ticks))
        calls, sent, answered = (Figure(factor * n, factor * n * worse) for n in figures)
        yield _phase("act", spoken, calls, sent, answered, prices)
    if cell.ask and cell.models.engine == "llm":
        count = sum(next((p.count for p in cell.personas if p.name == a.persona), len(a.agents) or total) for a in cell.ask)
        memory = cell.memory.persona_tokens + cell.memory.relation_tokens + cell.memory.episode_tokens
        calls = Figure(count, count)
        yield _phase("ask", model, calls, Figure(count * SPEND * memory, count * memory), calls.times(ASKED), prices)


def _phase(name: str, model: str, calls: Figure, tokens_in: Figure, tokens_out: Figure, prices: dict[str, Any]) -> Phase:
    rate = prices[model]
    cost = Figure(rate.of(round(tokens_in.p50), 0, round(tokens_out.p50)), rate.of(round(tokens_in.p90), 0, round(tokens_out.p90)))
    return Phase(name, model, calls, tokens_in, tokens_out, cost)


def _replayed(cell: Cell, prices: dict[str, Any]) -> Forecast:
    from simflow.world.replay import ReplayEngine

    engine = ReplayEngine(cell)
    step = engine.advance(engine.begin(), 0, cell.clock.ticks)
    exact = Figure(*[float(step.episodes.filter(_is_text(step.episodes)).num_rows)] * 2)
    phases = tuple(_phases(cell, cell.clock.ticks, exact, Figure(0, 0), prices, step))
    return Forecast(exact, Figure(0, 0), phases, "the trace itself")
