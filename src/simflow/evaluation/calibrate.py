"""From data to a fragment that a scenario can start `from:`: how far people move, and when they are awake."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput
from simflow.evaluation.cascades import weights
from simflow.evaluation.cascades_data import Cascades
from simflow.evaluation.cascades_engine import POSTS, Temper
from simflow.evaluation.opinions_fit import fit, slope, social_mean, spread_ratio
from simflow.evaluation.opinions_panels import Panel

F64 = npt.NDArray[np.float64]

_WIDEST = 3.0
_NORMAL = NormalDist()
_MOST_POSTS = 20


@dataclass(frozen=True, slots=True)
class Movers:
    """How far people move. mean, deviation: of a normal that is clipped to 0..1, as a scenario draws it; posts: read in a session."""

    mean: float
    deviation: float
    posts: int
    lines: tuple[str, ...]
    """What it rests on, one line a condition."""


def movers(panels: Sequence[Panel], *, seed: int = 0) -> Movers:
    """Susceptibility under Friedkin-Johnsen, from all social conditions, each weighing as many answers as it has.

    Weight by least squares and heterogeneity by `opinions_fit.fit`; then posts a session, and as much heterogeneity as goes with them, so that
    a session leaves opinions as spread as the people's were.
    Raises BadInput if no condition is social.
    """
    social = [panel for panel in panels if panel.social and len(panel.table)]
    if not social:
        raise BadInput(
            "no condition in which people learnt what others had answered", hint="a condition counts as control if its name says so"
        )
    lines, found = [], []
    for panel in social:
        habits, form = fit(panel, seed=seed)
        weight = float(habits.susceptibility(panel).mean())
        found.append((len(panel.table), weight, habits.all_or_none * weight * (1.0 - weight), spread_ratio(panel, panel.last) ** 2))
        observed = slope(panel.last - panel.first, social_mean(panel) - panel.first)
        lines.append(
            f"{panel.name}: {len(panel.table)} answers, weight {weight:.3f} ({form.name}; plain mean {observed:.3f}), "
            f"all or none {habits.all_or_none:.2f}, spread after/before {spread_ratio(panel, panel.last):.3f}"
        )
    answers, moved, variance, spread = (np.array(column, dtype=np.float64) for column in zip(*found, strict=True))
    mean = float(np.average(moved, weights=answers))
    between = float(np.average((moved - mean) ** 2, weights=answers))
    posts, varied = reading(mean, float(np.average(variance, weights=answers)) + between, float(np.average(spread, weights=answers)))
    low, deviation = clipped_normal(mean, varied)
    return Movers(low, deviation, posts, tuple(lines))


def reading(mean: float, variance: float, spread: float) -> tuple[int, float]:
    """(posts a session, variance of susceptibility) that multiply the variance of opinions by `spread` where people read others at random.

    A session of r posts makes it E(1 - s)^2 + E(s^2) / r for susceptibility s. The posts that come nearest with the variance given, then the
    variance that makes up the rest, as far as 0..1 allows.
    """
    kept = (1.0 - mean) ** 2
    posts = min(range(1, _MOST_POSTS + 1), key=lambda r: abs(kept + variance + (mean**2 + variance) / r - spread))
    rest = (spread - kept - mean**2 / posts) * posts / (posts + 1)
    return posts, min(max(rest, 0.0), mean * (1.0 - mean))


def clipped_normal(mean: float, variance: float) -> tuple[float, float]:
    """Mean and deviation of a normal whose draws, clipped to 0..1, have this mean and variance.

    Its own mean stays in 0..1 and its deviation below 3, as a scenario wants it; a variance beyond that gets the largest that there is.
    """
    mean = min(max(mean, 1e-3), 1.0 - 1e-3)
    low, high = 1e-3, _WIDEST
    for _ in range(50):  # the widest whose own mean is still in 0..1
        middle = (low + high) / 2.0
        low, high = (middle, high) if 0.0 <= _centre(mean, middle) <= 1.0 else (low, middle)
    low, high = 1e-3, low
    for _ in range(50):
        middle = (low + high) / 2.0
        if _moments(_centre(mean, middle), middle)[1] < variance:
            low = middle
        else:
            high = middle
    deviation = (low + high) / 2.0
    return _centre(mean, deviation), deviation


def _centre(mean: float, deviation: float) -> float:
    low, high = -10.0 * deviation, 1.0 + 10.0 * deviation
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _moments(middle, deviation)[0] < mean else (low, middle)
    return (low + high) / 2.0


def _moments(centre: float, deviation: float) -> tuple[float, float]:
    """Mean and variance of a normal clipped to 0..1."""
    a, b = -centre / deviation, (1.0 - centre) / deviation
    inside = _NORMAL.cdf(b) - _NORMAL.cdf(a)
    above = 1.0 - _NORMAL.cdf(b)
    pa, pb = _NORMAL.pdf(a), _NORMAL.pdf(b)
    first = centre * inside + deviation * (pa - pb)
    second = (
        (centre**2 + deviation**2) * inside
        + deviation * ((centre * 2.0 + deviation * a) * pa - (centre * 2.0 + deviation * b) * pb)
        + above
    )
    mean = first + above
    return mean, second - mean**2


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When and how cascades run. active: 24 weights by local hour with mean 1, None if times are unknown; horizon in hours; temper: of the likest world."""

    active: tuple[float, ...] | None
    horizon: int
    temper: Temper
    lines: tuple[str, ...]


