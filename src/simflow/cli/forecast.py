"""What a cell will cost, from free dry runs of the built-in engine: episodes, turns, calls, tokens and money, P50 and P90.

P50: what a run costs if the model reads and talks as is assumed. P90: what nine runs of ten stay below if models leave out, disagree and say as
much more as is plausible; a model with worse habits costs more than that, and `limits` are for that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simflow.plan import Cell, Models

if TYPE_CHECKING:
    import pyarrow as pa

SEEDS = 3
SAMPLE_TICKS = 144
LONG_SAMPLE = 480
"""Ticks of the cell's own dry run, where residents are few enough that `SAMPLE_WORK` resident-ticks are not passed."""
SAMPLE_WORK = 60_000
SAMPLE_AGENTS = 2_000
SAMPLE_SPEAKERS = 60
"""Residents of a rehearsal in which some speak through a model: those remember, and a memory costs time."""
ENOUGH_TURNS = 60
"""Turns of each model after which such a rehearsal may end."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The median and the 90th percentile over the whole length of a cell."""

    p50: float
    p90: float

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

    @property
    def tokens(self) -> Figure:
        """In and out."""
        return Figure(self.tokens_in.p50 + self.tokens_out.p50, self.tokens_in.p90 + self.tokens_out.p90)

    def plain(self) -> dict[str, Any]:
        """JSON values."""
        figures = {k: getattr(self, k).plain() for k in ("calls", "tokens_in", "tokens_out", "cost")}
        return {"phase": self.name, "model": self.model, **figures}


@dataclass(frozen=True, slots=True)
class Forecast:
    """Of one cell. `episodes` are texts; `basis` says what was run to find out."""

    episodes: Figure
    phases: tuple[Phase, ...]
    basis: str

    @property
    def tokens(self) -> Figure:
        """Of all phases."""
        return Figure(sum(p.tokens.p50 for p in self.phases), sum(p.tokens.p90 for p in self.phases))

    @property
    def cost(self) -> Figure:
        """Of all phases, in USD."""
        return Figure(sum(p.cost.p50 for p in self.phases), sum(p.cost.p90 for p in self.phases))

    def plain(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "episodes": self.episodes.plain(),
            "tokens": self.tokens.plain(),
            "cost": self.cost.plain(),
            "phases": [p.plain() for p in self.phases],
            "basis": self.basis,
        }


def spends(cell: Cell) -> bool:
    """Whether any part of the cell calls a model."""
    return cell.models.extractor == "llm" or cell.speaks


@dataclass(frozen=True, slots=True)
class Dry:
    """A dry run of a world: its `step` over the first `ticks`, and `awake`, sessions by (tick, persona) over all; the cell has `factor` times as many."""

    step: Any
    ticks: int
    awake: Any
    factor: float = 1.0

    def texts(self, start: int, stop: int, like: Sequence[Dry] = (), *, read: bool = False) -> float:
        """Texts in ticks [start, stop): those of the dry run, and beyond it as many a session as in it and in others of its kind; see `_ticks`."""
        at = _ticks(self.step.episodes, read=read)
        runs = (self, *like)
        sessions = sum(int(d.awake[: d.ticks].sum()) for d in runs)
        rate = sum(len(_ticks(d.step.episodes, read=read)) for d in runs) / max(1, sessions)
        return float(((at >= start) & (at < stop)).sum() + rate * self.awake[max(start, self.ticks) : stop].sum())


