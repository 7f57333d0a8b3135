"""Ticks: who has a session, what it shows, how it moves them, what they do. Each tick reads only what was committed before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simflow.plan import Cell
from simflow.ports import Progress
from simflow.world import feed, opinion
from simflow.world.draws import F64, Draws, Ints
from simflow.world.happenings import Happenings
from simflow.world.log import Log
from simflow.world.opinion import Moved
from simflow.world.posts import Posts
from simflow.world.reactions import Rates, react
from simflow.world.settings import WAKING, Settings
from simflow.world.society import Society
from simflow.world.writing import Desk

_REPORT_EVERY = 16


class Simulation:
    """One or more replicates of a cell, stacked, from the society at a tick.

    cell: all replicates share everything in it but the seed. seeds: one a replicate.
    """

    def __init__(self, cell: Cell, seeds: Sequence[int], society: Society, settings: Settings) -> None:
        self.cell = cell
        self.society = society
        self.settings = settings
        self.seeds = tuple(seeds)
        self.rates = Rates.on(settings, cell.platform.actions)
        self.log = Log(Posts(society.posts.columns()))
        self.happenings = Happenings(cell, self.seeds, society, settings, self.log)
        self.hours = np.array(cell.clock.active or WAKING, dtype=np.float64)
        self.weekdays = np.array(cell.clock.weekday or (1.0,) * 7, dtype=np.float64)

    def run(self, start: int, stop: int, progress: Progress | None = None) -> Log:
        """Ticks [start, stop); the society is then at `stop`."""
        self.happenings.prepare(start, stop)
        for tick in range(start, stop):
            if progress is not None and (tick - start) % _REPORT_EVERY == 0:
                progress("world", tick - start, stop - start)
            self.tick(tick)
            if (tick + 1) % 256 == 0:
                self.society.forget(tick + 1 - self.happenings.horizon)
        self.society.forget(stop - self.happenings.horizon)
        if progress is not None:
            progress("world", stop - start, stop - start)
        return self.log

    def log_opening(self) -> None:
        """Log the stances that everybody has before the first tick, as of tick -1."""
        residents = np.flatnonzero(self.society.persona >= 0)
        self.happenings.log_stances(residents, -1)

    def tick(self, tick: int) -> None:
        """One tick."""
        society = self.society
        nudged = self.happenings.at(tick)
        draws = self.happenings.draws
        active = self._active(tick, draws)
        shown = self._shown(tick, draws, active)
        readers = active
        if pushed := self.happenings.broadcasts(tick):
            shown = _merged(shown, pushed)
            readers = np.union1d(active, shown.reader)
        who = np.searchsorted(readers, shown.reader)
        moved = self.moved(readers, who, shown)
        kind = self.reactions(tick, active, shown)
        society.x[readers] = moved.new
        posts = society.posts
        self.log.shown.add(
            tick=tick,
            reader=shown.reader,
            episode=posts["id"][shown.row],
            author=posts["author"][shown.row],
            rank=shown.rank,
            topic=posts["topic"][shown.row],
            contribution=moved.contribution,
            reaction=kind,
        )
        self._log_stances(tick, readers, moved, nudged)
        desk = Desk(self.cell, self.settings, self.rates, society, draws, self.log, tick)
        desk.announce(self.happenings.announced)
        desk.react(shown, kind)
        salience = self.happenings.salience
        desk.post(active, salience[society.replicate[active]] if len(society.replicate) else salience)
        desk.commit()
        society.seen[active] = tick

    def moved(self, readers: Ints, who: Ints, shown: feed.Shown) -> Moved:
        """What the exposures do to the stances of `readers`; `who` is the place in it of each exposure's reader."""
        return opinion.move(self.society, self.cell.dynamics, readers, who, shown.row)

    def reactions(self, tick: int, active: Ints, shown: feed.Shown) -> Ints:
        """A kind code for each exposure, or -1."""
        del active
        length = self.happenings.ranking.posts[self.happenings.ranking.of[shown.reader]]
        return react(self.society, self.happenings.draws, self.settings, self.rates, tick, shown.reader, shown.row, length)

    def write(self, desk: Desk, active: Ints, shown: feed.Shown, kind: Ints) -> None:
        """What those who had a session add."""
        desk.react(shown, kind)
        desk.post(active, self.happenings.salience)

    def _active(self, tick: int, draws: Draws) -> Ints:
        minutes = tick * self.cell.clock.minutes
        weight = self.weekdays[(minutes // 1440) % 7] * self._day(minutes)
        everybody = self.happenings.everybody
        chance = np.minimum(self.happenings.activity * weight[self.happenings.phase], self.settings.busiest)
        awake: Ints = everybody[draws.unit("active", tick, everybody) < chance]
        return awake

    def _day(self, minutes: int) -> F64:
        """Weight of the hour by phase: some are an hour early, some an hour late. A tick longer than an hour has their mean."""
        hours = max(1, min(24, self.cell.clock.minutes // 60))
        now = minutes // 60
        rows = [self.hours[(np.arange(now, now + hours) + shift) % 24] for shift in (0, 0, 1, -1)]
        return np.array([np.cumsum(row)[-1] / hours for row in rows])

    def _shown(self, tick: int, draws: Draws, active: Ints) -> feed.Shown:
        society, happenings = self.society, self.happenings
        ranking = happenings.ranking
        first = int(society.posts.first_row(np.array([tick - int(ranking.horizon.max())]))[0])
        hot = feed.hottest(society.posts, society.replicate, len(self.seeds), first, self.settings.hot)
        parts = [
            feed.rank(
                society,
                draws,
                self.settings,
                ranking,
                tick,
                active[at : at + self.settings.chunk],
                hot,
                happenings.places,
                happenings.hidden,
            )
            for at in range(0, max(1, len(active)), self.settings.chunk)
        ]
        if len(parts) == 1:
            return parts[0]
        return feed.Shown(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("reader", "row", "rank")))

    def _log_stances(self, tick: int, readers: Ints, moved: Moved, nudged: dict[str, Ints] | None) -> None:
        contributions, self_term, clip = moved.contributions, moved.self_term, moved.clip
        if nudged is not None:
            rows = np.union1d(readers, nudged["agent"])
            wide = {name: np.zeros((len(rows), moved.new.shape[1]), np.int64) for name in ("contributions", "self_term", "clip")}
            at = np.searchsorted(rows, readers)
            for name, part in wide.items():
                part[at] += getattr(moved, name)
            at = np.searchsorted(rows, nudged["agent"])
            np.add.at(wide["self_term"], (at, nudged["topic"]), nudged["self_term"])
            np.add.at(wide["clip"], (at, nudged["topic"]), nudged["clip"])
            readers, contributions, self_term, clip = rows, wide["contributions"], wide["self_term"], wide["clip"]
        agent, topic = np.nonzero((contributions != 0) | (self_term != 0) | (clip != 0))
        self.log.stances.add(
            tick=tick,
            agent=readers[agent],
            topic=topic,
            stance=self.society.x[readers[agent], topic],
            contributions=contributions[agent, topic],
            self_term=self_term[agent, topic],
            clip=clip[agent, topic],
        )


def _merged(shown: feed.Shown, pushed: list[tuple[int, Ints]]) -> feed.Shown:
    """Broadcasts come first in each feed, in their order."""
    reader = np.concatenate([*(audience for _, audience in pushed), shown.reader])
    row = np.concatenate([*(np.full(len(audience), row) for row, audience in pushed), shown.row])
    order = np.argsort(reader, kind="stable")
    reader, row = reader[order], row[order]
    rank = np.arange(len(reader)) - np.searchsorted(reader, reader)
    return feed.Shown(reader, row, rank)
