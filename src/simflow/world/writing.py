"""What a tick adds: posts, reactions, follows; gathered, given ids, logged, committed together at its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from simflow.plan import Cell
from simflow.world.draws import F64, GRID, I64, Bools, Draws, Ints, bell, grid
from simflow.world.feed import Shown
from simflow.world.log import Log
from simflow.world.opinion import ONE
from simflow.world.posts import COLUMNS
from simflow.world.reactions import (
    ANNOUNCEMENT,
    DISLIKE,
    FOLLOW,
    LIKE,
    MUTE,
    POST,
    QUOTE,
    REPLY,
    REPOST,
    UNFOLLOW,
    Rates,
    first_each,
)
from simflow.world.settings import Settings
from simflow.world.society import Society

ALONE = 2
"""Relation of what answers nobody."""


def key(local: Ints, tick: int, kind: Ints | int, slot: Ints | int = 0) -> I64:
    """Content keys: agent (26 bits), tick (24), kind (4), slot (9). At most one episode each."""
    return (local.astype(np.int64) << 37) | (tick << 13) | (np.asarray(kind, np.int64) << 9) | slot


class Desk:
    """One tick's writing."""

    def __init__(self, cell: Cell, settings: Settings, rates: Rates, society: Society, draws: Draws, log: Log, tick: int) -> None:
        self.cell, self.settings, self.rates = cell, settings, rates
        self.society, self.draws, self.log, self.tick = society, draws, log, tick
        self._posts: list[dict[str, Any]] = []
        self._acts: list[dict[str, Any]] = []
        self._announced = 0
        self._follow: tuple[Ints, Ints] | None = None
        self._unfollow: tuple[Ints, Ints] | None = None

    def announce(self, announced: list[dict[str, Any]]) -> None:
        """Posts and moments that events make, before everything else."""
        for one in announced:
            if one["kind"] == ANNOUNCEMENT:
                self._add_posts(**{"parent": -1, "target": -1, **one})
            else:
                self._add_acts(**one)
        self._announced = len(announced)

    def post(self, active: Ints, salience: F64) -> None:
        """Own posts of those who had a session."""
        if self.rates.of[POST] <= 0.0 or not len(active):
            return
        society, draws, tick = self.society, self.draws, self.tick
        pull = np.cumsum(society.interests[active] * salience, axis=1)
        wants = draws.unit("post", tick, active) < society.propensity[active] * pull[:, -1]
        author, pull = active[wants], pull[wants]
        if not len(author):
            return
        aim = draws.unit("topic", tick, author) * pull[:, -1]
        topic = np.minimum((pull <= aim[:, None]).sum(axis=1), pull.shape[1] - 1)
        ids = key(self._local(author), tick, POST)
        person, saying = self._own_words(author)
        self._add_posts(
            id=ids,
            author=author,
            topic=topic,
            stance=self._said(author, topic, POST),
            kind=POST,
            root=ids,
            relation=ALONE,
            words=ids,
            words_kind=POST,
            event=0,
            person=person,
            saying=saying,
            boost=0,
            parent=-1,
            target=-1,
        )

    def react(self, shown: Shown, kind: Ints) -> None:
        """Reactions to what was shown. Of replies, reposts and quotes a session makes at most one each."""
        for code in (REPLY, QUOTE, REPOST):
            self._answer(shown, first_each(shown.reader, kind == code), code)
        posts = self.society.posts
        at = np.flatnonzero((kind == LIKE) | (kind == DISLIKE))
        reader, row = shown.reader[at], shown.row[at]
        self._add_acts(
            id=key(self._local(reader), self.tick, kind[at], shown.rank[at]),
            kind=kind[at],
            actor=reader,
            parent=posts["id"][row],
            root=posts["root"][row],
            target=posts["author"][row],
            topic=posts["topic"][row],
            event=0,
        )
        np.add.at(posts["score"], row, np.where(kind[at] == LIKE, 1, -1).astype(np.int32))
        pleased = (kind == LIKE) | (kind == REPOST)
        self._tie(shown, pleased, FOLLOW)
        angry = kind == DISLIKE
        self._tie(shown, angry, UNFOLLOW)
        self._tie(shown, angry, MUTE)

    def commit(self) -> None:
        """Give rows to the posts, log everything in its order, and change the follow graph."""
        society = self.society
        if self._posts:
            rows = {name: np.concatenate([part[name] for part in self._posts]) for name in self._posts[0]}
            order = np.argsort((rows["author"].astype(np.int64) << 13) | (rows["id"] & 0x1FFF), kind="stable")
            # What events announce stands first.
            order = order[np.argsort(rows["kind"][order] != ANNOUNCEMENT, kind="stable")]
            rows = {name: column[order] for name, column in rows.items()}
            stored = {name: rows[name] for name in COLUMNS if name in rows}
            stored |= {name: np.zeros(len(order), np.int32) for name in ("score", "shares")}
            stored["tick"] = np.full(len(order), self.tick, np.int32)
            first = society.posts.append(stored)
            self.log.posts.append(stored)
            self._remember(rows["author"], first)
        self._log()
        for change, forget in ((self._unfollow, True), (self._follow, False)):
            if change is None:
                continue
            reader, author = change
            if forget:
                at = (society.follows[reader] == author[:, None]).argmax(axis=1)
                society.follows[reader, at] = -1
            else:
                at = (society.follows[reader] < 0).argmax(axis=1)
                society.follows[reader, at] = author

    def _answer(self, shown: Shown, at: Ints, code: int) -> None:
        if not len(at):
            return
        posts, tick = self.society.posts, self.tick
        author, row = shown.reader[at], shown.row[at]
        ids = key(self._local(author), tick, code)
        parent_topic, parent_stance = posts["topic"][row], posts["stance"][row]
        if code == REPOST:
            topic, stance, relation = parent_topic, parent_stance, posts["relation"][row]
            words, words_kind, event = posts["words"][row], posts["words_kind"][row], posts["event"][row]
            person, saying = posts["person"][row], posts["saying"][row]
        else:
            topic = np.where(parent_topic < 0, self.society.interests[author].argmax(axis=1), parent_topic)
            stance = self._said(author, topic, code)
            apart = np.abs(stance - parent_stance) / GRID
            relation = np.where(apart < self.settings.agree, 1, np.where(apart > self.settings.disagree, -1, 0))
            relation = np.where(parent_topic < 0, 0, relation)
            none = np.full(len(at), -1, np.int32)
            words, words_kind, event, person, saying = ids, code, np.zeros(len(at), np.int64), none, none
        if code != REPLY:
            np.add.at(posts["shares"], row, 1)
        self._add_posts(
            id=ids,
            author=author,
            topic=topic,
            stance=stance,
            kind=code,
            root=posts["root"][row],
            relation=relation,
            words=words,
            words_kind=words_kind,
            event=event,
            person=person,
            saying=saying,
            boost=0,
            parent=posts["id"][row],
            target=posts["author"][row],
        )

    def _tie(self, shown: Shown, moved: Bools, code: int) -> None:
        """Follow after pleasure, unfollow or mute after anger; at most one of each in a session."""
        rate = self.rates.of[code]
        at = np.flatnonzero(moved)
        if rate <= 0.0 or not len(at):
            return
        society = self.society
        reader, row = shown.reader[at], shown.row[at]
        author = society.posts["author"][row]
        wants = self.draws.pair_unit(f"tie/{code}", self.tick, reader, society.posts["id"][row]) < rate
        if not wants.any():
            return
        follows = society.follows[reader]
        known = (follows == author[:, None]).any(axis=1)
        if code == FOLLOW:
            wants &= ~known & (follows < 0).any(axis=1)
        elif code == UNFOLLOW:
            wants &= known
        once = first_each(reader, wants)
        if not len(once):
            return
        reader, author = reader[once], author[once]
        if code == FOLLOW:
            self._follow = (reader, author)
        elif code == UNFOLLOW:
            self._unfollow = (reader, author)
        else:
            society.mutes = np.union1d(society.mutes, (reader.astype(np.int64) << 32) | author)
        self._add_acts(
            id=key(self._local(reader), self.tick, code),
            kind=code,
            actor=reader,
            parent=-1,
            root=-1,
            target=author,
            topic=-1,
            event=0,
        )

    def _said(self, author: Ints, topic: Ints, code: int) -> I64:
        """The stance as expressed: the present one with noise."""
        noise = bell(self.draws.pair_bits("say", self.tick, author, np.full(len(author), code)))
        return np.clip(self.society.x[author, topic] + grid(self.cell.dynamics.noise * noise), -ONE, ONE)

    def _own_words(self, author: Ints) -> tuple[Ints, Ints]:
        """(person, saying) of those who still have words of their own from a people file."""
        society = self.society
        person = np.full(len(author), -1, np.int32)
        saying = np.full(len(author), -1, np.int32)
        if not self.cell.people:
            return person, saying
        for at in np.flatnonzero(society.person[author] >= 0):
            who = author[at]
            one = self.cell.people[society.person[who]]
            if society.said[who] < len(one.posts):
                person[at], saying[at] = society.person[who], society.said[who]
                society.said[who] += 1
        return person, saying

    def _local(self, rows: Ints) -> Ints:
        return self.society.local[rows] if len(self.society.local) else rows

    def _add_posts(self, **columns: Any) -> None:
        size = len(columns["id"])
        whole = {n: c if isinstance(c, np.ndarray) else np.full(size, c, np.int64) for n, c in columns.items()}
        self._posts.append(whole)
        episode = {n: whole[n] for n in ("id", "kind", "parent", "root", "target", "topic")}
        event = np.where(whole["kind"] == ANNOUNCEMENT, whole["event"], 0)
        self._add_acts(**episode, actor=whole["author"], event=event)

    def _add_acts(self, **columns: Any) -> None:
        size = len(columns["id"])
        if size:
            self._acts.append({n: c if isinstance(c, np.ndarray) else np.full(size, c, np.int64) for n, c in columns.items()})

    def _log(self) -> None:
        if not self._acts:
            return
        rows = {name: np.concatenate([part[name] for part in self._acts]) for name in self._acts[0]}
        caused = rows["event"] != 0
        order = np.lexsort((rows["id"] & 0x1FFF, rows["actor"], ~caused))
        self.log.acts.add(tick=self.tick, **{name: column[order] for name, column in rows.items()})

    def _remember(self, author: Ints, row: Ints) -> None:
        """Put new rows in front of the authors' latest; an author's own rows in their order."""
        last = self.society.last
        order = np.argsort(author, kind="stable")
        author, row = author[order], row[order]
        turn = np.arange(len(author)) - np.searchsorted(author, author)
        for k in range(int(turn.max(initial=-1)) + 1):
            whose, what = author[turn == k], row[turn == k]
            last[whose, 1:] = last[whose, :-1]
            last[whose, 0] = what
