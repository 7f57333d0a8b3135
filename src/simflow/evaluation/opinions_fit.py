"""From a panel to `Habits`: least squares for what moves people, then heterogeneity so that opinions stay as spread as they did."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simflow.evaluation.opinions_engine import EVERYTHING, Habits, draw, forecast
from simflow.evaluation.opinions_panels import Panel

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.bool_]

_SHRINK = 100.0
"""Sum of squared distances that a single item's or stratum's own weight needs to count as much as the common one."""
_SURE = 1.5
"""Standard errors, over groups left out, by which weights of their own by item or stratum must err less than common ones."""
_LEAST_GROUPS = 10
"""Fewer groups than this say too little about such differences, about a chat, and about a power of popularity other than 1."""
_POWERS = (0.0, 0.5, 1.0, 2.0, 4.0)
_DRAWS = 8
_FEW = (8, 5, 4, 3, 2, 1)


@dataclass(frozen=True, slots=True)
class Form:
    """Which of the things that people read, and which differences between items and strata, a fit may use."""

    shown: bool = False
    chat: bool = False
    popularity: float = 0.0
    by_item: bool = False
    by_stratum: bool = False

    @property
    def name(self) -> str:
        """For a report."""
        reads = [n for n, used in (("display", self.shown), ("chat", self.chat)) if used]
        varies = [n for n, used in (("item", self.by_item), ("stratum", self.by_stratum)) if used]
        others = f"others by popularity^{self.popularity:g}" if self.popularity else "others"
        return " + ".join([others, *reads]) + (f", by {' and '.join(varies)}" if varies else "")


def folds(panel: Panel, count: int = 5) -> Iterator[Rows]:
    """Rows to hold out, each row once: whole groups; whole items if there is one group; at last every fifth table or row.

    Which group goes where depends on the numbers of the groups alone.
    """
    unit = next((u for u in (panel.group, panel.item, panel.table) if len(np.unique(u)) > 1), np.arange(len(panel.table)))
    place = np.unique(unit, return_inverse=True)[1]
    n = int(place.max()) + 1
    order = np.random.Generator(np.random.Philox(n)).permutation(n) % min(count, n)
    for k in range(min(count, n)):
        yield order[place] == k


def social_mean(panel: Panel) -> F64:
    """What people learnt of the others in the plainest sense: the mean that was on display, else the others' mean first answer."""
    return np.where(np.isnan(panel.shown), panel.others(), panel.shown)


def slope(change: F64, towards: F64) -> float:
    """Least-squares weight w in change = w x towards; 0 without any distance."""
    square = float(towards @ towards)
    return float(change @ towards) / square if square > 0 else 0.0


def spread_ratio(panel: Panel, last: F64) -> float:
    """Standard deviation of `last` over that of first answers, within tables (within items, where everybody sits alone)."""
    alone = np.bincount(panel.table).max(initial=0) < 2
    unit = panel.item if alone else panel.table
    return float(np.sqrt(_within(last, unit) / max(1e-18, _within(panel.first, unit))))


def fit(panel: Panel, *, seed: int = 0) -> tuple[Habits, Form]:
    """Habits of the people of a social condition, with weights by item or stratum if that errs less on groups left out.

    In a control condition nobody reads anything, so there is nothing to fit.
    """
    several = len(np.unique(panel.group)) >= _LEAST_GROUPS
    chosen = Form(shown=bool((~np.isnan(panel.shown)).any()), chat=bool(len(panel.said)) and several, popularity=1.0)
    if not panel.social:
        return Habits(np.zeros((int(panel.stratum.max(initial=0)) + 1, len(panel.items)))), Form()
    if several:
        forms = [dataclasses.replace(chosen, popularity=power) for power in _POWERS]
        chosen = min(forms, key=lambda form: float(_held_out(panel, form).sum()))
        errors = {form: _held_out(panel, form) for form in _variations(panel, chosen)}
        best = min(errors, key=lambda form: float(errors[form].sum()))
        saved = errors[chosen] - errors[best]
        chosen = best if saved.sum() > _SURE * np.sqrt(float((saved**2).sum())) else chosen
    habits = _weights(panel, chosen)
    for _ in range(2):  # rounds feed back on each other: rescale until the engine itself is least-squares
        moved = forecast(panel, habits) - panel.first
        habits = dataclasses.replace(habits, weight=np.clip(habits.weight * slope(panel.last - panel.first, moved), 0.0, 1.0))
    return _heterogeneous(panel, habits, seed), chosen


def _variations(panel: Panel, form: Form) -> list[Form]:
    item = [False, True] if len(panel.items) > 1 else [False]
    stratum = [False, True] if len(np.unique(panel.stratum)) > 1 else [False]
    return [dataclasses.replace(form, by_item=i, by_stratum=s) for i, s in itertools.product(item, stratum)]


