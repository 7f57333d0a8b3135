"""All measures of one window as one long table: window, tick, topic, group, measure, value. Reads truth where there is any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simflow.measures import activity, cascade, network, opinion
from simflow.measures.opinion import F64
from simflow.world.language import ASPECTS

MEASURES = pa.schema(
    [
        pa.field("window", pa.int32(), nullable=False, metadata={"about": "number of the window"}),
        pa.field("tick", pa.int32(), nullable=False, metadata={"about": "end of the window: the value is as of the end of tick - 1"}),
        pa.field("topic", pa.string(), metadata={"about": "topic, or null for the whole world"}),
        pa.field("group", pa.string(), metadata={"about": "persona, or side:argument of a narrative; null for everybody"}),
        pa.field("measure", pa.string(), nullable=False, metadata={"about": "name in docs/measures.md"}),
        pa.field("value", pa.float64(), nullable=False, metadata={"about": "never null or NaN: what cannot be measured has no row"}),
    ]
)
_GRID = float(1 << 32)
_SIDES = ("against", "undecided", "for")
_TEXT = ("post", "reply", "repost", "quote", "message", "group")
_PUBLIC = _TEXT[:4]
"""Texts that can spread: a message is for one, a post in a group for its members."""

Column = npt.NDArray[Any]


def window_measures(
    number: int,
    start: int,
    stop: int,
    *,
    topics: Sequence[str],
    agents: pa.Table,
    episodes: pa.Table,
    exposures: pa.Table,
    truth: Mapping[str, pa.Table] | None = None,
    feed: int | None = None,
) -> pa.Table:
    """Measures of ticks [start, stop), schema `MEASURES`.

    agents, episodes, exposures, truth: schemas of `simflow.episode`, of ticks < stop: what happened in the window, and of the time before it at
    least the episodes that were seen or answered in it, what these said, and stances that stand for the past (`standing.condensed`).
    More of the past changes nothing. feed: posts that a full feed shows. Without truth only what can be seen from outside is measured.
    """
    rows = _Rows(number, stop)
    people = agents.filter(pc.invert(agents["is_voice"]))
    world = _World(start, stop, people, episodes, exposures, dict(truth or {}), feed)
    _acts(rows, world)
    _trees(rows, world)
    if "stances" in world.truth:
        for index, topic in enumerate(topics):
            _stances(rows, world, index, topic)
    return rows.table()


class _Rows:
    def __init__(self, number: int, stop: int) -> None:
        self._number, self._stop = number, stop
        self._rows: list[tuple[str | None, str | None, str, float]] = []

    def add(self, measure: str, value: float, topic: str | None = None, group: str | None = None) -> None:
        if np.isfinite(value):
            self._rows.append((topic, group, measure, float(value)))

    def table(self) -> pa.Table:
        topic, group, measure, value = zip(*self._rows, strict=True) if self._rows else ((), (), (), ())
        n = len(self._rows)
        columns = [np.full(n, self._number, np.int32), np.full(n, self._stop, np.int32), topic, group, measure, value]
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, MEASURES, strict=True)], schema=MEASURES)


class _World:
    """The window's tables as arrays. Agents are places 0..count-1, voices among them."""

    def __init__(
        self,
        start: int,
        stop: int,
        people: pa.Table,
        episodes: pa.Table,
        exposures: pa.Table,
        truth: dict[str, pa.Table],
        feed: int | None,
    ) -> None:
        self.start, self.stop, self.feed, self.truth = start, stop, feed, truth
        self.people = _np(people, "agent").astype(np.int64)
        self.persona = np.array([p or "" for p in people["persona"].to_pylist()], dtype=str)
        self.episode = _np(episodes, "episode").astype(np.int64)
        self.tick = _np(episodes, "tick").astype(np.int64)
        self.actor = _np(episodes, "actor").astype(np.int64)
        self.kind = np.array(episodes["kind"].to_pylist(), dtype=str)
        self.parent = episodes["parent"].fill_null(-1).to_numpy()
        self.texts = episodes["text"]
        self.seen_tick, self.reader, self.seen = (_np(exposures, name).astype(np.int64) for name in ("tick", "reader", "episode"))
        self.recent = self.seen_tick >= start
        self.count = int(max([-1, *(int(a.max(initial=-1)) for a in (self.people, self.actor, self.reader))])) + 1
        self.author = self.actor[_find(self.episode, self.seen)] if len(self.episode) else np.zeros(0, np.int64)


