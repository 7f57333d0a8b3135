"""What happened, as columns of whole numbers; words and tables are made of it afterwards.

A tick only appends what it has at hand; joining, looking up and sorting are done once, over the whole range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.world.draws import I64, Ints
from simflow.world.posts import AUTHOR, EVENT, ID, KIND, PARENT, ROOT, TARGET, TICK, TOPIC, Posts
from simflow.world.reactions import ANNOUNCEMENT

ACTS = {"id": "i8", "tick": "i4", "kind": "i1", "actor": "i4", "parent": "i8", "root": "i8", "target": "i4", "topic": "i2", "event": "i8"}
"""One row an episode; actor and target are rows of the society, -1 stands for none."""
_SHOWN = {"tick": "i4", "reader": "i4", "row": "i8", "rank": "i2", "contribution": "i8", "reaction": "i1"}
_STANCES = {"tick": "i4", "agent": "i4", "topic": "i2", "stance": "i8", "contributions": "i8", "self_term": "i8", "clip": "i8"}

Table = dict[str, npt.NDArray[Any]]


class Columns:
    """Batches of equally named columns, joined when asked for. Scalars stand for columns of one value."""

    def __init__(self, schema: dict[str, str]) -> None:
        self.schema = schema
        self._batches: list[tuple[int, dict[str, Any]]] = []

    def add(self, count: int, **columns: Ints | int) -> None:
        """Append a batch of `count` rows."""
        if count:
            self._batches.append((count, columns))

    def joined(self) -> Table:
        """All rows, in the order in which they were added."""
        sizes = [size for size, _ in self._batches]
        out: Table = {}
        for name, dtype in self.schema.items():
            parts = [batch[name] for _, batch in self._batches]
            if parts and not any(isinstance(part, np.ndarray) for part in parts):
                out[name] = np.repeat(np.array(parts, dtype), sizes)
            else:
                full = [p if isinstance(p, np.ndarray) else np.full(n, p, dtype) for n, p in zip(sizes, parts, strict=True)]
                out[name] = np.concatenate([np.empty(0, dtype), *full], dtype=dtype, casting="unsafe")
        return out


@dataclass(frozen=True, slots=True)
class Told:
    """A finished log: episodes, exposures and changes of stance as tables, and the posts that they refer to."""

    posts: Posts
    acts: Table
    shown: Table
    changes: Table


@dataclass(slots=True)
class Log:
    """The log of a range of ticks. `posts` holds every post that anything in it refers to; rows from `first` on are new."""

    posts: Posts
    first: int = 0
    deeds: Columns = field(default_factory=lambda: Columns(ACTS))
    views: Columns = field(default_factory=lambda: Columns(_SHOWN))
    moves: list[tuple[int, Ints, I64, I64, I64, I64]] = field(default_factory=list)
    stances: Columns = field(default_factory=lambda: Columns(_STANCES))

    @classmethod
    def after(cls, posts: Posts) -> Log:
        """An empty log over the posts so far."""
        return cls(Posts(posts.rows), posts.size)

    def told(self) -> Told:
        """Everything as tables."""
        return Told(self.posts, self.acts(), self.shown(), self.changes())

    def acts(self) -> Table:
        """Every episode: what events caused first, then by actor, then by kind."""
        deeds, new = self.deeds.joined(), self.posts.rows[self.first :]
        event = np.where(new[:, KIND] == ANNOUNCEMENT, new[:, EVENT], 0)
        columns = {"id": ID, "tick": TICK, "kind": KIND, "actor": AUTHOR, "parent": PARENT, "root": ROOT, "target": TARGET, "topic": TOPIC}
        rows = {n: np.concatenate([deeds[n], event if n == "event" else new[:, columns[n]]]).astype(t) for n, t in ACTS.items()}
        # One whole number a row stands for (tick, caused by no event, actor, kind and place).
        first = 2 * rows["tick"].astype(np.int64) + (rows["event"] == 0)
        order = np.argsort((first * (int(rows["actor"].max(initial=0)) + 1) + rows["actor"]) << 13 | (rows["id"] & 0x1FFF), kind="stable")
        return {name: column[order] for name, column in rows.items()}

    def shown(self) -> Table:
        """Every exposure, with the id, author and topic of what was shown."""
        rows = self.views.joined()
        where = rows.pop("row")
        posts = self.posts.rows
        return rows | {
            "episode": posts[where, ID],
            "author": posts[where, AUTHOR].astype(np.int32),
            "topic": posts[where, TOPIC].astype(np.int16),
        }

    def changes(self) -> Table:
        """Every change of stance with its reasons, in the order of ticks, agents and topics."""
        for tick, agents, new, contributions, self_term, clip in self.moves:
            topics = new.shape[1]
            moved = np.flatnonzero((contributions | self_term | clip) != 0)
            at = moved // topics
            self.stances.add(
                len(at),
                tick=tick,
                agent=agents[at],
                topic=moved - at * topics,
                stance=new.take(moved),
                contributions=contributions.take(moved),
                self_term=self_term.take(moved),
                clip=clip.take(moved),
            )
        self.moves = []
        rows = self.stances.joined()
        place = rows["tick"] * (int(rows["agent"].max(initial=0)) + 1) + rows["agent"].astype(np.int64)
        place = place * (int(rows["topic"].max(initial=0)) + 1) + rows["topic"]
        if np.all(place[1:] >= place[:-1]):
            return rows
        order = np.argsort(place, kind="stable")
        return {name: column[order] for name, column in rows.items()}
