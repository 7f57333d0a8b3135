"""Ticks with agents that speak: who has a turn, what it sees and remembers, and what its act does to the society.

Within a tick everybody decides on what was committed before it; acts are applied in the order of agents, whatever order answers came in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import toktok

from simflow.episode import TURNS, label, sentence, wording
from simflow.plan import Cell
from simflow.ports import Act, Recall, Speaker, Turn
from simflow.ports import Shown as Seen
from simflow.world import founding
from simflow.world.draws import GRID, I64, Bools, Ints, grid
from simflow.world.feed import Shown
from simflow.world.opinion import ONE, Moved
from simflow.world.population import Roster
from simflow.world.posts import (
    AUTHOR,
    BOOST,
    COLUMNS,
    EVENT,
    GROUP,
    HEAT,
    ID,
    KIND,
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
)
from simflow.world.reactions import (
    DISLIKE,
    FOLLOW,
    KINDS,
    LIKE,
    MESSAGE,
    MUTE,
    NOTHING,
    POST,
    QUOTE,
    REPLY,
    REPORT,
    REPOST,
    TO_GROUP,
    TREND,
    UNFOLLOW,
    in_private,
)
from simflow.world.rendering import Words
from simflow.world.settings import Settings
from simflow.world.simulation import Simulation
from simflow.world.society import Society
from simflow.world.writing import ALONE, Desk, key

CODES = {kind: code for code, kind in enumerate(KINDS) if code <= MUTE or code in {REPORT, MESSAGE, TO_GROUP}}
"""Acts that somebody can choose."""
WITH_WORDS = frozenset({"post", "reply", "quote", "message", "group"})
SIDE = 0.15
"""A stance beyond this is told as a side, beyond `STRONG` as a strong one."""
STRONG = 0.6


class SpokenDesk(Desk):
    """A desk that also takes a single follow, unfollow or mute that somebody decided."""

    def tie(self, agent: int, author: int, code: int) -> None:
        """Change who follows or hears whom."""
        society = self.society
        reader, other = np.array([agent], np.int64), np.array([author], np.int64)
        if code == FOLLOW:
            if not (society.follows[agent] < 0).any():
                society.follows = np.pad(society.follows, ((0, 0), (0, 4)), constant_values=-1)
            self._follow = _added(self._follow, reader, other)
        elif code == UNFOLLOW:
            self._unfollow = _added(self._unfollow, reader, other)
        else:
            society.mutes = np.union1d(society.mutes, (reader << 32) | other)
        ids = key(reader, self.tick, code)
        self.add_act(id=ids, kind=code, actor=reader, parent=-1, root=-1, target=other, topic=-1, event=0)


class SpokenSimulation(Simulation):
    """A simulation in which `personas` (a flag each) speak. `words`: what was said, by key; `turns`: columns of the turns table."""

    schema = TURNS
    desk = SpokenDesk

    def __init__(
        self,
        cell: Cell,
        society: Society,
        settings: Settings,
        speaker: Speaker,
        personas: Bools,
        words: dict[int, str],
        recall: Recall | None,
    ) -> None:
        super().__init__(cell, [cell.seed], society, settings)
        self.speaker, self.personas, self.words, self.recall = speaker, personas, words, recall
        self.turns: dict[str, list[Any]] = {name: [] for name in TURNS.names}
        self._roster: Roster | None = None
        self._acts: list[tuple[int, Act, Ints]] = []

    def moved(self, readers: Ints, who: Ints, shown: Shown) -> Moved:
        """Equations move the built-in residents alone; those who speak say themselves where they stand."""
        moved = super().moved(readers, who, shown)
        speaks = self._speak(readers)
        moved.contribution[speaks[who]] = 0
        for name in ("contributions", "self_term", "clip"):
            getattr(moved, name)[speaks] = 0
        moved.new[speaks] = self.society.x[readers[speaks]]
        return moved

    def reactions(self, tick: int, active: Ints, shown: Shown) -> Ints:
        """Built-in reactions, and the decisions of those who speak."""
        kind = super().reactions(tick, active, shown)
        kind[self._speak(shown.reader)] = NOTHING
        speakers = active[self._speak(active)]
        self._acts = []
        if not len(speakers):
            return kind
        feeds = [np.flatnonzero(shown.reader == agent) for agent in speakers.tolist()]
        turns = self._turns(tick, speakers, feeds, shown)
        acts = self.speaker.speak([turn for turn, *_ in turns])
        for (turn, situation, block), act, places in zip(turns, acts, feeds, strict=True):
            chosen = self._allowed(turn, act)
            self._acts.append((turn.agent, chosen, places))
            if chosen.post is not None and chosen.kind not in {"follow", "unfollow", "mute"}:
                kind[places[chosen.post]] = self._code(chosen, shown.post[places[chosen.post]])
            self._note(turn, situation, block, chosen)
        return kind

    def write(self, desk: Desk, active: Ints, shown: Shown, kind: Ints) -> None:
        """Built-in residents write as ever; then acts, in the order of agents."""
        quiet = np.where(self._speak(shown.reader), NOTHING, kind)
        super().write(desk, active[~self._speak(active)], shown, quiet)
        for agent, act, places in self._acts:
            if act.kind == "nothing":
                continue
            row = None if act.post is None else int(shown.row[places[act.post]])
            rank = 0 if act.post is None else int(shown.rank[places[act.post]])
            if isinstance(desk, SpokenDesk):
                self._apply(desk, agent, act, row, rank)

    # ------------------------------------------------------------------------------------------------------------------- turns

    def _speak(self, rows: Ints) -> Bools:
        persona = self.society.persona[rows]
        return np.asarray((persona >= 0) & self.personas[np.maximum(persona, 0)], dtype=bool)

    def _turns(self, tick: int, speakers: Ints, feeds: Sequence[Ints], shown: Shown) -> list[tuple[Turn, str, str]]:
        society, people = self.society, self._people()
        texts = self._texts(np.concatenate([shown.row[places] for places in feeds]))
        found = []
        for agent, places in zip(speakers.tolist(), feeds, strict=True):
            seen = []
            for at in places.tolist():
                post = shown.post[at]
                kind, to = KINDS[int(post[KIND])], int(post[TARGET])
                seen.append(
                    Seen(
                        episode=int(post[ID]),
                        tick=int(post[TICK]),
                        author_id=people.id[int(post[AUTHOR])],
                        kind="post" if kind == "announcement" else kind,
                        text=texts[int(shown.row[at])],
                        answers=people.id[to] if to >= 0 else None,
                    )
                )
            situation = self._situation(seen)
            block = self.recall(agent, tick, situation) if self.recall else ""
            actions = self.cell.platform.actions
            seed = int.from_bytes(hashlib.sha256(f"turn {self.cell.seed} {tick} {agent}".encode()).digest()[:4], "big") >> 1
            turn = Turn(
                agent=agent,
                tick=tick,
                id=people.id[agent],
                who=self._who(agent, people),
                feed=tuple(seen),
                memory=block,
                actions=tuple(a for a in actions if a in CODES),
                topics=tuple(t.name for t in self.cell.topics),
                seed=seed,
                model=self.cell.personas[int(society.persona[agent])].model,
            )
            found.append((turn, situation, block))
        return found

    def _texts(self, rows: Ints) -> dict[int, str]:
        if not len(rows):
            return {}
        fresh = np.unique(rows)
        return dict(zip(fresh.tolist(), Words(self.cell, self.society.posts, self.words).write(fresh)[0], strict=True))

    def _situation(self, seen: Sequence[Seen]) -> str:
        # The post to answer is the one that the feed puts first; without any, what people here talk about.
        if not seen:
            return ", ".join(t.name for t in self.cell.topics)
        return sentence(seen[0].kind, seen[0].author_id, target=seen[0].answers, text=seen[0].text, language=self.cell.language.code)

    def _who(self, agent: int, people: Roster) -> str:
        persona, words = self.cell.personas[int(self.society.persona[agent])], wording(self.cell.language.code)
        lines = [f"{people.name[agent]}, {persona.name}."]
        about = people.about[agent]
        if about and about != persona.voice:
            lines.append(about)
        if persona.voice:
            lines.append(words.say("turn.voice", voice=persona.voice))
        if persona.goals:
            lines.append(words.say("turn.goals", goals="; ".join(persona.goals)))
        if traits := people.traits[agent]:
            lines.append(words.say("turn.traits", traits=traits))
        stands = []
        for at, topic in enumerate(self.cell.topics):
            stance = int(self.society.x[agent, at]) / GRID
            verb = words.scale(topic.scale)[0 if stance < -SIDE else 2 if stance > SIDE else 1]
            about = f" ({topic.about})" if topic.about else ""
            how = "turn.strong" if abs(stance) > STRONG else "turn.stand"
            stands.append(words.say(how, verb=verb, topic=words.say("topic", topic=topic.name), about=about))
        lines.append(words.say("turn.stands", name=people.name[agent].split(" ")[0], stands="; ".join(stands)))
        return "\n".join(lines)

    def _people(self) -> Roster:
        if self._roster is None or len(self._roster.id) != self.society.count:
            self._roster = founding.roster(self.cell, self.society)
        return self._roster

    def _allowed(self, turn: Turn, act: Act) -> Act:
        # What the society cannot do is nothing, with a reason: no act is bent into another.
        reason = None if act.kind == "nothing" else self._shapeless(turn, act) or self._impossible(turn, act)
        if reason is None:
            return act
        return Act("nothing", reason=f"invalid: {reason}", tokens_in=act.tokens_in, tokens_out=act.tokens_out)

    def _shapeless(self, turn: Turn, act: Act) -> str | None:
        """What is missing of an act."""
        if act.kind not in turn.actions:
            return f"'{act.kind}' is no action of this platform"
        if act.kind not in {"post", "group"} and (act.post is None or not 0 <= act.post < len(turn.feed)):
            return "a post that was not shown"
        if act.kind in WITH_WORDS and not (act.text or "").strip():
            return "no words"
        return None

    def _impossible(self, turn: Turn, act: Act) -> str | None:
        """Why an act cannot be done here and now."""
        if act.kind == "group":
            return None if (self.society.member[turn.agent] >= 0).any() else "in no group"
        if act.kind == "post":
            return None
        author = self._author(turn, act)
        if act.kind == "message":
            return None if self.society.persona[author] >= 0 else "voices read no messages"
        if act.kind in {"follow", "unfollow"}:
            follows = bool((self.society.follows[turn.agent] == author).any())
            wrong = follows if act.kind == "follow" else not follows
            return ("follows already" if follows else "does not follow") if wrong else None
        written = turn.feed[act.post or 0].kind
        if act.kind != "mute" and written in {"message", "group"}:
            can = int(in_private(np.array([CODES[written]]), np.array([CODES[act.kind]]))[0]) != NOTHING
            return None if can else f"a {written} is not for everybody"
        return None

    def _author(self, turn: Turn, act: Act) -> int:
        posts = self.society.posts
        return int(posts.column(AUTHOR)[np.flatnonzero(posts.column(ID) == turn.feed[act.post or 0].episode)[0]])

    def _code(self, act: Act, post: I64) -> int:
        """The code of an act on `post`: an answer to what is private stays where that is."""
        code = CODES[act.kind]
        return int(post[KIND]) if code == REPLY and post[BOOST] == PRIVATE else code

    def _note(self, turn: Turn, situation: str, block: str, act: Act) -> None:
        outcome = act.kind
        if act.kind == "nothing" and act.reason:
            outcome = f"nothing: {act.reason}"
        elif act.post is not None:
            outcome = f"{act.kind} {label(turn.feed[act.post].episode)}"
        row = {
            "tick": turn.tick,
            "agent": turn.agent,
            "situation": situation,
            "block": block,
            "block_tokens": toktok.batch_count([block], "o200k_base", threads=1)[0],
            "tokens_in": act.tokens_in,
            "tokens_out": act.tokens_out,
            "outcome": outcome,
        }
        for name, value in row.items():
            self.turns[name].append(value)

    # -------------------------------------------------------------------------------------------------------------------- acts

    def _apply(self, desk: SpokenDesk, agent: int, act: Act, row: int | None, rank: int) -> None:
        post = None if row is None else self.society.posts.table[row]
        code = CODES[act.kind] if post is None else self._code(act, post)
        if code in {POST, REPLY, QUOTE, REPOST, MESSAGE, TO_GROUP}:
            self._say(desk, agent, act, post, code)
            if row is not None and code in {QUOTE, REPOST}:
                self.society.posts.column(HEAT)[row] += 2
        elif post is not None and row is not None and code in {LIKE, DISLIKE, REPORT}:
            ids = key(np.array([agent]), desk.tick, code, rank)
            on = {"parent": int(post[ID]), "root": int(post[ROOT]), "target": int(post[AUTHOR]), "topic": int(post[TOPIC])}
            desk.add_act(id=ids, kind=code, actor=agent, event=0, **on)
            if post[BOOST] != PRIVATE:
                self.society.posts.column(HEAT)[row] += 1 if code == LIKE else -1
            if code == REPORT:
                desk.report(int(post[WORDS]), agent)
        elif post is not None and code in {FOLLOW, UNFOLLOW, MUTE}:
            desk.tie(agent, int(post[AUTHOR]), code)
        if row is not None and self.rates.of[TREND] > 0.0 and code in {REPLY, QUOTE, REPOST, LIKE, DISLIKE}:
            desk.acted_on(row)

    def _say(self, desk: SpokenDesk, agent: int, act: Act, post: I64 | None, code: int) -> None:
        answers = post is not None and post[BOOST] == PRIVATE
        own = int(key(np.array([agent]), desk.tick, code, int(answers))[0])
        on = {} if post is None else {"root": int(post[ROOT]), "parent": int(post[ID]), "target": int(post[AUTHOR])}
        if code == MESSAGE and not answers:  # on something public: the two begin to talk
            on = {"target": on["target"]}
        if code in {MESSAGE, TO_GROUP}:
            group = self.society.member[agent] if post is None or code == MESSAGE else post[[GROUP]]
            on |= {"boost": PRIVATE, "group": -1 if code == MESSAGE else int(group[group >= 0][0])}
        if code == REPOST and post is not None:
            kept = (TOPIC, STANCE, RELATION, WORDS, WORDS_KIND, EVENT, PERSON, SAYING, REPORTS)
            desk.add_post(id=own, author=agent, kind=code, **on, **{COLUMNS[at]: int(post[at]) for at in kept})
            return
        topic = -1 if act.topic is None else [t.name for t in self.cell.topics].index(act.topic)
        stance = int(grid(np.array([act.stance or 0.0]))[0])
        self.words[own] = act.text or ""
        self._stand(desk.tick, agent, topic, stance)
        relation = self._relation(topic, stance, post) if post is not None and "parent" in on else ALONE
        said = {"topic": topic, "stance": stance, "relation": relation, "words": own, "words_kind": code}
        desk.add_post(**{"root": own, "id": own, "author": agent, "kind": code, **said, **on})

    def _relation(self, topic: int, stance: int, post: I64) -> int:
        if topic < 0 or topic != int(post[TOPIC]):
            return 0
        apart = abs(stance - int(post[STANCE])) / GRID
        return 1 if apart < self.settings.agree else -1 if apart > self.settings.disagree else 0

    def _stand(self, tick: int, agent: int, topic: int, stance: int) -> None:
        # Who speaks declares a stance; it is the agent's own from then on, and logged as its own doing.
        if topic < 0:
            return
        before = int(self.society.x[agent, topic])
        now = max(-ONE, min(ONE, stance))
        if now != before:
            self.society.x[agent, topic] = now
            self.log.stances.add(1, tick=tick, agent=_one(agent), topic=topic, stance=now, contributions=0, self_term=now - before, clip=0)


def _one(value: int) -> Ints:
    return np.array([value], np.int64)


def _added(pairs: tuple[Ints, Ints] | None, reader: Ints, other: Ints) -> tuple[Ints, Ints]:
    return (reader, other) if pairs is None else (np.append(pairs[0], reader), np.append(pairs[1], other))