def _acts(rows: _Rows, world: _World) -> None:
    """Who does how much, how even, how new."""
    inside = world.tick >= world.start
    resident = np.isin(world.actor, world.people)
    acts = np.bincount(world.actor[inside & resident], minlength=world.count)[world.people]
    written = inside & np.isin(world.kind, _TEXT)
    posts = np.bincount(world.actor[written & resident], minlength=world.count)[world.people]
    for kind in np.unique(world.kind[inside]).tolist():
        rows.add(f"events_{kind}", float((inside & (world.kind == kind)).sum()))
    rows.add("events", float(inside.sum()))
    rows.add("exposures", float(world.recent.sum()))
    if len(world.people):
        rows.add("participation", float(np.mean(acts > 0)))
        rows.add("silent_share", float(np.mean(posts == 0)))
    rows.add("posting_gini", activity.gini(posts))
    rows.add("posting_top10", activity.top_share(posts))
    parent = cascade.parents(world.episode, world.parent)
    gained = inside & (parent >= 0)
    attention = np.bincount(world.actor[parent[gained]], minlength=world.count)[world.people]
    rows.add("engagement_gini", activity.gini(attention))
    rows.add("engagement_top10", activity.top_share(attention))
    own = inside & np.isin(world.kind, ("post", "reply", "quote", "message", "group"))
    texts = [t for t in world.texts.filter(pa.array(own)).to_pylist() if t is not None]
    if texts:
        rows.add("distinct_texts", len(set(texts)) / len(texts))
    if world.feed and world.recent.any():
        sessions = np.unique(np.stack([world.seen_tick, world.reader])[:, world.recent], axis=1).shape[1]
        rows.add("feed_fill", float(world.recent.sum()) / (sessions * world.feed))


def _trees(rows: _Rows, world: _World) -> None:
    """Cascades of texts whose root began in the window, as they stand at its end."""
    text = np.isin(world.kind, _PUBLIC)
    episode, tick = world.episode[text], world.tick[text]
    found = cascade.cascades(cascade.parents(episode, world.parent[text]))
    new = tick[found.root] >= world.start if len(found.root) else np.zeros(0, dtype=bool)
    if not new.any():
        return
    for name, values in (("size", found.size), ("depth", found.depth), ("breadth", found.breadth)):
        rows.add(f"cascade_{name}_mean", float(values[new].mean()))
        rows.add(f"cascade_{name}_max", float(values[new].max()))
    spread = new & (found.size > 1)
    rows.add("cascades", float(new.sum()))
    if spread.any():
        rows.add("virality_mean", float(found.virality[spread].mean()))


def _stances(rows: _Rows, world: _World, index: int, topic: str) -> None:
    table = world.truth["stances"]
    here = _np(table, "topic") == index
    agent, tick = _np(table, "agent")[here].astype(np.int64), _np(table, "tick")[here].astype(np.int64)
    value = _np(table, "stance")[here] / _GRID
    count = max(world.count, int(agent.max(initial=-1)) + 1)
    now = activity.as_of(agent, tick, value, world.stop - 1, count)
    first = activity.as_of(agent, tick, value, -1, count)
    x, persona = now[world.people], world.persona
    known = ~np.isnan(x)
    x, persona = x[known], persona[known]
    if not len(x):
        return
    _distribution(rows, x, topic)
    began = first[world.people][known]
    rows.add("drift", float(np.nanmean(x - began)) if (~np.isnan(began)).any() else float("nan"), topic)
    for name in np.unique(persona).tolist():
        mine = persona == name
        rows.add("mean", opinion.mean(x[mine]), topic, name)
        rows.add("variance", opinion.variance(x[mine]), topic, name)
        rows.add("people", float(mine.sum()), topic, name)
    group = np.unique(persona, return_inverse=True)[1]
    rows.add("divergence", opinion.divergence(x, group), topic)
    rows.add("consensus", opinion.consensus(x, group), topic)
    rows.add("cluster_polarization", opinion.cluster_polarization(x, group), topic)
    rows.add("size_parity", opinion.size_parity(group), topic)
    changed = activity.flips(agent, tick, value)
    before = activity.flips(agent[tick < world.start], tick[tick < world.start], value[tick < world.start])
    rows.add("flips", float(changed.sum() - before.sum()), topic)
    rows.add("flips_per_1000", 1000.0 * (changed.sum() - before.sum()) / (len(x) * max(1, world.stop - world.start)), topic)
    _graph(rows, world, now, topic)
    _seen(rows, world, now, index, topic)


