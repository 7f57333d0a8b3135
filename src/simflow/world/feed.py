"""What a session shows: candidates, their scores, and the best few. No post is shown twice to one reader.

Successive sessions of a reader look at disjoint ranges of ticks, [last session, now), so that nothing has to be remembered per pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Feed
from simflow.world.draws import F64, GRID, I64, Bools, Draws, Ints
from simflow.world.posts import Posts
from simflow.world.settings import Settings
from simflow.world.society import Society

MOST = 480
"""Most posts that a session may show: the place in the feed is part of an episode's key."""
_SCALE = float(1 << 34)
_TOP = 1 << 39


@dataclass(frozen=True, slots=True)
class Ranking:
    """Feeds side by side: arrays of one entry a feed, and which feed each agent reads."""

    of: Ints
    recency: F64
    popularity: F64
    affinity: F64
    follow: F64
    similarity: F64
    noise: F64
    posts: Ints
    horizon: Ints
    hot: Ints
    explore: Ints
    fade: float

    @classmethod
    def of_feeds(cls, feeds: Sequence[Feed], of: Ints, horizon: int, pool: int, fade: float) -> Ranking:
        """Compile feeds; none looks back further than `horizon` ticks. fade: the part of the age that halves recency in a tick."""
        plain = [_weights(feed, pool) for feed in feeds]
        columns = {name: np.array([row[name] for row in plain], dtype=np.float64) for name in plain[0]}
        for feed in feeds:
            if not 1 <= feed.posts <= MOST:
                raise BadInput(f"a feed shows {feed.posts} posts", hint=f"between 1 and {MOST}")
        return cls(
            of=of,
            posts=np.array([feed.posts for feed in feeds], dtype=np.int64),
            horizon=np.array([min(feed.horizon, horizon) for feed in feeds], dtype=np.int64),
            hot=columns.pop("hot").astype(np.int64),
            explore=columns.pop("explore").astype(np.int64),
            fade=fade,
            **columns,
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """One row an exposure, by reader and rank. `reader` and `row` are places in the society and in its posts."""

    reader: Ints
    row: Ints
    rank: Ints


def _weights(feed: Feed, pool: int) -> dict[str, float]:
    explore = round(feed.explore * pool)
    row: dict[str, float] = {
        "recency": feed.recency,
        "popularity": feed.popularity,
        "affinity": feed.affinity,
        "follow": feed.follow,
        "similarity": feed.similarity,
        "noise": feed.noise,
        "hot": pool - explore,
        "explore": explore,
    }
    match feed.kind:
        case "chronological":
            row |= {"recency": 1.0, "popularity": 0.0, "affinity": 0.0, "follow": 0.0, "noise": 0.0, "hot": 0, "explore": 0}
        case "hot":
            row |= {"recency": 0.0, "popularity": 1.0, "affinity": 0.0, "follow": 0.0}
        case "interest":
            row |= {"popularity": 0.0, "affinity": 1.0, "follow": 0.0}
        case "follow_first":
            row["follow"] = 2.0 + feed.follow
        case _:
            pass
    return row


def hottest(posts: Posts, replicate_of: Ints, replicates: int, first: int, limit: int) -> I64:
    """Rows of the `limit` most liked and shared posts since row `first` of each replicate, best first: (replicates, limit), -1 where fewer."""
    table = np.full((replicates, limit), -1, np.int64)
    heat = posts["score"][first:].astype(np.int64) + 2 * posts["shares"][first:]
    found = np.flatnonzero(heat > 0)
    if not len(found):
        return table
    rows = found + first
    # One unique number a row: hotter first, then newer.
    key = (heat[found] << 36) | rows
    if replicates == 1:
        if len(key) > 4 * limit:
            best = np.argpartition(key, len(key) - limit)[len(key) - limit :]
            rows, key = rows[best], key[best]
        order = np.argsort(key)[::-1][:limit]
        table[0, : len(order)] = rows[order]
        return table
    whose = replicate_of[posts["author"][rows]].astype(np.int64)
    order = np.lexsort((-key, whose))
    whose = whose[order]
    place = np.arange(len(order)) - np.searchsorted(whose, whose)
    keep = place < limit
    table[whose[keep], place[keep]] = rows[order][keep]
    return table


def rank(
    society: Society,
    draws: Draws,
    settings: Settings,
    ranking: Ranking,
    tick: int,
    agents: Ints,
    hot: I64,
    places: Sequence[Ints],
    hidden: Bools | None,
) -> Shown:
    """Feeds of `agents` at `tick`, from what was committed before.

    hot: as made by `hottest`. places: for each replicate the rows of those whose posts may be explored. hidden: authors that the
    platform hides, or None.
    """
    posts = society.posts
    if not len(agents) or not posts.size:
        nobody = np.empty(0, np.int64)
        return Shown(nobody, nobody, nobody)
    feed = ranking.of[agents]
    first = posts.first_row(np.maximum(society.seen[agents], tick - ranking.horizon[feed]))
    replicate = society.replicate[agents] if len(society.replicate) else np.zeros(len(agents), np.int32)
    followed = society.last[society.follows[agents]].reshape(len(agents), -1)
    pools = [followed]
    if most := int(ranking.hot[feed].max(initial=0)):
        pools.append(_first_new(hot[replicate], first, most, ranking.hot[feed]))
    if most := int(ranking.explore[feed].max(initial=0)):
        pools.append(_explored(society, draws, tick, agents, replicate, places, most, ranking.explore[feed]))
    table = np.concatenate(pools, axis=1) if len(pools) > 1 else followed
    who, column = np.nonzero(table >= first[:, None])
    # Sorting puts the copy that comes from a followed account first; the others are doubles.
    key = (who << 40) | (table[who, column] << 1) | (column >= followed.shape[1])
    key.sort()
    pair = key >> 1
    fresh = np.ones(len(pair), dtype=bool)
    fresh[1:] = pair[1:] != pair[:-1]
    key = key[fresh]
    who, row, follows = key >> 40, (key >> 1) & ((1 << 39) - 1), (key & 1) == 0
    author = posts["author"][row]
    reader = agents[who]
    keep = (author != reader) & (posts["boost"][row] < 2)
    if len(society.mutes):
        keep &= ~pairs(society.mutes, reader, author)
    if hidden is not None:
        keep &= ~hidden[author]
    if not keep.all():
        who, row, follows, reader = who[keep], row[keep], follows[keep], reader[keep]
    score = _scores(society, draws, settings, ranking, tick, reader, row, follows)
    order = np.argsort((who << 40) | (_TOP - np.rint(score * _SCALE).astype(np.int64)), kind="stable")
    who = who[order]
    start = np.searchsorted(who, np.arange(len(agents)))
    place = np.arange(len(who)) - start[who]
    shown = place < ranking.posts[feed[who]]
    return Shown(agents[who[shown]], row[order[shown]], place[shown])


def pairs(sorted_pairs: I64, reader: Ints, author: Ints) -> Bools:
    """Whether each (reader, author) is among the pairs reader << 32 | author."""
    key = (reader.astype(np.int64) << 32) | author
    at = np.minimum(np.searchsorted(sorted_pairs, key), len(sorted_pairs) - 1)
    return np.asarray(sorted_pairs[at] == key, dtype=bool)


def _scores(
    society: Society, draws: Draws, settings: Settings, ranking: Ranking, tick: int, reader: Ints, row: Ints, follows: Bools
) -> F64:
    posts = society.posts
    feed = ranking.of[reader]
    age = (tick - posts["tick"][row]).astype(np.float64)
    heat = np.maximum(posts["score"][row] + 2 * posts["shares"][row], 0).astype(np.float64)
    topic = posts["topic"][row]
    about = np.maximum(topic, 0)
    alike = 1.0 - np.abs(society.x[reader, about] - posts["stance"][row]) / (2.0 * GRID)
    similarity = ranking.similarity[feed]
    affinity = np.where(topic < 0, 0.5, (1.0 - similarity) * society.interests[reader, about] + similarity * alike)
    score = ranking.recency[feed] / (1.0 + age * ranking.fade) + ranking.popularity[feed] * heat / (heat + 8.0)
    score += ranking.affinity[feed] * affinity + ranking.follow[feed] * follows
    score += settings.boost * (follows & (posts["boost"][row] == 1))
    score += ranking.noise[feed] * draws.pair_unit("feed", tick, reader, posts["id"][row])
    return np.clip(score, 0.0, 31.0)


def _first_new(hot: I64, first: Ints, most: int, wanted: Ints) -> I64:
    """Of each reader's hot list the first `wanted` that are new to it; -1 for the rest. At most `most` columns."""
    new = hot >= first[:, None]
    taken = np.cumsum(new, axis=1)
    rows = np.where(new & (taken <= wanted[:, None]), hot, -1)
    return rows if rows.shape[1] <= most else np.sort(rows, axis=1)[:, ::-1][:, :most]


def _explored(
    society: Society, draws: Draws, tick: int, agents: Ints, replicate: Ints, places: Sequence[Ints], most: int, wanted: Ints
) -> I64:
    """The newest post of authors drawn at random, whatever others have posted meanwhile."""
    sizes = np.array([len(place) for place in places])
    starts = np.cumsum(sizes) - sizes
    flat = places[0] if len(places) == 1 else np.concatenate(places)
    rows = np.empty((len(agents), most), np.int64)
    for k in range(most):
        drawn = (draws.unit(f"explore/{k}", tick, agents) * sizes[replicate]).astype(np.int64)
        rows[:, k] = np.where(k < wanted, society.last[flat[starts[replicate] + drawn], 0], -1)
    return rows
