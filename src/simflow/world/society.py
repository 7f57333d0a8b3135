"""The world's memory between ticks: agents, follow graph, posts; to and from the plain arrays of a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from simflow.ports import State
from simflow.world.draws import F64, I64, Draws, Ints
from simflow.world.population import NEVER, VOICE, Residents
from simflow.world.posts import Posts

ROW = (1 << 36) - 1
"""The part of a number of `Society.shown` that is a row."""
SPARE = 8
"""Places that each resident has for following more accounts than at the start."""


@dataclass(slots=True)
class Society:
    """Arrays of one row an agent, in the order of arrival; `last` has one row more, for "nobody" (-1).

    `limit` (1,) is how many accounts one may come to follow; the table of followees may be wider. `member` (agents, places) holds groups, -1 where
    free. `shown`, sorted, holds reader << 36 | row of what was shown, and `pulse` (acts, 2) the tick and row of what was acted on, each only
    where the platform needs it and as long as the post can be read. With replicates stacked, rows are replicate after replicate (later
    arrivals at the end): `replicate` and `local` say whose and which, `group_start` where the groups of each begin.
    """

    persona: Ints
    person: Ints
    voice: I64
    x: I64
    x0: I64
    susceptibility: F64
    stubbornness: F64
    confidence: F64
    rejection: F64
    contrarian: Ints
    activity: F64
    propensity: F64
    talk: F64
    interests: F64
    authority: F64
    phase: Ints
    joined: Ints
    left: Ints
    seen: Ints
    said: Ints
    follows: Ints
    last: I64
    mutes: I64
    fired: I64
    limit: Ints
    member: Ints
    shown: I64
    pulse: I64
    posts: Posts
    replicate: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    local: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    group_start: Ints = field(default_factory=lambda: np.zeros(1, np.int32))

    @property
    def count(self) -> int:
        """Agents so far, voices among them."""
        return len(self.persona)

    def draws(self, seeds: Sequence[int]) -> Draws:
        """Keyed draws for these rows."""
        return Draws(seeds) if len(seeds) == 1 else Draws(seeds, self.replicate, self.local)

    def add(self, new: Residents, authority: F64) -> Ints:
        """Append residents of one replicate (the only one); their rows."""
        count, cap = len(new.persona), self.follows.shape[1]
        first = self.count
        for name in ("persona", "person", "susceptibility", "stubbornness", "confidence", "rejection", "contrarian", "activity"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(new, name)]))
        for name in ("propensity", "talk", "interests", "phase", "joined", "left"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(new, name)]))
        self.voice = np.concatenate([self.voice, np.zeros(count, np.int64)])
        self.x = np.concatenate([self.x, new.stance])
        self.x0 = np.concatenate([self.x0, new.stance])
        self.authority = np.concatenate([self.authority, authority])
        self.seen = np.concatenate([self.seen, new.joined])
        self.said = np.concatenate([self.said, np.zeros(count, np.int32)])
        self.follows = np.concatenate([self.follows, np.full((count, cap), -1, np.int32)])
        self.last = np.concatenate([self.last, np.full((count, self.last.shape[1]), -1, np.int64)])
        self.member = np.concatenate([self.member, np.full((count, self.member.shape[1]), -1, np.int32)])
        return np.arange(first, first + count)

    def add_voice(self, key: int, tick: int, authority: float) -> int:
        """Append an account that acts only through events; its row."""
        topics = self.x.shape[1]
        zero = np.zeros((1, topics))
        only = Residents(
            persona=np.full(1, VOICE, np.int16),
            person=np.full(1, -1, np.int32),
            stance=np.zeros((1, topics), np.int64),
            susceptibility=zero,
            stubbornness=zero,
            confidence=np.zeros(1),
            rejection=np.zeros(1),
            contrarian=np.zeros(1, np.int8),
            activity=np.zeros(1),
            propensity=np.zeros(1),
            talk=np.zeros(1),
            interests=np.full((1, topics), 1.0 / topics),
            phase=np.zeros(1, np.int8),
            joined=np.full(1, tick, np.int32),
            left=np.full(1, NEVER, np.int32),
        )
        row = int(self.add(only, np.full(1, authority))[0])
        self.voice[row] = key
        return row

    def follow(self, followers: Ints, followee: int) -> None:
        """Let `followers` follow one account, making room where there is none."""
        followers = followers[(self.follows[followers] != followee).all(axis=1)]
        free = (self.follows[followers] < 0).any(axis=1)
        if not free.all():
            self.follows = np.pad(self.follows, ((0, 0), (0, 4)), constant_values=-1)
        slot = (self.follows[followers] < 0).argmax(axis=1)
        self.follows[followers, slot] = followee

    def forget(self, before: int) -> None:
        """Drop posts before a tick."""
        if cut := self.posts.drop_before(before):
            self.last = np.where(self.last >= cut, self.last - cut, -1)
            self.shown = self.shown[(self.shown & ROW) >= cut] - cut
            self.pulse = self.pulse[self.pulse[:, 1] >= cut] - np.array([0, cut])

    def state(self) -> State:
        """As plain arrays; the same society gives the same bytes."""
        arrays: State = {name: np.ascontiguousarray(getattr(self, name)) for name in AGENT_COLUMNS}
        used = int(np.flatnonzero((self.follows >= 0).any(axis=0)).max(initial=-1)) + 1
        arrays["follows"] = np.ascontiguousarray(self.follows[:, : max(used, int(self.limit[0]))])
        arrays["posts"] = self.posts.rows.copy()
        return arrays

    @classmethod
    def load(cls, state: State, tick: int) -> Society:
        """From the arrays of a state at `tick`, which stay untouched."""
        return cls(**{name: state[name].copy() for name in AGENT_COLUMNS}, posts=Posts(state["posts"], tick))


AGENT_COLUMNS = tuple(f.name for f in fields(Society) if f.name not in {"posts", "replicate", "local", "group_start"})
"""Arrays of a state that are not posts."""


def place(edges: tuple[Ints, Ints], count: int, cap: int) -> Ints:
    """Followees of each as rows of a (count, cap) table, -1 where free; edges sorted by follower, at most `cap` each are kept."""
    source, target = edges
    table = np.full((count, cap), -1, np.int32)
    if len(source):
        starts = np.searchsorted(source, np.arange(count))
        slot = np.arange(len(source)) - starts[source]
        keep = slot < cap
        table[source[keep], slot[keep]] = target[keep]
    return table


def authority(table: Ints, count: int) -> F64:
    """Between .5 and 1.5 by followers: .5 + d / (d + mean d), in steps of 2**-16 so that sums are exact in any order."""
    degrees = np.bincount(table[table >= 0], minlength=count).astype(np.float64)
    mean = max(1.0, float(degrees.sum()) / max(1, count))
    return np.rint((0.5 + degrees / (degrees + mean)) * 65536.0) / 65536.0