def _distribution(rows: _Rows, x: F64, topic: str) -> None:
    rows.add("people", float(len(x)), topic)
    for name, value in (
        ("mean", opinion.mean(x)),
        ("variance", opinion.variance(x)),
        ("bimodality", opinion.bimodality(x)),
        ("esteban_ray", opinion.esteban_ray(x)),
        ("spread", opinion.spread(x)),
        ("dispersion", opinion.dispersion(x)),
        ("coverage", opinion.coverage(x)),
        ("camps", float(opinion.camps(x))),
        ("stance_entropy", opinion.entropy(x)),
    ):
        rows.add(name, value, topic)
    for k, share in enumerate(opinion.shares(x).tolist()):
        rows.add(f"share_class_{k}", share, topic)
    side = opinion.sides(x)
    for k, name in enumerate(_SIDES):
        rows.add(f"share_{name}", float(np.mean(side == k - 1)), topic)


def _graph(rows: _Rows, world: _World, now: F64, topic: str) -> None:
    """Who read whom in the window, each pair once."""
    recent = world.recent & ~np.isnan(now[world.reader]) & ~np.isnan(now[world.author])
    pairs = np.unique(np.stack([world.reader[recent], world.author[recent]], axis=1), axis=0)
    pairs = pairs[np.isin(pairs[:, 1], world.people)]
    if not len(pairs):
        return
    source, target = pairs[:, 0], pairs[:, 1]
    filled = np.nan_to_num(now)
    side = np.where(np.isnan(now), 0, opinion.sides(filled))
    taken = (side[source] != 0) & (side[target] != 0)
    persona = np.full(len(now), -1)
    persona[world.people] = np.unique(world.persona, return_inverse=True)[1]
    rows.add("assortativity", network.assortativity(filled, source, target), topic)
    rows.add("ei_sides", network.ei_index(side, source[taken], target[taken]), topic)
    rows.add("ei_personas", network.ei_index(persona, source, target), topic)
    rows.add("modularity_sides", network.modularity(side, source[taken], target[taken]), topic)
    rows.add("controversy", network.controversy(side, source, target), topic)


def _seen(rows: _Rows, world: _World, now: F64, index: int, topic: str) -> None:
    """What reached whom, and who moved whom."""
    if "statements" in world.truth:
        said = world.truth["statements"]
        said = said.filter(pc.equal(said["topic"], index))
        post = _np(said, "episode").astype(np.int64)
        inside = world.recent & np.isin(world.seen, post)
        if len(post) and inside.any():
            row = _find(post, world.seen[inside])
            stance = _np(said, "stance")[row].astype(np.float64)
            reader = world.reader[inside]
            rows.add("exposure_diversity", network.exposure_diversity(reader, opinion.sides(stance) + 1, 3), topic)
            own = np.where(np.isnan(now[reader]), 0, opinion.sides(np.nan_to_num(now[reader])))
            rows.add("cross_cutting", network.cross_cutting(own, opinion.sides(stance)), topic)
            side = said["side"].fill_null(0).to_numpy()[row].astype(np.int64)
            argument = said["argument"].fill_null(-1).to_numpy()[row].astype(np.int64)
            argued = (side != 0) & (argument >= 0)
            narrative = np.where(side > 0, 1000 + argument, argument)
            reach = activity.narrative_reach(reader[argued], narrative[argued], len(world.people))
            for key, share in sorted(reach.items()):
                rows.add("narrative_reach", share, topic, f"{'pro' if key >= 1000 else 'con'}:{_aspect(key % 1000)}")
    if "impacts" in world.truth:
        moved = world.truth["impacts"]
        moved = moved.filter(pc.and_(pc.equal(moved["topic"], index), pc.greater_equal(moved["tick"], world.start)))
        if len(moved):
            by = activity.influence(_np(moved, "author").astype(np.int64), _np(moved, "contribution") / _GRID, world.count)
            rows.add("influence", float(by.sum()), topic)
            rows.add("influence_gini", activity.gini(by[by > 0]), topic)
            rows.add("influence_top10", activity.top_share(by), topic)


def _aspect(argument: int) -> str:
    return ASPECTS[argument] if argument < len(ASPECTS) else str(argument)


def _np(table: pa.Table, name: str) -> Column:
    column: Column = table[name].to_numpy()
    return column


def _find(keys: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Row of each wanted key; every one is expected to exist."""
    order = np.argsort(keys, kind="stable")
    return order[np.minimum(np.searchsorted(keys, wanted, sorter=order), max(0, len(keys) - 1))]