def rhythm(real: Cascades, made: F64, tempers: Sequence[Temper], *, utc_offset: int = 0) -> Rhythm:
    """Hours of the day from the times of shares, the age up to which posts are shared, and the world whose cascades are likest.

    One world as a whole, and no mean over worlds: how often people look and how readily they share make up for each other.

    made, tempers: `cascades_engine.library` and the temper of each of its worlds. utc_offset: hours that local time is ahead of UTC.
    """
    active = None
    if real.hours.sum() > 0:
        local = np.roll(real.hours, utc_offset)
        smooth = (np.roll(local, 1) + 2.0 * local + np.roll(local, -1)) / 4.0
        active = tuple(float(x) for x in np.round(smooth / smooth.mean(), 3))
    votes = weights(made, real.curves).reshape(len(tempers), POSTS).sum(axis=1)
    shares = real.curves[:, :, 0] / np.maximum(real.final[:, :1], 1.0)
    late = float(np.mean(shares[:, 3]))
    horizon = 24 if late > 0.95 else 168
    best = tempers[int(votes.argmax())]
    lines = (
        f"{len(real.ids)} cascades; {100 * late:.0f} % of shares within a day, mean size {real.final[:, 0].mean():.0f}, depth {real.final[:, 1].mean():.1f}",
        f"likest of {len(tempers)} worlds, with {100 * votes.max() / votes.sum():.0f} % of the votes",
    )
    return Rhythm(active, horizon, best, lines)


def panel_fragment(found: Movers, source: Path, personas: Sequence[str], topics: Sequence[str]) -> str:
    """YAML of `movers` for some personas and topics."""
    lines = [
        *_heading(source, found.lines),
        "dynamics: {model: friedkin_johnsen, contrarians: 0%}",
        f"platform: {{feed: {{posts: {found.posts}}}}}",
        "population:",
        "  personas:",
    ]
    drawn = f"{found.mean:.3f} ± {found.deviation:.3f}"
    for persona in personas:
        lines += [
            f"    {_quoted(persona)}:",
            "      susceptibility:    # clipped to 0..1: some keep their opinion, some take over what they read",
        ]
        lines += [f"        {_quoted(topic)}: {drawn}" for topic in topics]
    return "\n".join(lines) + "\n"


def cascade_fragment(found: Rhythm, source: Path) -> str:
    """YAML of `rhythm`."""
    lines = [
        *_heading(source, found.lines),
        f"network: {{shape: preferential, links: {found.temper.links}}}",
        f"platform: {{feed: {{horizon: {found.horizon}h, fade: {found.temper.fade}min}}, rates: {{repost: {found.temper.share:g}}}}}",
        "clock:",
        f"  sessions: {144 * found.temper.sessions:.5g}    # visits of a resident a day",
    ]
    if found.active:
        lines += [
            "  active:    # weight of each hour of the day, from midnight",
            f"    [{', '.join(f'{x:g}' for x in found.active)}]",
        ]
    return "\n".join(lines) + "\n"


def _heading(source: Path, lines: Sequence[str]) -> list[str]:
    return [f"# Fitted by `simflow calibrate` to {source.name}. Start a scenario from it with `from:`.", *(f"#   {line}" for line in lines)]


def _quoted(name: str) -> str:
    plain = all(c.isalnum() or c in " -_" for c in name) and not name[:1].isdigit() and name == name.strip() and not math.isnan(len(name))
    return (
        name
        if plain and name.lower() not in {"true", "false", "null", "yes", "no", "on", "off", ""}
        else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )
