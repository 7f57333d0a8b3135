"""Ticks: who has a session, what it shows, how it moves them, what they do. Each tick reads only what was committed before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simflow.plan import Cell
from simflow.ports import Progress
from simflow.world import feed, looking, mail, moderation, opinion
from simflow.world.draws import F64, Draws, Ints
from simflow.world.happenings import Happenings
from simflow.world.log import Log
from simflow.world.opinion import Moved
from simflow.world.reactions import MESSAGE, TO_GROUP, Rates, react, settle
from simflow.world.settings import WAKING, Settings
from simflow.world.society import Society
from simflow.world.writing import Desk

_REPORT_EVERY = 16


class Simulation:
    """One or more replicates of a cell, stacked, from the society at a tick.

    cell: all replicates share everything in it but the seed. seeds: one a replicate.
    """

    desk: type[Desk] = Desk

    def __init__(self, cell: Cell, seeds: Sequence[int], society: Society, settings: Settings) -> None:
        self.cell = cell
        self.society = society
        self.settings = settings
        self.seeds = tuple(seeds)
        self.rates = Rates.on(settings, cell.platform.actions)
        self.log = Log.after(society.posts)
        self.happenings = Happenings(cell, self.seeds, society, settings, self.log)
        self.hours = np.array(cell.clock.active or WAKING, dtype=np.float64)
        self.private = self.rates.of[MESSAGE] > 0.0 or self.rates.of[TO_GROUP] > 0.0
        self.looked: list[looking.Look] = []
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
        shown, readers = self._shown(tick, draws, active), active
        if pushed := self.happenings.broadcasts(tick):
            first = [(audience, np.full(len(audience), row)) for row, audience in pushed]
            shown = feed.arranged(society.posts, *first, (shown.reader, shown.row))
            readers = np.union1d(active, shown.reader)
        if len(readers):
            moved = self.moved(readers, np.searchsorted(readers, shown.reader), shown)
            kind = self.reactions(tick, active, shown)
            society.x[readers] = moved.new
            self.log.views.add(
                len(shown.reader),
                tick=tick,
                reader=shown.reader,
                row=shown.row + (self.log.posts.size - society.posts.size),
                rank=shown.rank,
                contribution=moved.contribution,
                reaction=kind,
            )
            if nudged is None:
                self.log.moves.append((tick, readers, moved.new, moved.contributions, moved.self_term, moved.clip))
        if nudged is not None:
            self._log_nudged(tick, readers, moved if len(readers) else None, nudged)
        desk = self.desk(self.cell, self.settings, self.rates, society, draws, self.log, tick)
        desk.announce(self.happenings.announced)
        for look in self.looked:
            desk.look(look.kind, look.agents, look.topic)
        if len(readers):
            self.write(desk, active, shown, kind)
        desk.commit()
        if self.happenings.hide:
            moderation.count(desk, self.happenings.hide)
        society.seen[active] = tick

    def moved(self, readers: Ints, who: Ints, shown: feed.Shown) -> Moved:
        """What the exposures do to the stances of `readers`; `who` is the place in it of each exposure's reader."""
        return opinion.move(self.society, self.cell.dynamics, readers, who, shown.post)

    def reactions(self, tick: int, active: Ints, shown: feed.Shown) -> Ints:
        """A kind code for each exposure, or -1."""
        del active
        ranking = self.happenings.ranking
        length = ranking.posts[ranking.of[shown.reader]]
        draws = self.happenings.draws
        kind = react(self.society, draws, self.settings, self.rates, tick, shown.reader, shown.post, length)
        return settle(draws, self.rates, tick, shown.reader, shown.post, kind)

    def write(self, desk: Desk, active: Ints, shown: feed.Shown, kind: Ints) -> None:
        """What those who had a session add."""
        desk.react(shown, kind)
        salience = self.happenings.salience
        salience = salience[self.society.replicate[active]] if len(self.society.replicate) else salience
        desk.post(active, salience)
        if self.private:
            hidden, here = self.happenings.hidden, self.happenings.here
            heard = np.ones(len(active), dtype=bool) if hidden is None else ~hidden[active]
            mail.send(desk, active[heard], here, np.broadcast_to(salience, (len(active), salience.shape[1]))[heard])

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
        names = ("reader", "row", "rank", "post")
        shown = parts[0] if len(parts) == 1 else feed.Shown(*(np.concatenate([getattr(part, n) for part in parts]) for n in names))
        if looking.wanted(self.rates):
            platform = self.cell.platform
            self.looked = looking.looks(society, draws, self.rates, ranking, tick, platform.trend_span, active, happenings.hidden)
            shown = looking.beside(society, ranking, tick, shown, self.looked, platform.results)
        if self.private and (waiting := mail.inbox(society, ranking, tick, active, happenings.hidden)):
            shown = feed.arranged(society.posts, waiting, (shown.reader, shown.row))
        return shown

    def _log_nudged(self, tick: int, readers: Ints, moved: Moved | None, nudged: dict[str, Ints]) -> None:
        """One row for each agent and topic, of what a session and what a nudge did."""
        rows = np.union1d(readers, nudged["agent"])
        parts = {name: np.zeros((len(rows), self.society.x.shape[1]), np.int64) for name in ("contributions", "self_term", "clip")}
        if moved is not None:
            for name, part in parts.items():
                part[np.searchsorted(rows, readers)] += getattr(moved, name)
        at = np.searchsorted(rows, nudged["agent"])
        np.add.at(parts["self_term"], (at, nudged["topic"]), nudged["self_term"])
        np.add.at(parts["clip"], (at, nudged["topic"]), nudged["clip"])
        self.log.moves.append((tick, rows, self.society.x[rows], parts["contributions"], parts["self_term"], parts["clip"]))
