"""What events do to the society: posts of voices, broadcasts, nudges, mutes, bans, arrivals, departures, feeds, agendas."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Cell, Event, Feed
from simflow.world import population
from simflow.world.draws import F64, I64, Bools, Draws, Ints, grid, name_key
from simflow.world.feed import Ranking
from simflow.world.founding import NEWSROOM
from simflow.world.log import Log
from simflow.world.opinion import ONE
from simflow.world.posts import AUTHOR, BOOST, EVENT, ID, KIND, PRIVATE, RELATION, ROOT, STANCE, TICK, TOPIC, WORDS, WORDS_KIND, blank
from simflow.world.reactions import ANNOUNCEMENT, JOIN, LEAVE
from simflow.world.registry import Registry
from simflow.world.settings import Settings
from simflow.world.society import Society
from simflow.world.timeline import MEASURES, Timeline, audience, fired_ticks, holds, topic_of
from simflow.world.writing import ALONE, key


class Happenings:
    """Applies a cell's events, tick by tick. What it derives (`activity`, `hidden`, `ranking`, ...) is a function of society and tick."""

    def __init__(self, cell: Cell, seeds: Sequence[int], society: Society, settings: Settings, log: Log) -> None:
        self.cell, self.seeds, self.society, self.settings, self.log = cell, tuple(seeds), society, settings, log
        self.timeline = Timeline.of(cell)
        self.registry = Registry(cell, seeds, society, settings)
        self.personas = {p.name: k for k, p in enumerate(cell.personas)}
        self.topics = {t.name: k for k, t in enumerate(cell.topics)}
        self.words = [(t.name, *t.words) for t in cell.topics]
        self.by_key = {name_key(e.name): e for e in cell.events}
        self.base_feeds = [cell.platform.feed, *(p.feed or cell.platform.feed for p in cell.personas)]
        self.horizon = max(feed.horizon for feed in self.base_feeds)
        self.hide = cell.platform.hide_after if "report" in cell.platform.actions else 0
        self.draws: Draws = society.draws(seeds)
        self.announced: list[I64] = []
        self.everybody: Ints = np.empty(0, np.int64)
        self.activity: F64 = np.empty(0)
        self.phase: Ints = np.empty(0, np.int8)
        self.places: list[Ints] = []
        self.hidden: Bools | None = None
        self.here: Bools = np.empty(0, dtype=bool)
        self.salience: F64 = np.ones(len(cell.topics))
        self.ranking: Ranking
        self._changes: frozenset[int] = frozenset()
        self._volatile = False
        self._span = (0, 0)
        self._triggers = any(e.when is not None for e in cell.events)
        for event in cell.events:
            if event.when is not None and event.when.measure not in MEASURES:
                raise BadInput(
                    f"event '{event.name}' waits for the measure '{event.when.measure}'", hint=f"measures: {', '.join(MEASURES)}"
                )
        self._pushes = any(e.verb == "broadcast" for e in cell.events)

    def prepare(self, start: int, stop: int) -> None:
        """Look up which ticks of [start, stop) need work, and what is in force."""
        own = {p.joins for p in self.cell.personas} | {p.leaves for p in self.cell.personas if p.leaves is not None}
        self._changes = frozenset(t for t in own if start <= t < stop).union(
            *(self.timeline.changes(start, stop, fired_ticks(self.society, k)) for k in range(len(self.seeds)))
        )
        self._span = (start, stop)
        self._derive(start)

    def at(self, tick: int) -> dict[str, Ints] | None:
        """Apply what happens at the beginning of `tick`; the nudges as rows of agent, topic, self_term, clip, or None."""
        self.announced = []
        changed = self._volatile or tick in self._changes
        if changed:
            self._come_and_go(tick)
            self._derive(tick)
        if not (self._fire(tick) or changed):
            return None
        nudges = [
            change
            for replicate in range(len(self.seeds))
            for event in self._moments(tick, replicate)
            for change in self._apply(event, tick, replicate)
        ]
        self._derive(tick)
        if not nudges:
            return None
        return {name: np.concatenate([part[name] for part in nudges]) for name in nudges[0]}

    def broadcasts(self, tick: int) -> list[tuple[int, Ints]]:
        """(row of the post, its audience) of what was broadcast in the tick before."""
        if not self._pushes:
            return []
        posts, society = self.society.posts, self.society
        found = []
        for row in posts.span(tick - 1):
            author = int(posts.table[row, AUTHOR])
            if posts.table[row, BOOST] == 2:
                replicate = int(society.replicate[author]) if len(society.replicate) else 0
                who = self._audience(self.by_key[int(posts.table[row, EVENT])], replicate)
                found.append((row, who[who != author]))
        return found

    # ---------------------------------------------------------------------------------------------------- what is in force

    def _derive(self, tick: int) -> None:
        society = self.society
        self.draws = society.draws(self.seeds)
        here = (society.joined <= tick) & (tick < society.left) & (society.persona >= 0)
        hidden = np.zeros(society.count, dtype=bool)
        feeds: list[Feed] = list(self.base_feeds)
        reads = society.persona.astype(np.int64) + 1
        salience = np.ones((len(self.seeds), len(self.cell.topics)))
        self._volatile = False
        for replicate in range(len(self.seeds)):
            for event in self.timeline.in_force(tick, fired_ticks(society, replicate)):
                if event.verb in {"mute", "ban"}:
                    if event.target == NEWSROOM and NEWSROOM not in self.registry.names(replicate):
                        continue
                    row = self.registry.row(event.target, event, replicate)
                    hidden[row] = True
                    here[row] &= event.verb == "mute"
                elif event.verb == "agenda":
                    salience[replicate, self._topic(event)] *= 1.0 if event.amount is None else event.amount
                elif event.feed is not None:
                    feeds.append(event.feed)
                    reads[self._audience(event, replicate, everybody=True)] = len(feeds) - 1
                    self._volatile |= event.to.topic is not None or event.to.stance_min > -1.0 or event.to.stance_max < 1.0
        self.everybody = np.flatnonzero(here)
        self.activity = society.activity[self.everybody]
        self.phase = society.phase[self.everybody]
        whose = society.replicate[self.everybody] if len(society.replicate) else np.zeros(len(self.everybody), np.int32)
        self.places = [self.everybody[whose == k] for k in range(len(self.seeds))]
        self.hidden = hidden if hidden.any() else None
        self.salience = salience
        self.here = here
        self.ranking = Ranking.of_feeds(feeds, reads, self.horizon, self.settings, self.cell.clock.minutes, self.hide)

    def _fire(self, tick: int) -> bool:
        if not self._triggers:
            return False
        new = []
        for replicate in range(len(self.seeds)):
            for event in self.timeline.waiting(tick, fired_ticks(self.society, replicate)):
                span = self.society.posts.span(tick - 1)
                posts = self.society.posts.table[span.start : span.stop]
                author = posts[posts[:, BOOST] < PRIVATE, AUTHOR]
                recent = int((self.society.replicate[author] == replicate).sum()) if len(self.society.replicate) else len(author)
                if event.when is not None and holds(event.when, self.society, self.places[replicate], self.topics, recent):
                    new.append((replicate, name_key(event.name), tick))
        if new:
            self.society.fired = np.concatenate([self.society.fired, np.array(new, np.int64)])
            for replicate in range(len(self.seeds)):
                self._changes |= self.timeline.changes(tick, self._span[1], fired_ticks(self.society, replicate))
        return bool(new)

    def _moments(self, tick: int, replicate: int) -> list[Event]:
        return self.timeline.moments(tick, fired_ticks(self.society, replicate))

    # ------------------------------------------------------------------------------------------------------------ the verbs

    def _apply(self, event: Event, tick: int, replicate: int) -> list[dict[str, Ints]]:
        match event.verb:
            case "post" | "broadcast":
                self._announce(event, tick, replicate)
            case "nudge":
                return [self._nudge(event, replicate)]
            case "join":
                self._join(event, tick, replicate)
            case "leave":
                self._leave(event, tick, replicate)
            case _:
                pass
        return []

    def _announce(self, event: Event, tick: int, replicate: int) -> None:
        if event.by in {None, NEWSROOM}:
            row = self.registry.newsroom(tick, replicate)
            self.draws = self.society.draws(self.seeds)
        else:
            row = self.registry.row(event.by, event, replicate)
        topic = topic_of(event, self.words, self.topics)
        stance = 0
        if event.stance is not None:
            stance = int(grid(np.array([min(1.0, max(-1.0, event.stance))]))[0])
        elif self.society.persona[row] >= 0 and topic >= 0:
            stance = int(self.society.x[row, topic])
        same = sum(1 for one in self.announced if one[0, AUTHOR] == row)
        post = blank(1)
        post[0, [ID, ROOT, WORDS]] = key(self.registry.local(np.array([row])), tick, ANNOUNCEMENT, same)[0]
        post[0, [AUTHOR, TICK, TOPIC, STANCE]] = row, tick, topic, stance
        post[0, [KIND, WORDS_KIND]] = ANNOUNCEMENT
        post[0, RELATION] = ALONE
        post[0, EVENT] = name_key(event.name)
        post[0, BOOST] = 2 if event.verb == "broadcast" else 1
        self.announced.append(post)

    def _nudge(self, event: Event, replicate: int) -> dict[str, Ints]:
        society, topic = self.society, self._topic(event)
        who = self._audience(event, replicate)
        amount = int(grid(np.array([event.amount or 0.0]))[0])
        free = society.x[who, topic] + amount
        society.x[who, topic] = np.clip(free, -ONE, ONE)
        society.x0[who, topic] = np.clip(society.x0[who, topic] + amount, -ONE, ONE)
        clip = society.x[who, topic] - free
        return {"agent": who, "topic": np.full(len(who), topic), "self_term": np.full(len(who), amount), "clip": clip}

    def _join(self, event: Event, tick: int, replicate: int) -> None:
        society = self.society
        if event.persona is None:
            away = np.flatnonzero((society.persona >= 0) & (society.left <= tick) & self.registry.mine(replicate))
            who = self._audience(event, replicate, among=away)
            society.left[who] = population.NEVER
            society.seen[who] = tick
        else:
            count = 1 if event.amount is None else max(0, round(event.amount))
            who = self.registry.arrive(self.personas[event.persona], count, tick, replicate, self.places[replicate])
            self.draws = society.draws(self.seeds)
            self.log_stances(who, tick - 1)
        self._moment(JOIN, who, tick, event)

    def _leave(self, event: Event, tick: int, replicate: int) -> None:
        to = event.to if event.persona is None else dataclasses.replace(event.to, personas=(event.persona,))
        who = self._audience(dataclasses.replace(event, to=to), replicate)
        if event.amount is not None:
            lot = np.argsort(self.draws.pair_bits("leaves", tick, who, np.full(len(who), name_key(event.name))), kind="stable")
            who = np.sort(who[lot[: max(0, round(event.amount))]])
        self.society.left[who] = tick
        self._moment(LEAVE, who, tick, event)

    def _come_and_go(self, tick: int) -> None:
        society = self.society
        residents = society.persona >= 0
        if tick > 0:
            self._moment(JOIN, np.flatnonzero(residents & (society.joined == tick)), tick, None)
        self._moment(LEAVE, np.flatnonzero(residents & (society.left == tick)), tick, None)

    def _moment(self, kind: int, who: Ints, tick: int, event: Event | None) -> None:
        cause = 0 if event is None else name_key(event.name)
        ids = key(self.registry.local(who), tick, kind)
        self.log.deeds.add(len(who), id=ids, tick=tick, kind=kind, actor=who, parent=-1, root=-1, target=-1, topic=-1, event=cause)

    def log_stances(self, residents: Ints, tick: int) -> None:
        """Log present stances as of the end of `tick`, without a reason."""
        topics = self.society.x.shape[1]
        agent, topic = np.repeat(residents, topics), np.tile(np.arange(topics), len(residents))
        stance = self.society.x[agent, topic]
        self.log.stances.add(len(agent), tick=tick, agent=agent, topic=topic, stance=stance, contributions=0, self_term=0, clip=0)

    def _audience(self, event: Event, replicate: int, *, everybody: bool = False, among: Ints | None = None) -> Ints:
        if among is None:
            residents = self.registry.mine(replicate) & (self.society.persona >= 0)
            among = np.flatnonzero(residents) if everybody else self.places[replicate]
        named = self.registry.names(replicate) if event.to.agents is not None else {}
        return audience(event, self.society, among, self.personas, self.topics, named)

    def _topic(self, event: Event) -> int:
        if event.topic is None and len(self.topics) != 1:
            raise BadInput(f"event '{event.name}' ({event.verb}) names no topic", hint=f"topics: {', '.join(self.topics)}")
        return self.topics[event.topic] if event.topic else 0