def forecast(cell: Cell) -> Forecast:
    """The forecast of one cell. Raises BadInput for a model whose price nobody knows, also where its share would be small."""
    prices = _prices(cell)
    if cell.replay is not None:
        return _replayed(cell, prices)
    free = dataclasses.replace(cell, models=Models(), personas=tuple(dataclasses.replace(p, engine=None) for p in cell.personas))
    small, factor = _smaller(free)
    ticks, day, agents = cell.clock.ticks, max(1, 1440 // cell.clock.minutes), max(1, sum(p.count for p in small.personas))
    short = min(ticks, max(day, SAMPLE_TICKS // day * day))
    long = min(ticks, max(short, min(LONG_SAMPLE, SAMPLE_WORK // agents) // day * day))
    dry = _dry(small, long, ticks, factor)
    others = [_dry(dataclasses.replace(small, seed=small.seed + n), short, short) for n in range(1, SEEDS)]
    texts = factor * dry.texts(0, ticks, others)
    worse = _spread([d.texts(0, short) for d in (dry, *others)])
    basis = f"{SEEDS} dry runs of {short:,} ticks" if long == short else f"dry runs of {long:,} ticks and {SEEDS - 1} of {short:,}"
    basis += f" with {1 / factor:.1%} of the residents" if factor > 1 else ""
    phases = tuple(_phases(cell, dry, others, worse, prices)) if prices else ()
    return Forecast(Figure(texts, texts * worse), phases, basis)


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


def _dry(cell: Cell, ticks: int, all_ticks: int, factor: float = 1.0) -> Dry:
    from simflow.cli.sessions import sessions
    from simflow.world.builtin import BuiltinEngine

    engine = BuiltinEngine(cell)
    return Dry(engine.advance(engine.begin(), 0, ticks), ticks, sessions(cell, all_ticks), factor)


def _ticks(episodes: pa.Table, *, read: bool = False) -> Any:
    """Ticks of the texts, ascending; with `read`, of those that an extractor reads."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from simflow.episode import TEXT_KINDS
    from simflow.memory.passages import READ_KINDS

    kinds = pa.array(READ_KINDS if read else sorted(TEXT_KINDS))
    return np.sort(episodes.filter(pc.is_in(episodes["kind"], value_set=kinds))["tick"].to_numpy())


def _spread(counts: Sequence[float]) -> float:
    """P90 in parts of the mean, of what differs by the seed alone."""
    import numpy as np

    mean = float(np.mean(counts))
    return 1 + 1.28 * float(np.std(counts, ddof=1)) / mean if mean else 1.0


def _prices(cell: Cell) -> dict[str, Any]:
    if not spends(cell):
        return {}
    from simflow.llm.endpoint import Endpoint
    from simflow.llm.prices import price
    from simflow.llm.room import spoken

    endpoint = Endpoint.from_environment(cell.models.model, of_personas=spoken(cell))
    names = {endpoint.model, *(p.model for p in cell.personas if p.model and cell.speaks_for(p))}
    return {"": endpoint.model, **{name: price(name, endpoint) for name in sorted(names)}}


def _phases(cell: Cell, dry: Dry, others: Sequence[Dry], worse: float, prices: dict[str, Any]) -> Iterator[Phase]:
    from simflow.cli import bill
    from simflow.cli.rehearsal import rehearse

    speakers: dict[str, list[int]] = {}
    for column, persona in enumerate(cell.personas if cell.replay is None else ()):
        if cell.speaks_for(persona):
            speakers.setdefault(persona.model or prices[""], []).append(column)
    small, factor = (cell, 1.0) if cell.replay is not None else _smaller(cell, SAMPLE_SPEAKERS if speakers else SAMPLE_AGENTS)
    lived = _lived(cell, small, list(speakers.values())) if speakers else dry
    tried = rehearse(small, lived.ticks, dry.step)
    if cell.models.extractor == "llm":
        every = cell.extract.every
        whole = cell.clock.ticks // every * every  # what comes after the last whole batch waits
        if speakers:
            often = sum(r.texts for r in tried.reads) / max(1, lived.awake[: tried.read].sum())
            rest = often * float(lived.awake[tried.read : whole].sum())
        else:
            rest = dry.texts(tried.read, whole, others, read=True)
        usual, worst = bill.reading(tried.reads, rest, (whole - tried.read) // every)
        yield _phase("extract", prices[""], factor * usual, factor * worst * worse, prices)
    for model, columns in sorted(speakers.items()):
        turns = dry.factor * dry.awake[:, columns].sum(axis=1)
        yield _phase("act", model, *bill.acting(tried.turns.get(model), turns, lived.ticks, cell.memory), prices)


def _lived(cell: Cell, small: Cell, speakers: Sequence[list[int]]) -> Dry:
    """How long a rehearsal with speakers is: the longer, the fewer turns they have."""
    import numpy as np

    from simflow.cli.sessions import sessions

    awake = sessions(small, cell.clock.ticks)
    enough = [int(np.searchsorted(awake[:, columns].sum(axis=1).cumsum(), ENOUGH_TURNS)) + 1 for columns in speakers]
    return Dry(None, min(cell.clock.ticks, LONG_SAMPLE, max(SAMPLE_TICKS, *enough)), awake)


def _phase(name: str, model: str, usual: Any, worse: Any, prices: dict[str, Any]) -> Phase:
    calls, sent, answered = (Figure(float(a), float(b)) for a, b in zip(usual, worse, strict=True))
    rate = prices[model]
    cost = Figure(rate.of(round(sent.p50), 0, round(answered.p50)), rate.of(round(sent.p90), 0, round(answered.p90)))
    return Phase(name, model, calls, sent, answered, cost)


def _replayed(cell: Cell, prices: dict[str, Any]) -> Forecast:
    import numpy as np

    from simflow.world.replay import ReplayEngine

    engine, ticks = ReplayEngine(cell), cell.clock.ticks
    dry = Dry(engine.advance(engine.begin(), 0, ticks), ticks, np.zeros((ticks, 0)))
    exact = dry.texts(0, ticks)
    phases = tuple(_phases(cell, dry, (), 1.0, prices)) if prices else ()
    return Forecast(Figure(exact, exact), phases, "the trace itself")
