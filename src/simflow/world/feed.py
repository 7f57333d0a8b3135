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
from simflow.world.posts import AUTHOR, BOOST, HEAT, ID, REPORTS, STANCE, TICK, TOPIC, Posts
from simflow.world.settings import Settings
from simflow.world.society import Society

MOST = 480
"""Most posts that a session may show: the place in the feed is part of an episode's key."""
_SCALE = float(1 << 34)
_TOP = 1 << 39
_ROW = (1 << 36) - 1


@dataclass(frozen=True, slots=True)
class Ranking:
    """Feeds side by side: arrays of one entry a feed, and which feed each agent reads.

    `single` holds the weights of the first feed, for the common case that there is only one.
    """

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
    fade: F64
    hide: int
    most_hot: int
    most_explored: int
    single: dict[str, float]

    @classmethod
    def of_feeds(cls, feeds: Sequence[Feed], of: Ints, horizon: int, settings: Settings, minutes: int, hide: int = 0) -> Ranking:
        """Compile feeds; none looks back further than `horizon` ticks. minutes: of a tick. hide: reports from which on a post is hidden; 0: never."""
        plain = [_weights(feed, settings.pool) | {"fade": minutes / (feed.fade or settings.fade_minutes)} for feed in feeds]
        columns = {name: np.array([row[name] for row in plain], dtype=np.float64) for name in plain[0]}
        for feed in feeds:
            if not 1 <= feed.posts <= MOST:
                raise BadInput(f"a feed shows {feed.posts} posts", hint=f"between 1 and {MOST}")
        hot, explore = columns.pop("hot").astype(np.int64), columns.pop("explore").astype(np.int64)
        return cls(
            of=of,
            posts=np.array([feed.posts for feed in feeds], dtype=np.int64),
            horizon=np.array([min(feed.horizon, horizon) for feed in feeds], dtype=np.int64),
            hot=hot,
            explore=explore,
            hide=hide,
            most_hot=int(hot.max()),
            most_explored=int(explore.max()),
            single={name: float(column[0]) for name, column in columns.items()},
            **columns,
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """One row an exposure, by reader and rank. `reader` and `row` are places in the society and in its posts; `post` is that row."""

    reader: Ints
    row: Ints
    rank: Ints
    post: I64


def arranged(posts: Posts, *parts: tuple[Ints, Ints]) -> Shown:
    """One feed a reader out of parts, each (reader, row), in the order of the parts."""
    reader, row = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(reader, kind="stable")
    reader, row = reader[order], row[order]
    return Shown(reader, row, np.arange(len(reader)) - np.searchsorted(reader, reader), posts.table.take(row, axis=0))


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
    """Rows of the `limit` hottest posts since row `first` of each replicate, best first: (replicates, limit), -1 where fewer."""
    table = np.full((replicates, limit), -1, np.int64)
    heat = posts.column(HEAT)[first:]
    found = np.flatnonzero(heat > 0)
    if not len(found):
        return table
    # One unique number a row: hotter first, then newer.
    key = (heat[found] << 36) | (found + first)
    if replicates == 1:
        if len(key) > 4 * limit:
            key = np.partition(key, len(key) - limit)[len(key) - limit :]
        key.sort()
        best = key[: -limit - 1 : -1] & _ROW
        table[0, : len(best)] = best
        return table
    whose = replicate_of[posts.column(AUTHOR)[found + first]].astype(np.int64)
    if int(key.max()) >> 52 == 0 and replicates < 1 << 10:
        key = np.sort((whose << 52) + ((1 << 52) - 1 - key))
        whose, key = key >> 52, (1 << 52) - 1 - (key & ((1 << 52) - 1))
    else:
        order = np.lexsort((-key, whose))
        whose, key = whose[order], key[order]
    place = np.arange(len(whose)) - np.searchsorted(whose, np.arange(replicates))[whose]
    keep = place < limit
    table[whose[keep], place[keep]] = key[keep] & _ROW
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
        return Shown(nobody, nobody, nobody, posts.table[:0])
    feed = ranking.of[agents]
    first = posts.first_row(np.maximum(society.seen[agents], tick - ranking.horizon[feed]))
    followed = society.last.take(society.follows.take(agents, axis=0), axis=0).reshape(len(agents), -1)
    replicate = society.replicate[agents] if len(society.replicate) else np.zeros(len(agents), np.int32)
    who, row = _since(followed, first)
    keys = [(who << 40) | (row << 1)]
    if ranking.most_hot:
        who, row = first_new(hot, replicate, first, ranking.hot[feed])
        keys.append((who << 40) | (row << 1) | 1)
    if ranking.most_explored:
        who, row = _since(_explored(society, draws, tick, agents, replicate, places, ranking.most_explored, ranking.explore[feed]), first)
        keys.append((who << 40) | (row << 1) | 1)
    # Sorting puts the copy that comes from a followed account first; the others are doubles.
    key = np.concatenate(keys)
    key.sort()
    fresh = np.empty(len(key), dtype=bool)
    fresh[:1] = True
    pair = key >> 1
    np.not_equal(pair[1:], pair[:-1], out=fresh[1:])
    key = key[fresh]
    who, row = key >> 40, (key >> 1) & _ROW
    reader, author = agents[who], posts.table[row, AUTHOR]
    keep = (author != reader) & (posts.table[row, BOOST] < 2)
    if ranking.hide:
        keep &= posts.table[row, REPORTS] < ranking.hide
    if len(society.mutes):
        keep &= ~pairs(society.mutes, reader, author)
    if hidden is not None:
        keep &= ~hidden[author]
    key, who, row, reader, author = key[keep], who[keep], row[keep], reader[keep], author[keep]
    follows = (key & 1) == 0
    # A followed account's post may have come another way.
    others = np.flatnonzero(~follows)
    known = society.follows.take(reader[others], axis=0) == author[others].astype(np.int32)[:, None]
    follows[others[np.flatnonzero(known) // known.shape[1]]] = True
    post = posts.table.take(row, axis=0)
    score = _scores(society, draws, settings, ranking, tick, reader, post, follows)
    order, place = best_first(
        who, _TOP - np.rint(score * _SCALE).astype(np.int64), len(agents), len(followed.T) + ranking.most_hot + ranking.most_explored
    )
    shown = place < ranking.posts[feed[who]]
    order = order[shown]
    return Shown(reader[order], row[order], place[shown], post.take(order, axis=0))


def best_first(who: I64, distance: I64, readers: int, most: int) -> tuple[I64, I64]:
    """(the order by reader and distance from the top, ties as they stand; the place of each for its reader). `who` is sorted.

    distance: below 2**40. most: how many one reader has at most.
    """
    start = np.searchsorted(who, np.arange(readers))[who]
    place = np.arange(len(who)) - start
    bits = most.bit_length()
    if readers.bit_length() + 40 + bits < 64:
        # One number says all, and numbers sort much faster than their places.
        key = (((who << 40) | distance) << bits) | place
        key.sort()
        return start + (key & ((1 << bits) - 1)), place
    return np.argsort((who << 40) | distance, kind="stable"), place


def pairs(sorted_pairs: I64, reader: Ints, author: Ints) -> Bools:
    """Whether each (reader, author) is among the pairs reader << 32 | author."""
    key = (reader.astype(np.int64) << 32) | author
    at = np.minimum(np.searchsorted(sorted_pairs, key), len(sorted_pairs) - 1)
    return np.asarray(sorted_pairs[at] == key, dtype=bool)


def _scores(
    society: Society, draws: Draws, settings: Settings, ranking: Ranking, tick: int, reader: Ints, post: I64, follows: Bools
) -> F64:
    heat = np.maximum(post[:, HEAT], 0)
    topic = post[:, TOPIC]
    about = np.maximum(topic, 0)
    alike = 1.0 - np.abs(society.x[reader, about] - post[:, STANCE]) * (0.5 / GRID)
    interest = society.interests[reader, about]
    if len(ranking.posts) == 1:
        weigh = ranking.single
    else:
        feed = ranking.of[reader]
        weigh = {name: getattr(ranking, name)[feed] for name in ranking.single}
    affinity = interest + weigh["similarity"] * (alike - interest)
    if len(topic) and int(topic.min()) < 0:
        affinity = np.where(topic < 0, 0.5, affinity)
    score = weigh["recency"] / (1.0 + (tick - post[:, TICK]) * weigh["fade"]) + weigh["popularity"] * (heat / (heat + 8.0))
    score += weigh["affinity"] * affinity
    score += (weigh["follow"] + settings.boost * (post[:, BOOST] == 1)) * follows
    score += weigh["noise"] * draws.pair_unit("feed", tick, reader, post[:, ID])
    return np.asarray(np.minimum(np.maximum(score, 0.0), 31.0), dtype=np.float64)


def _since(table: I64, first: Ints) -> tuple[I64, I64]:
    """(which reader, row) of what is in `table`, a line a reader, from row `first` of each on; by reader, in its order."""
    found = np.flatnonzero(table >= first[:, None])
    return found // table.shape[1], table.ravel().take(found)


def first_new(hot: I64, replicate: Ints, first: Ints, wanted: Ints) -> tuple[I64, I64]:
    """(which reader, row) of the first `wanted` of each reader's hot list that are new to it."""
    who, row = _since(hot.take(replicate, axis=0), first)
    place = np.arange(len(who)) - np.searchsorted(who, np.arange(len(first)))[who]
    keep = place < wanted[who]
    return who[keep], row[keep]


def _explored(
    society: Society, draws: Draws, tick: int, agents: Ints, replicate: Ints, places: Sequence[Ints], most: int, wanted: Ints
) -> I64:
    """The newest post of authors drawn at random, whatever others have posted meanwhile."""
    drawn = draws.several_units("explore", tick, agents, most)
    if len(places) == 1:
        author = places[0][(drawn * len(places[0])).astype(np.int64)]
    else:
        sizes = np.array([len(place) for place in places])
        starts = np.cumsum(sizes) - sizes
        author = np.concatenate(places)[starts[replicate][:, None] + (drawn * sizes[replicate][:, None]).astype(np.int64)]
    return np.where(np.arange(most) < wanted[:, None], society.last[author, 0], -1)
