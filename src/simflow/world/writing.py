"""What a tick adds: posts, reactions, follows; gathered, given ids, logged, committed together at its end."""

from __future__ import annotations

import numpy as np

from simflow.plan import Cell
from simflow.world.draws import F64, GRID, I64, Draws, Ints, bell, grid
from simflow.world.feed import Shown
from simflow.world.log import Log
from simflow.world.opinion import ONE
from simflow.world.posts import (
    AUTHOR,
    BOOST,
    COLUMNS,
    EVENT,
    GROUP,
    HEAT,
    ID,
    KIND,
    PARENT,
    PERSON,
    PRIVATE,
    RELATION,
    REPORTS,
    ROOT,
    SAYING,
    STANCE,
    TARGET,
    TICK,
    TOPIC,
    WORDS,
    WORDS_KIND,
    blank,
)
from simflow.world.reactions import (
    ANNOUNCEMENT,
    DISLIKE,
    FOLLOW,
    HIDDEN,
    LIKE,
    MESSAGE,
    MUTE,
    POST,
    QUOTE,
    REPLY,
    REPORT,
    REPOST,
    SEARCH,
    TO_GROUP,
    TREND,
    UNFOLLOW,
    Rates,
    first_each,
)
from simflow.world.settings import Settings
from simflow.world.society import Society
from simflow.world.timeline import topic_in

ALONE = 2
"""Relation of what answers nobody."""
_ANSWERS = np.array([REPLY, QUOTE, MESSAGE, TO_GROUP, REPOST])
_WITHOUT_WORDS = {SEARCH: 0, TREND: 1, HIDDEN: 2}
"""Kinds that share the last code of a content key, by the first of their slots."""


def key(local: Ints, tick: int, kind: Ints | int, slot: Ints | int = 0) -> I64:
    """Content keys: agent (26 bits), tick (24), kind (4), slot (9). At most one episode each."""
    if isinstance(kind, int) and kind in _WITHOUT_WORDS:
        kind, slot = SEARCH, _WITHOUT_WORDS[kind] + slot
    return (local.astype(np.int64) << 37) | (tick << 13) | (np.asarray(kind, np.int64) << 9) | slot


def drawn(draws: Draws, purpose: str, tick: int, agents: Ints, pull: F64) -> Ints:
    """A topic for each of `agents`, in proportion to what `pull`, (agents, topics), adds up to."""
    aim = draws.unit(purpose, tick, agents) * pull[:, -1]
    return np.asarray(np.minimum((pull <= aim[:, None]).sum(axis=1), pull.shape[1] - 1))


