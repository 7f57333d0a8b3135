"""What readers do with what they were shown: one categorical draw an exposure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simflow.world.draws import GRID, Draws, Ints
from simflow.world.settings import Settings
from simflow.world.society import Society

KINDS = ("post", "reply", "repost", "quote", "like", "dislike", "follow", "unfollow", "mute", "join", "leave", "announcement")
"""Kinds by the code that is part of an episode's key; an announcement is a post that an event made."""
POST, REPLY, REPOST, QUOTE, LIKE, DISLIKE, FOLLOW, UNFOLLOW, MUTE, JOIN, LEAVE, ANNOUNCEMENT = range(12)
NOTHING = -1
_ORDER = (LIKE, DISLIKE, REPLY, REPOST, QUOTE)


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates by kind code, 0 for what the platform does not offer."""

    of: tuple[float, ...]

    @classmethod
    def on(cls, settings: Settings, actions: tuple[str, ...]) -> Rates:
        """The rates of a platform that offers `actions`."""
        return cls(tuple(getattr(settings, kind, 0.0) if kind in actions else 0.0 for kind in KINDS))


def react(society: Society, draws: Draws, settings: Settings, rates: Rates, tick: int, reader: Ints, row: Ints, shown: Ints) -> Ints:
    """A kind code for each exposure, or -1. `shown`: how many posts the reader's feed shows; a longer feed is skimmed.

    Agreement 1 - |difference| / 2 drives likes and shares, its absence dislikes, both ends replies; interest and extremity add.
    """
    posts = society.posts
    topic = posts["topic"][row]
    about = np.maximum(topic, 0)
    topics = society.x.shape[1]
    stance = posts["stance"][row] / GRID
    agreement = np.where(topic < 0, 0.5, 1.0 - np.abs(stance - society.x[reader, about] / GRID) / 2.0)
    interest = 0.3 + np.where(topic < 0, 1.0 / 3.0, np.minimum(1.0, society.interests[reader, about] * (topics / 3.0)))
    extremity = 0.5 + 0.5 * np.abs(stance)
    attention = interest * np.minimum(1.0, settings.attention / shown)
    spoken = attention * extremity * society.talk[reader]
    square = agreement * agreement
    apart = 1.0 - agreement
    chances = {
        LIKE: attention * square,
        DISLIKE: attention * apart * apart,
        REPLY: spoken * np.maximum(agreement, apart),
        REPOST: spoken * square * square,
        QUOTE: spoken,
    }
    u = draws.pair_unit("act", tick, reader, posts["id"][row])
    kind = np.full(len(row), NOTHING, np.int64)
    end = np.zeros(len(row))
    for code in _ORDER:
        start = end
        end = end + rates.of[code] * chances[code]
        kind[(u >= start) & (u < end)] = code
    return kind


def first_each(reader: Ints, flag: Ints) -> Ints:
    """Places where `flag` holds for the first time for its reader; `reader` is sorted in runs."""
    at = np.flatnonzero(flag)
    if len(at) < 2:
        return at
    whose = reader[at]
    fresh = np.ones(len(at), dtype=bool)
    fresh[1:] = whose[1:] != whose[:-1]
    return at[fresh]
