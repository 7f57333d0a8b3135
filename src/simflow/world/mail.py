"""What only some may see: messages, which their recipient is shown, and posts in a group, which its members are shown."""

from __future__ import annotations

import numpy as np

from simflow.world.draws import F64, I64, Bools, Draws, Ints
from simflow.world.feed import Ranking, pairs
from simflow.world.posts import AUTHOR, BOOST, GROUP, KIND, PRIVATE, REPORTS, TARGET
from simflow.world.reactions import MESSAGE, TO_GROUP
from simflow.world.society import ROW, Society
from simflow.world.writing import Desk

MESSAGES, IN_GROUP = 8, 4
"""How many messages, and posts in groups, a session opens: the newest ones since the last session. Older ones stay unread."""


def inbox(society: Society, ranking: Ranking, tick: int, agents: Ints, hidden: Bools | None) -> tuple[Ints, Ints] | None:
    """(reader, row) of what waits for `agents`, messages first, the newest of each first; None if nothing does."""
    posts = society.posts
    start = int(posts.first_row(np.array([tick - int(ranking.horizon.max())]))[0])
    row = np.flatnonzero(posts.column(BOOST)[start:] == PRIVATE) + start
    if not len(row) or not len(agents):
        return None
    first = posts.first_row(np.maximum(society.seen[agents], tick - ranking.horizon[ranking.of[agents]]))
    told = posts.table[row, KIND] == MESSAGE
    parts = [_newest(posts.table[row[told], TARGET], row[told], agents, agents, first, MESSAGES)]
    for place in range(society.member.shape[1]):
        inside = np.flatnonzero(society.member[agents, place] >= 0)
        group = society.member[agents[inside], place].astype(np.int64)
        parts.append(_newest(posts.table[row[~told], GROUP], row[~told], group, agents[inside], first[inside], IN_GROUP))
    reader, found = (np.concatenate(column) for column in zip(*parts, strict=True))
    post = posts.table[found]
    keep = post[:, AUTHOR] != reader
    if len(society.mutes):
        keep &= ~pairs(society.mutes, reader, post[:, AUTHOR])
    if hidden is not None:
        keep &= ~hidden[post[:, AUTHOR]]
    if ranking.hide:
        keep &= post[:, REPORTS] < ranking.hide
    reader, found, post = reader[keep], found[keep], post[keep]
    chat = post[:, KIND] != MESSAGE
    order = np.lexsort((-found, chat, reader))
    reader, found, chat = reader[order], found[order], chat[order]
    # Somebody in several groups opens as many of their posts as somebody in one.
    which = (reader << 1) | chat
    place = np.arange(len(which)) - np.searchsorted(which, which)
    few = ~chat | (place < IN_GROUP)
    reader, found = reader[few], found[few]
    return (reader, found) if len(reader) else None


def send(desk: Desk, active: Ints, present: Bools, salience: F64) -> None:
    """Messages and posts in groups of those who had a session.

    active: sorted. present: by row, who can be written to. salience: (active, topics), how much is talked about each.
    """
    society, draws, tick = desk.society, desk.draws, desk.tick
    if (rate := desk.rates.of[MESSAGE]) > 0.0:
        sender = active[draws.unit("message", tick, active) < rate]
        to = _one_of(draws, "to whom", tick, sender, society.follows[sender])
        reached = (to >= 0) & present[to]
        if len(society.mutes):
            reached &= ~pairs(society.mutes, to, sender)
        sender, to = sender[reached], to[reached]
        desk.in_private(sender, MESSAGE, salience[np.searchsorted(active, sender)], to, np.full(len(sender), -1))
    if (rate := desk.rates.of[TO_GROUP]) > 0.0:
        author = active[draws.unit("group", tick, active) < rate]
        group = _one_of(draws, "which group", tick, author, society.member[author])
        author, group = author[group >= 0], group[group >= 0]
        desk.in_private(author, TO_GROUP, salience[np.searchsorted(active, author)], np.full(len(author), -1), group)


def _one_of(draws: Draws, purpose: str, tick: int, agents: Ints, table: Ints) -> I64:
    """One value of each row of `table`, drawn at random among those that are not negative; -1 where there is none."""
    if not len(agents):
        return np.empty(0, np.int64)
    taken = table >= 0
    nth = (draws.unit(purpose, tick, agents) * taken.sum(axis=1)).astype(np.int64)
    at = (np.cumsum(taken, axis=1) > nth[:, None]).argmax(axis=1)
    return np.asarray(table[np.arange(len(agents)), at], dtype=np.int64)


def _newest(owner: Ints, row: Ints, wanted: Ints, agents: Ints, first: Ints, most: int) -> tuple[Ints, Ints]:
    """(reader, row) of the newest `most` rows from `first` on of each wanted owner; `row` ascends."""
    box = np.sort((owner.astype(np.int64) << 36) | row)
    end = np.searchsorted(box, (wanted.astype(np.int64) + 1) << 36)
    begin = np.searchsorted(box, (wanted.astype(np.int64) << 36) | first)
    at = end[:, None] - 1 - np.arange(most)
    who, which = np.nonzero(at >= begin[:, None])
    return agents[who], box[at[who, which]] & ROW