class Desk:
    """One tick's writing."""

    def __init__(self, cell: Cell, settings: Settings, rates: Rates, society: Society, draws: Draws, log: Log, tick: int) -> None:
        self.cell, self.settings, self.rates = cell, settings, rates
        self.society, self.draws, self.log, self.tick = society, draws, log, tick
        self._posts: list[I64] = []
        self._follow: tuple[Ints, Ints] | None = None
        self._unfollow: tuple[Ints, Ints] | None = None
        self._acted: list[Ints] = []
        self._reported: list[tuple[I64, Ints]] = []

    def announce(self, rows: list[I64]) -> None:
        """Posts that events make, before everything else."""
        self._posts.extend(rows)

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
        rows = self._rows(author, POST, drawn(draws, "topic", tick, author, pull))
        if self.cell.people:
            self._own_words(rows)
        rows[:, STANCE] = self._said(author, rows[:, TOPIC], POST)
        self._posts.append(rows)

    def in_private(self, author: Ints, kind: int, salience: F64, to: Ints, group: Ints) -> None:
        """Messages to `to`, or posts in `group`; the other is -1. salience: (authors, topics)."""
        if not len(author):
            return
        pull = np.cumsum(self.society.interests[author] * salience, axis=1)
        rows = self._rows(author, kind, drawn(self.draws, f"topic/{kind}", self.tick, author, pull))
        rows[:, KIND] = rows[:, WORDS_KIND] = kind
        rows[:, BOOST] = PRIVATE
        rows[:, TARGET], rows[:, GROUP] = to, group
        rows[:, STANCE] = self._said(author, rows[:, TOPIC], kind)
        self._posts.append(rows)

    def look(self, kind: int, agents: Ints, topic: Ints) -> None:
        """That somebody searched for a topic, or looked at the trends."""
        ids = key(self._local(agents), self.tick, kind)
        self.log.deeds.add(
            len(agents), id=ids, tick=self.tick, kind=kind, actor=agents, parent=-1, root=-1, target=-1, topic=topic, event=0
        )

    def react(self, shown: Shown, kind: Ints) -> None:
        """Reactions to what was shown."""
        at = np.flatnonzero(kind >= 0)
        if not len(at):
            return
        code = kind[at]
        self._answer(shown, at, code)
        liked = (code == LIKE) | (code == DISLIKE) | (code == REPORT)
        chosen, code = at[liked], code[liked]
        reader, post = shown.reader[chosen], shown.post[chosen]
        self.log.deeds.add(
            len(chosen),
            id=key(self._local(reader), self.tick, code, shown.rank[chosen]),
            tick=self.tick,
            kind=code,
            actor=reader,
            parent=post[:, ID],
            root=post[:, ROOT],
            target=post[:, AUTHOR],
            topic=post[:, TOPIC],
            event=0,
        )
        if self.rates.of[REPORT] > 0.0:
            self._reported.append((post[code == REPORT, WORDS], reader[code == REPORT]))
        heat = np.where(code == LIKE, 1, -1) * (post[:, BOOST] != PRIVATE)
        np.add.at(self.society.posts.column(HEAT), shown.row[chosen], heat)
        moved = kind[at]
        if self.rates.of[TREND] > 0.0:
            self._acted.append(shown.row[at[(shown.post[at, BOOST] != PRIVATE) & (moved != REPORT)]])
        self._tie(shown, at[(moved == LIKE) | (moved == REPOST)], FOLLOW)
        angry = at[(moved == DISLIKE) | (moved == REPORT)]
        self._tie(shown, angry, UNFOLLOW)
        self._tie(shown, angry, MUTE)

    def commit(self) -> None:
        """Give rows to the posts, change the follow graph, count acts and reports."""
        society = self.society
        society.posts.mark(self.tick)
        self.log.posts.mark(self.tick)
        if self._posts:
            rows = np.concatenate(self._posts) if len(self._posts) > 1 else self._posts[0]
            # What events announce stands first; then by author and kind.
            order = np.argsort(((rows[:, KIND] != ANNOUNCEMENT) << 62) | (rows[:, AUTHOR] << 13) | (rows[:, ID] & 0x1FFF), kind="stable")
            rows = rows.take(order, axis=0)
            self.log.posts.append(rows)
            at = society.posts.append(rows)
            public = rows[:, BOOST] != PRIVATE
            self._remember(rows[public, AUTHOR], at[public])
        if self._unfollow is not None:
            reader, author = self._unfollow
            society.follows[reader, (society.follows[reader] == author[:, None]).argmax(axis=1)] = -1
        if self._follow is not None:
            reader, author = self._follow
            society.follows[reader, (society.follows[reader] < 0).argmax(axis=1)] = author
        if self._acted:
            rows = np.sort(np.concatenate(self._acted))
            society.pulse = np.concatenate([society.pulse, np.stack([np.full(len(rows), self.tick), rows], axis=1)])

    def acted_on(self, row: int) -> None:
        """One act on a public post, for the trends."""
        self._acted.append(np.array([row]))

    def report(self, words: int, agent: int) -> None:
        """One report."""
        self._reported.append((np.array([words]), np.array([agent])))

    @property
    def reported(self) -> tuple[I64, Ints]:
        """(content key of the words, who) of each report."""
        nothing = np.empty(0, np.int64)
        return np.concatenate([nothing, *(r[0] for r in self._reported)]), np.concatenate([nothing, *(r[1] for r in self._reported)])

    def _answer(self, shown: Shown, at: Ints, code: Ints) -> None:
        parts = [np.flatnonzero(code == kind) for kind in _ANSWERS]
        chosen = np.concatenate(parts)
        if not len(chosen):
            return
        kind = np.repeat(_ANSWERS, [len(part) for part in parts])
        at = at[chosen]
        author, row, parent = shown.reader[at], shown.row[at], shown.post.take(at, axis=0)
        rows = parent.copy()
        private = parent[:, BOOST] == PRIVATE
        ids = key(self._local(author), self.tick, kind, private.astype(np.int64))
        rows[:, ID] = ids
        rows[:, AUTHOR] = author
        rows[:, TICK] = self.tick
        rows[:, KIND] = kind
        rows[:, HEAT] = 0
        rows[:, BOOST] = np.where(private, PRIVATE, 0)
        rows[:, PARENT] = parent[:, ID]
        rows[:, TARGET] = parent[:, AUTHOR]
        # A repost keeps the words and what they say; the others have their own.
        own = slice(0, len(rows) - len(parts[-1]))
        about = parent[own, TOPIC]
        topic = np.where(about < 0, self.society.interests[author[own]].argmax(axis=1), about)
        stance = self._said(author[own], topic, kind[own])
        apart = np.abs(stance - parent[own, STANCE]) / GRID
        relation = np.where(apart < self.settings.agree, 1, np.where(apart > self.settings.disagree, -1, 0))
        rows[own, TOPIC] = topic
        rows[own, STANCE] = stance
        rows[own, RELATION] = np.where(about < 0, 0, relation)
        rows[own, WORDS] = ids[own]
        rows[own, WORDS_KIND] = kind[own]
        rows[own, EVENT] = rows[own, REPORTS] = 0
        rows[own, PERSON] = rows[own, SAYING] = -1
        shared = row[(kind == QUOTE) | (kind == REPOST)]
        np.add.at(self.society.posts.column(HEAT), shared, 2)
        self._posts.append(rows)

    def _tie(self, shown: Shown, at: Ints, code: int) -> None:
        """Follow after pleasure, unfollow or mute after anger; at most one of each in a session."""
        rate = self.rates.of[code]
        if rate <= 0.0 or not len(at):
            return
        society = self.society
        reader, author = shown.reader[at], shown.post[at, AUTHOR]
        wants = self.draws.pair_unit(f"tie/{code}", self.tick, reader, shown.post[at, ID]) < rate
        if not wants.any():
            return
        reader, author = reader[wants], author[wants]
        follows = society.follows[reader]
        allowed = np.ones(len(reader), dtype=bool)
        if code != MUTE:
            allowed = (follows == author[:, None]).any(axis=1)
        if code == FOLLOW:
            allowed = ~allowed & ((follows >= 0).sum(axis=1) < society.limit[0])
        once = first_each(reader, allowed)
        if not len(once):
            return
        reader, author = reader[once], author[once]
        if code == FOLLOW:
            self._follow = (reader, author)
        elif code == UNFOLLOW:
            self._unfollow = (reader, author)
        else:
            society.mutes = np.union1d(society.mutes, (reader.astype(np.int64) << 32) | author)
        ids = key(self._local(reader), self.tick, code)
        self.log.deeds.add(
            len(reader), id=ids, tick=self.tick, kind=code, actor=reader, parent=-1, root=-1, target=author, topic=-1, event=0
        )

    def _rows(self, author: Ints, kind: int, topic: Ints) -> I64:
        """Rows of texts that answer nobody."""
        rows = blank(len(author))
        rows[:, ID] = rows[:, ROOT] = rows[:, WORDS] = key(self._local(author), self.tick, kind)
        rows[:, AUTHOR] = author
        rows[:, TICK] = self.tick
        rows[:, TOPIC] = topic
        rows[:, RELATION] = ALONE
        return rows

    def _said(self, author: Ints, topic: Ints, code: Ints | int) -> I64:
        """The stance as expressed: the present one with noise."""
        codes = code if isinstance(code, np.ndarray) else np.full(len(author), code)
        noise = bell(self.draws.pair_bits("say", self.tick, author, codes))
        said = self.society.x[author, topic] + grid(self.cell.dynamics.noise * noise)
        return np.asarray(np.minimum(np.maximum(said, -ONE), ONE), dtype=np.int64)

    def _own_words(self, rows: I64) -> None:
        """Let those of a people file use the words that they brought, each once, in order."""
        society = self.society
        words = [(t.name, *t.words) for t in self.cell.topics]
        for at in np.flatnonzero(society.person[rows[:, AUTHOR]] >= 0).tolist():
            who = int(rows[at, AUTHOR])
            person = int(society.person[who])
            if society.said[who] < len(self.cell.people[person].posts):
                rows[at, PERSON], rows[at, SAYING] = person, society.said[who]
                about = topic_in(self.cell.people[person].posts[society.said[who]], words)
                rows[at, TOPIC] = about if about >= 0 else rows[at, TOPIC]
                society.said[who] += 1

    def add_post(self, **columns: Ints | int) -> None:
        """One post, by columns of `posts.COLUMNS`; what is not given is as in `posts.blank`."""
        row = blank(1)
        row[0, TICK] = self.tick
        for name, value in columns.items():
            row[0, COLUMNS.index(name)] = value if isinstance(value, int) else value[0]
        self._posts.append(row)

    def add_act(self, **columns: Ints | int) -> None:
        """One act without words, by columns of `log.ACTS`."""
        self.log.deeds.add(1, tick=self.tick, **columns)

    def _local(self, rows: Ints) -> Ints:
        return self.society.local[rows] if len(self.society.local) else rows

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
