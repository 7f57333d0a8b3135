"""What readers do with what they were shown: one categorical draw an exposure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simflow.world.draws import GRID, I64, Draws, Ints
from simflow.world.posts import BOOST, ID, KIND, PRIVATE, STANCE, TOPIC
from simflow.world.settings import Settings
from simflow.world.society import Society

KINDS = (
    *("post", "reply", "repost", "quote", "like", "dislike", "follow", "unfollow", "mute", "join", "leave", "announcement"),
    *("report", "message", "group", "search", "trend", "hidden"),
)
"""Kinds by code; an announcement is a post that an event made, hidden what reports brought about."""
POST, REPLY, REPOST, QUOTE, LIKE, DISLIKE, FOLLOW, UNFOLLOW, MUTE, JOIN, LEAVE, ANNOUNCEMENT = range(12)
REPORT, MESSAGE, TO_GROUP, SEARCH, TREND, HIDDEN = range(12, 18)
NOTHING = -1
_CODES = np.array([LIKE, DISLIKE, REPLY, REPOST, QUOTE, NOTHING])


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates by kind code, 0 for what the platform does not offer."""

    of: tuple[float, ...]

    @classmethod
    def on(cls, settings: Settings, actions: tuple[str, ...]) -> Rates:
        """The rates of a platform that offers `actions`."""
        return cls(tuple(getattr(settings, kind, 0.0) if kind in actions else 0.0 for kind in KINDS))


def react(society: Society, draws: Draws, settings: Settings, rates: Rates, tick: int, reader: Ints, post: I64, shown: Ints) -> Ints:
    """A kind code for each exposure, or -1. `shown`: how many posts the reader's feed shows; a longer feed is skimmed.

    Of replies, reposts and quotes a session makes at most one each; `reader` is sorted.
    Agreement 1 - |difference| / 2 drives likes and shares, its absence dislikes, both ends replies; interest and extremity add.
    """
    topic = post[:, TOPIC]
    about = np.maximum(topic, 0)
    topics = society.x.shape[1]
    stance = post[:, STANCE]
    agreement = 1.0 - np.abs(stance - society.x[reader, about]) * (0.5 / GRID)
    interest = 0.3 + np.minimum(1.0, society.interests[reader, about] * (topics / 3.0))
    if len(topic) and int(topic.min()) < 0:
        agreement = np.where(topic < 0, 0.5, agreement)
        interest = np.where(topic < 0, 0.3 + 1.0 / 3.0, interest)
    attention = interest * np.minimum(1.0, settings.attention / shown)
    spoken = attention * society.talk[reader] * (0.5 + np.abs(stance) * (0.5 / GRID))
    square = agreement * agreement
    apart = 1.0 - agreement
    of = rates.of
    ends = np.empty((5, len(reader)))
    np.multiply(attention * square, of[LIKE], out=ends[0])
    np.multiply(attention * apart * apart, of[DISLIKE], out=ends[1])
    np.multiply(spoken * np.maximum(agreement, apart), of[REPLY], out=ends[2])
    np.multiply(spoken * square * square, of[REPOST], out=ends[3])
    np.multiply(spoken, of[QUOTE], out=ends[4])
    np.cumsum(ends, axis=0, out=ends)
    u = draws.pair_unit("act", tick, reader, post[:, ID])
    kind = np.asarray(_CODES[(ends <= u).sum(axis=0)], dtype=np.int64)
    for code in (REPLY, REPOST, QUOTE):
        at = np.flatnonzero(kind == code)
        kind[at[1:][reader[at[1:]] == reader[at[:-1]]]] = NOTHING
    return kind


def settle(draws: Draws, rates: Rates, tick: int, reader: Ints, post: I64, kind: Ints) -> Ints:
    """Reactions as this platform has them: some dislikes become reports, and what is private stays so.

    A message or a post in a group can be answered, where it stands; it cannot be shared, and a message cannot be liked. Overwrites `kind`.
    """
    if rates.of[REPORT] > 0.0:
        angry = np.flatnonzero(kind == DISLIKE)
        told = draws.pair_unit("report", tick, reader[angry], post[angry, ID]) < rates.of[REPORT]
        kind[angry[told]] = REPORT
    if rates.of[MESSAGE] > 0.0 or rates.of[TO_GROUP] > 0.0:
        mail = np.flatnonzero((post[:, BOOST] == PRIVATE) & (kind >= 0))
        kind[mail] = in_private(post[mail, KIND], kind[mail])
    return kind


def in_private(written: Ints, kind: Ints) -> Ints:
    """What each reaction `kind` to a message or a post in a group is there; -1 for what cannot be. written: MESSAGE or TO_GROUP."""
    kept = (written == TO_GROUP) & np.isin(kind, (LIKE, DISLIKE, REPORT))
    return np.where(kind == REPLY, written, np.where(kept, kind, NOTHING))


def first_each(reader: Ints, flag: Ints) -> Ints:
    """Places where `flag` holds for the first time for its reader; `reader` is sorted in runs."""
    at = np.flatnonzero(flag)
    if len(at) < 2:
        return at
    whose = reader[at]
    fresh = np.ones(len(at), dtype=bool)
    fresh[1:] = whose[1:] != whose[:-1]
    return at[fresh]
