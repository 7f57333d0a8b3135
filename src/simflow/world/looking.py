"""Looking beyond the feed: a search for a topic, a look at the trends. What anybody was shown before is not shown again.

A feed needs no memory of what it showed, since it only reaches back to the last session. A search reaches back as far as posts can be read,
so that platforms with one keep who was shown what in `Society.shown`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simflow.world.draws import I64, Bools, Draws, Ints
from simflow.world.feed import Ranking, Shown, arranged, pairs
from simflow.world.posts import AUTHOR, BOOST, HEAT, REPORTS, TOPIC
from simflow.world.reactions import SEARCH, TREND, Rates
from simflow.world.society import Society
from simflow.world.writing import drawn

LISTED = 32
"""Length of a page of results, from which each reader is shown what is new to it."""


@dataclass(frozen=True, slots=True)
class Look:
    """Who looked, of what kind, for which topic (-1: trends), and the page of rows that each found, best first, -1 where shorter."""

    kind: int
    agents: Ints
    topic: Ints
    page: I64


def wanted(rates: Rates) -> bool:
    """Whether anybody ever looks beyond the feed."""
    return rates.of[SEARCH] > 0.0 or rates.of[TREND] > 0.0


def looks(
    society: Society, draws: Draws, rates: Rates, ranking: Ranking, tick: int, span: int, active: Ints, hidden: Bools | None
) -> list[Look]:
    """Searches, then looks at the trends, at `tick`. span: ticks whose acts make a trend."""
    found = []
    whose = society.replicate[active] if len(society.replicate) else np.zeros(len(active), np.int64)
    lists = int(whose.max(initial=0)) + 1
    topics = society.x.shape[1]
    start = int(society.posts.first_row(np.array([tick - int(ranking.horizon.max())]))[0])
    if rates.of[SEARCH] > 0.0:
        at = np.flatnonzero(draws.unit("search", tick, active) < rates.of[SEARCH])
        if len(at):
            topic = drawn(draws, "search for", tick, active[at], np.cumsum(society.interests[active[at]], axis=1))
            row = np.arange(start, society.posts.size)
            row = row[society.posts.column(TOPIC)[start:] >= 0]
            post = society.posts.table[row]
            owner = _owner(society, post) * topics + post[:, TOPIC]
            score = np.maximum(post[:, HEAT], 0)
            page = _pages(society, ranking, row, owner, score, lists * topics, hidden)
            found.append(Look(SEARCH, active[at], topic, page[whose[at] * topics + topic]))
    if rates.of[TREND] > 0.0:
        at = np.flatnonzero(draws.unit("trend", tick, active) < rates.of[TREND])
        if len(at):
            since = int(np.searchsorted(society.pulse[:, 0], tick - span))
            row, count = np.unique(society.pulse[since:, 1], return_counts=True)
            count, row = count[row >= start], row[row >= start]
            page = _pages(society, ranking, row, _owner(society, society.posts.table[row]), count, lists, hidden)
            found.append(Look(TREND, active[at], np.full(len(at), -1), page[whose[at]]))
    return found


def results(society: Society, ranking: Ranking, tick: int, look: Look, before: I64, most: int) -> tuple[Ints, Ints]:
    """(reader, row) of what is new to those who looked, at most `most` each. before: sorted `Society.shown` of this session so far."""
    agents = look.agents
    if not society.posts.size:
        return agents[:0], agents[:0]
    first = society.posts.first_row(tick - ranking.horizon[ranking.of[agents]])
    author = society.posts.table[np.maximum(look.page, 0), AUTHOR]
    new = (look.page >= first[:, None]) & (author != agents[:, None])
    who, place = np.nonzero(new)
    reader, row = agents[who], look.page[who, place]
    keep = ~known(society.shown, reader, row) & ~known(before, reader, row)
    if len(society.mutes):
        keep &= ~pairs(society.mutes, reader, author[who, place])
    reader, row, who = reader[keep], row[keep], who[keep]
    few = np.arange(len(who)) - np.searchsorted(who, who) < most
    return reader[few], row[few]


def beside(society: Society, ranking: Ranking, tick: int, shown: Shown, found: list[Look], most: int) -> Shown:
    """What is shown in all, results after the feed; and it is remembered that it was."""
    parts = [(shown.reader, shown.row)]
    before = _numbers(*parts[0])
    for look in found:
        parts.append(results(society, ranking, tick, look, before, most))
        before = np.sort(np.concatenate([before, _numbers(*parts[-1])]))
    society.shown = np.sort(np.concatenate([society.shown, before]), kind="stable")
    return arranged(society.posts, *parts) if len(before) > len(shown.reader) else shown


def known(numbers: I64, reader: Ints, row: Ints) -> Bools:
    """Whether each (reader, row) is among sorted numbers reader << 36 | row."""
    if not len(numbers):
        return np.zeros(len(reader), dtype=bool)
    asked = (reader.astype(np.int64) << 36) | row
    at = np.minimum(np.searchsorted(numbers, asked), len(numbers) - 1)
    return np.asarray(numbers[at] == asked, dtype=bool)


def _numbers(reader: Ints, row: Ints) -> I64:
    return np.sort((reader.astype(np.int64) << 36) | row)


def _owner(society: Society, post: I64) -> I64:
    return society.replicate[post[:, AUTHOR]].astype(np.int64) if len(society.replicate) else np.zeros(len(post), np.int64)


def _pages(society: Society, ranking: Ranking, row: Ints, owner: I64, score: Ints, count: int, hidden: Bools | None) -> I64:
    """The best `LISTED` public rows of each of `count` owners: (count, LISTED), higher scores first, then newer; -1 where fewer."""
    page = np.full((count, LISTED), -1, np.int64)
    post = society.posts.table[row]
    keep = (post[:, BOOST] < 2) & (owner < count)
    if ranking.hide:
        keep &= post[:, REPORTS] < ranking.hide
    if hidden is not None:
        keep &= ~hidden[post[:, AUTHOR]]
    row, owner, score = row[keep], owner[keep], score[keep]
    order = np.lexsort((-row, -score, owner))
    row, owner = row[order], owner[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    best = place < LISTED
    page[owner[best], place[best]] = row[best]
    return page