def _held_out(panel: Panel, form: Form) -> F64:
    """Squared errors summed by group, each group left out once."""
    squares = np.zeros(len(panel.table))
    for held in folds(panel, 4):
        if held.all():
            continue
        habits = _weights(panel.take(~held), form, len(panel.items), int(panel.stratum.max()) + 1)
        test = panel.take(held)
        squares[held] = (forecast(test, habits) - test.last) ** 2
    return np.bincount(panel.group, weights=squares).astype(np.float64)


def _weights(panel: Panel, form: Form, items: int = 0, strata: int = 0) -> Habits:
    """Least squares with the weights on what is read kept at 0 or above; item and stratum weights shrunk to the common one."""
    items, strata = items or len(panel.items), strata or int(panel.stratum.max()) + 1
    change = panel.last - panel.first
    liked = panel.agreement() ** form.popularity if form.popularity else None
    sources = {"others": panel.others(weights=liked)}
    if form.shown:
        sources["shown"] = social_mean(panel)
    if form.chat:
        sources["chat"] = _heard(panel)
    parts = _nonnegative(np.stack([s - panel.first for s in sources.values()], axis=1), change)
    total = float(parts.sum())
    share = dict(zip(sources, (parts / total).tolist() if total > 0 else [1.0] + [0.0] * (len(parts) - 1), strict=True))
    towards = sum(share[name] * (source - panel.first) for name, source in sources.items())
    common = slope(change, towards)
    weight = np.full((strata, items), common)
    if form.by_item:
        weight += _deviations(change - common * towards, towards, panel.item, items)[None, :]
    if form.by_stratum:
        rest = change - weight[panel.stratum, panel.item] * towards
        weight += _deviations(rest, towards, panel.stratum, strata)[:, None]
    return Habits(np.clip(weight, 0.0, 1.0), share.get("shown", 0.0), share.get("chat", 0.0), form.popularity)


def _deviations(rest: F64, towards: F64, unit: I64, count: int) -> F64:
    square = np.bincount(unit, weights=towards**2, minlength=count)
    return np.bincount(unit, weights=rest * towards, minlength=count) / (square + _SHRINK)


def _nonnegative(sources: F64, change: F64) -> F64:
    """Least squares over the subsets of columns; the best whose coefficients are all >= 0."""
    best, error = np.zeros(sources.shape[1]), float(change @ change)
    columns = range(sources.shape[1])
    for size in columns:
        for chosen in itertools.combinations(columns, size + 1):
            solved = np.linalg.lstsq(sources[:, chosen], change, rcond=None)[0]
            left = float(((change - sources[:, chosen] @ solved) ** 2).sum())
            if (solved >= 0).all() and left < error:
                best, error = np.zeros(sources.shape[1]), left
                best[list(chosen)] = solved
    return best


def _heard(panel: Panel) -> F64:
    """Mean of the numbers that others wrote in the chat; the others' mean first answer where there were none."""
    tables = int(panel.table.max()) + 1
    by = panel.said_by[panel.said_by >= 0]
    own = np.bincount(by, weights=panel.said[panel.said_by >= 0], minlength=len(panel.table))
    own_count = np.bincount(by, minlength=len(panel.table))
    total = np.bincount(panel.said_table, weights=panel.said, minlength=tables)[panel.table] - own
    count = np.bincount(panel.said_table, minlength=tables)[panel.table] - own_count
    return np.where(count > 0, total / np.maximum(count, 1), panel.others())


def _heterogeneous(panel: Panel, habits: Habits, seed: int) -> Habits:
    """The share of all-or-none people, reading as much as may be, with which drawn runs are as spread as the people were."""
    target = spread_ratio(panel, panel.last)

    def drawn(one: Habits) -> float:
        return float(np.mean([spread_ratio(panel, draw(panel, one, seed + k)) for k in range(_DRAWS)]))

    tried = []
    for reads in (EVERYTHING, *_FEW):
        habits = dataclasses.replace(habits, reads=reads, all_or_none=1.0)
        now = drawn(habits)
        tried.append((abs(now - target), habits))
        if now >= target:
            break
    else:
        return habits
    low, high = 0.0, 1.0
    for _ in range(6):
        middle = (low + high) / 2.0
        low, high = (middle, high) if drawn(dataclasses.replace(habits, all_or_none=middle)) < target else (low, middle)
    habits = dataclasses.replace(habits, all_or_none=round((low + high) / 2.0, 3))
    return min([(abs(drawn(habits) - target), habits), *tried], key=lambda pair: pair[0])[1]


def _within(x: F64, unit: I64) -> float:
    """Pooled variance within units of at least two."""
    place = np.unique(unit, return_inverse=True)[1]
    count = np.bincount(place)
    centred = x - (np.bincount(place, weights=x) / count)[place]
    several = count[place] > 1
    return float((centred[several] ** 2).sum() / max(1, several.sum()))
