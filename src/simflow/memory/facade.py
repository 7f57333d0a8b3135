"""The one way in: a run's memory, read-only, at one moment. The command line, engines, the terminal, HTTP and evaluation all ask here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simflow.episode import label, wording
from simflow.errors import BadInput, NotFound
from simflow.memory import answers, beliefs, block, imported, recall, situation
from simflow.memory import explain as explaining
from simflow.memory.block import Block
from simflow.memory.budget import Line
from simflow.memory.embedders import load
from simflow.memory.explain import Explanation
from simflow.memory.fusion import Conversation
from simflow.memory.graph import Graph
from simflow.memory.history import History
from simflow.memory.knowledge import Knowledge
from simflow.memory.linking import Names
from simflow.memory.recall import Scope
from simflow.memory.relations import graph_arm
from simflow.memory.segments import segments
from simflow.memory.situation import Reader, Situation
from simflow.memory.slots import find_slot, is_entity
from simflow.memory.topics import Gazetteer
from simflow.memory.vectors import embed_texts, readable
from simflow.memory.witness import Witness
from simflow.plan import Memory
from simflow.ports import Embedder
from simflow.store import RunData


def open_memory(run: RunData, *, as_of: int | None = None, embedder: Embedder | None = None) -> MemoryView:
    """A run's memory as of tick `as_of`: nothing that happened at or after it is seen. None is the end of what is committed.

    embedder: the run's own, if it has been made already. Raises BadInput if `as_of` lies outside the run.
    """
    return MemoryView(run, as_of=as_of, embedder=embedder)


class MemoryView:
    """One run's memory at one moment. What it reads is kept, so that the second question is cheap; what is committed later is not seen."""

    def __init__(self, run: RunData, *, as_of: int | None = None, embedder: Embedder | None = None) -> None:
        if not run.end:
            raise NotFound(f"{run.record.id} has no committed window yet", hint="`simflow runs` says how far it is")
        if as_of is not None and not 0 <= as_of <= run.end:
            raise BadInput(
                f"tick {as_of} is outside the run, which is committed up to tick {run.end}", hint=f"a tick between 0 and {run.end}"
            )
        self.run = run
        self.cell = run.cell
        self.words = wording(self.cell.language.code)
        self.as_of = run.end if as_of is None else as_of
        self._given = embedder
        self._embed = lru_cache(maxsize=1024)(self._embed_now)
        self._talks = lru_cache(maxsize=4)(self._talk)
        self._rows = lru_cache(maxsize=512)(self._rows_of)
        self._knowledge = lru_cache(maxsize=512)(self._knowledge_of)

    # ------------------------------------------------------------------------------------------------------------ what it reads

    @cached_property
    def names(self) -> Names:
        """Ids, names and aliases of the agents."""
        return Names(self.run.agents())

    @cached_property
    def history(self) -> History:
        """Everything said, with its vectors, up to the windows that begin before `as_of`."""
        return History(segments(self.run, self.as_of))

    @cached_property
    def witness(self) -> Witness:
        """Who witnessed what."""
        columns = ["episode", "tick", "actor", "kind", "target"]
        return Witness(self.run.table("episodes", columns=columns), self.run.table("exposures", columns=["tick", "reader", "episode"]))

    @cached_property
    def graph(self) -> Graph:
        """What was learnt, as relations between agents."""
        extract, order = self.cell.extract, self.run.table("episodes", columns=["episode", "ordinal"])
        adds = [r.name for r in extract.relations if r.newest == "adds"]
        return Graph(self.run.table("claims"), self.run.table("edges"), order, half_life=extract.evidence_half_life, adds=adds)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder of the run. Raises BadInput if the installed one is not the one that made its vectors."""
        made = self._given or load(self.cell)
        theirs = self.run.record.about().get("ids", {}).get("embedder")
        if theirs is not None and made.id != theirs:
            raise BadInput(
                f"{self.run.record.id} was embedded with '{theirs}', and '{made.id}' is installed: their vectors do not mix",
                hint="install the simflow version of the run, or run the scenario again",
            )
        return made

    @cached_property
    def reader(self) -> Reader:
        """Reads situations."""
        return Reader(self.names, Gazetteer(self.cell.subjects), self.cell.events, self.cell.clock)

    @cached_property
    def _agents(self) -> dict[int, dict[str, Any]]:
        return {row["agent"]: row for row in self.run.agents().to_pylist()}

    @cached_property
    def _sentences(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], pa.Table]:
        table = self.run.table("episodes", columns=["episode", "sentence", "text"])
        keys = table["episode"].to_numpy()
        order = np.argsort(keys, kind="stable")
        return keys[order], order, table

    def sentence(self, episode: int) -> str:
        """The sentence of an episode. Raises NotFound."""
        return self._column(episode, "sentence")

    def _column(self, episode: int, name: str) -> str:
        keys, order, table = self._sentences
        at = int(np.searchsorted(keys, episode))
        if at == len(keys) or keys[at] != episode:
            raise NotFound(f"{self.run.record.id} has no episode {episode}")
        return str(table[name][int(order[at])].as_py() or "")

    def agent(self, agent: int | str) -> int:
        """The index of an agent given by index, id or name. Raises NotFound, or BadInput for a name that several share."""
        if isinstance(agent, str):
            return self.names.find(agent)
        if agent not in self.names.ids:
            raise NotFound(f"there is no agent {agent}", hint=f"{self.run.record.id} has agents 0 to {max(self.names.ids, default=-1)}")
        return agent

    # --------------------------------------------------------------------------------------------------------------- the answers

    def read(self, about: str, tick: int | None = None) -> Situation:
        """How a situation is understood at a tick."""
        return self.reader.read(about, self._tick(tick))

    def recall(self, agent: int | str, tick: int | None, about: str, *, memory: Memory | None = None) -> Block:
        """What `agent` remembers when it is about to act at `tick` (None: at the end), in the situation `about`: its memory block.

        Only what it witnessed before `tick` is used, unless the scope is the world. memory: other settings than the run's.
        """
        who, now, settings = self.agent(agent), self._tick(tick), memory or self.cell.memory
        read = self.reader.read(about, now)
        scope = self._scope(who, now, read, settings)
        lines: list[Line] = list(self._persona(who, now))
        topics = read.topics or self._topics_of(read)
        told: list[Line] = []
        if settings.mode != "vectors":
            told += recall.their_words(self.history, [a for a in read.links.agents if a != who], topics, scope, self._tell)
        if settings.mode == "hybrid" and self.cell.replay is not None:
            told += self._conversation(about, scope, settings)
        elif settings.mode != "graph":
            told += recall.episode_arm(
                self.history, self._embed(about), about, scope, settings, self._tell, self._said, topics=topics, told=told
            )
        if settings.mode != "vectors":
            told += recall.scan_arm(self.history, topics, scope, settings, self._tell, current=read.current, told=told)
            seen = None if settings.scope == "world" else self._knowledge(who).before(now)
            told += graph_arm(
                self.graph, read, who, cell=self.cell, names=self.names, now=now, memory=settings, witnessed=seen, reach=self.reach
            )
        reading = {**situation.describe(read, self.names, [t.name for t in self.cell.subjects]), "now": now}
        return block.build(
            recall.merge([*lines, *told], current=read.current),
            recall.caps(settings, current=read.current),
            agent=who,
            tick=now,
            about=about,
            reading=reading,
            language=self.words.code,
        )

    def reach(self, topic: int, since: int, until: int) -> dict[int, int]:
        """How often each agent's episodes on a topic were shown to others in ticks [since, until): agent -> times."""
        shown = self.run.table("exposures", columns=["tick", "reader", "episode"])
        ticks, episodes = shown["tick"].to_numpy(), shown["episode"].to_numpy()
        rows = self.history.topic_rows([topic], self.history.before(until))
        about, order = np.unique(self.history.episode[rows], return_index=True)
        if not len(about):
            return {}
        shown_now = episodes[(ticks >= since) & (ticks < until)]
        at = np.minimum(np.searchsorted(about, shown_now), len(about) - 1)
        authors, times = np.unique(self.history.actor[rows[order[at[about[at] == shown_now]]]], return_counts=True)
        return dict(zip(authors.tolist(), times.tolist(), strict=True))

    def persona(self, agent: int | str, tick: int | None = None) -> dict[str, Any] | None:
        """The newest persona state of an agent that was made by `tick`: tick, text, tokens, evidence; None if there is none yet."""
        who, now = self.agent(agent), self._tick(tick)
        states = [row for row in self._states.get(who, []) if row["tick"] <= now]
        return states[-1] if states else None

    def search(self, text: str, *, agent: int | str | None = None, tick: int | None = None, top: int = 10) -> list[dict[str, Any]]:
        """The episodes nearest in meaning, by cosine without decay, exactly. agent: only what it witnessed; None searches everything."""
        now = self._tick(tick)
        rows = None if agent is None else self._witnessed(self.agent(agent), now)
        hits = self.history.search(self._embed(text), now=now, top=top, rows=rows)
        return [self._episode(int(row), float(score)) for row, score in zip(hits.rows, hits.scores, strict=True)]

    def entities(self, text: str | None = None, *, limit: int = 50) -> list[dict[str, Any]]:
        """Agents, topics and declared entities: kind, id, name, about, metadata. text: only those that it names, or whose id, name or description holds it."""
        found = answers.entities(self.cell, [row for row in self._agents.values() if row["joined"] < self.as_of])
        if text is not None:
            named = {self.names.show(a) for a in self.names.link(text).agents} | {
                self.cell.subjects[t].name for t in self.read(text).topics
            }
            said = text.casefold().strip()
            found = [e for e in found if e["id"] in named or any(said in str(e[k]).casefold() for k in ("id", "name", "about") if e[k])]
        return found[:limit]

    def relations(
        self,
        agent: int | str | None = None,
        *,
        kind: str | None = None,
        tick: int | None = None,
        known_at: int | None = None,
        limit: int = 100,
    ) -> list[dict[str, Any]]:
        """Edges in force at a tick, newest first. agent: only those that it holds or that are towards it. known_at: as learnt by then."""
        now = self._tick(tick)
        table = beliefs.in_force(self.run.table("edges"), now, min(self.as_of, now if known_at is None else known_at))
        edges = beliefs.rows(table)
        if agent is not None:
            who = self.agent(agent)
            edges = [e for e in edges if who in (e.of, e.on_agent)]
        if kind is not None:
            edges = [e for e in edges if e.kind == kind]
        edges.sort(key=lambda e: (-e.last_seen, -e.valid_from, e.edge))
        return [answers.edge(self.names, e) for e in edges[:limit]]

    def neighborhood(
        self, agents: Sequence[int | str], *, hops: int = 2, tick: int | None = None, viewer: int | str | None = None, limit: int = 100
    ) -> list[dict[str, Any]]:
        """Facts within some hops of agents before a tick, nearest first. viewer: only what follows from what it witnessed."""
        now = self._tick(tick)
        seen = None if viewer is None else self._knowledge(self.agent(viewer)).before(now)
        facts = self.graph.facts([self.agent(a) for a in agents], hops=hops, until=now, known_at=now, witnessed=seen)
        return [answers.fact(self.cell, self.names, f) for f in facts[:limit]]

    def explain(
        self,
        agent: int | str,
        *,
        topic: str | None = None,
        towards: int | str | None = None,
        kind: str | None = None,
        tick: int | None = None,
        known_at: int | None = None,
    ) -> Explanation:
        """Why an agent believes something: the edge in force, superseded ones, claims, episodes. Raises NotFound, BadInput.

        towards: an agent, or an entity that the scenario declares.
        """
        who, now = self.agent(agent), self._tick(tick)
        if isinstance(towards, str) and topic is None and is_entity(self.cell, towards):
            topic, towards = towards, None
        known = min(self.as_of, self.as_of if known_at is None else known_at)
        slot = find_slot(self._record, who, topic=topic, towards=None if towards is None else self.agent(towards), kind=kind)
        return explaining.explain(self._record, slot, now, known)

    def beliefs(self, agent: int | str, *, tick: int | None = None, known_at: int | None = None) -> list[Explanation]:
        """Why an agent believes each thing that it was ever believed to believe, opinions first; what is not in force at the tick is among them."""
        who, now = self.agent(agent), self._tick(tick)
        known = min(self.as_of, self.as_of if known_at is None else known_at)
        return [explaining.explain(self._record, slot, now, known) for slot in explaining.slots_of(self._record, who)]

    def snapshot(self) -> Any:
        """The LanceDB table as of the last window that ends by `as_of`, read-only: for whoever wants to search it directly."""
        done = self.run.until(self.as_of)
        if not done:
            raise NotFound(
                f"no window of {self.run.record.id} ends by tick {self.as_of}",
                hint=f"the first one ends at tick {self.run.windows[0].stop}",
            )
        return self.run.lance(done[-1].number)

    # ----------------------------------------------------------------------------------------------------------------- its parts

    @cached_property
    def _record(self) -> explaining.Record:
        tables = (self.run.table(name) for name in ("episodes", "claims", "edges"))
        return explaining.Record.of(self.cell, self.run.agents(), *tables)

    def _episode(self, row: int, score: float) -> dict[str, Any]:
        episode, actor = int(self.history.episode[row]), int(self.history.actor[row])
        return {
            "episode": label(episode),
            "tick": int(self.history.tick[row]),
            "actor": self.names.show(actor),
            "sentence": self.sentence(episode),
            "score": round(score, 6),
        }

    def _conversation(self, about: str, scope: Scope, settings: Memory) -> list[Line]:
        within = recall.within(self.history, scope)
        stop = self.history.before(scope.now)
        rows = np.arange(stop, dtype=np.int64) if within is None else within[within < stop]
        if not len(rows):
            return []
        talk = self._talks(rows.tobytes())
        return imported.lines(
            talk, self.history, rows, about, self._embed(about), readable=readable(self.embedder, about), top=settings.top, tell=self._tell
        )

    def _talk(self, rows: bytes) -> Conversation:
        numbers = np.frombuffer(rows, np.int64)
        keys, order, _ = self._sentences
        at = order[np.searchsorted(keys, self.history.episode[numbers])]
        table = self.run.table("episodes", columns=["actor", "root", "target", "kind", "text"]).take(pa.array(at))
        columns = (table[name].to_pylist() for name in ("actor", "root", "target", "kind"))
        groups = [frozenset((actor, target)) if kind == "message" else root for actor, root, target, kind in zip(*columns, strict=True)]
        return imported.talk(
            self.history,
            numbers,
            texts=[text or "" for text in table["text"].to_pylist()],
            actors=[self.names.names[a] for a in table["actor"].to_pylist()],
            groups=groups,
            minutes=self.cell.clock.minutes,
        )

    @cached_property
    def _states(self) -> dict[int, list[dict[str, Any]]]:
        found: dict[int, list[dict[str, Any]]] = {}
        for row in self.run.table("personas").sort_by("tick").to_pylist():
            found.setdefault(row["agent"], []).append(row)
        return found

    def _tick(self, tick: int | None) -> int:
        if tick is None:
            return self.as_of
        if not 0 <= tick <= self.as_of:
            raise BadInput(
                f"tick {tick} is not in what is remembered, which ends at tick {self.as_of}", hint=f"a tick between 0 and {self.as_of}"
            )
        return tick

    def _scope(self, agent: int, now: int, read: Situation, settings: Memory) -> Scope:
        # What is asked about may end earlier than what has been witnessed by now.
        end = now if read.as_of is None else min(read.as_of + 1, now)
        if settings.scope == "world":
            return Scope(end, read.since, None)
        return Scope(end, read.since, self._witnessed(agent, now))

    @cached_property
    def _by_episode(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        order = np.argsort(self.history.episode, kind="stable").astype(np.int64)
        return self.history.episode[order], order

    def _witnessed(self, agent: int, now: int) -> npt.NDArray[np.int64]:
        # History rows, oldest first; episodes without words have none.
        rows, when = self._rows(agent)
        return rows[when < now]

    def _rows_of(self, agent: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        seen, (keys, order) = self.witness.seen(agent), self._by_episode
        if not len(keys):
            return np.empty(0, np.int64), np.empty(0, np.int32)
        at = np.minimum(np.searchsorted(keys, seen.episodes), len(keys) - 1)
        there = keys[at] == seen.episodes
        rows, when = order[at[there]], seen.ticks[there]
        by_age = np.argsort(rows)
        return rows[by_age], when[by_age]

    def _knowledge_of(self, agent: int) -> Knowledge:
        seen = self.witness.seen(agent)
        return self.graph.knowledge(seen.episodes, seen.ticks)

    def _tell(self, row: int) -> str:
        said = recall.flat(self.sentence(int(self.history.episode[row])))
        return self.words.say("line", tick=int(self.history.tick[row]), sentence=said)

    def _said(self, row: int) -> str:
        return self._column(int(self.history.episode[row]), "text")

    def _topics_of(self, read: Situation) -> tuple[int, ...]:
        del read
        return (0,) if len(self.cell.topics) == 1 else ()

    def _persona(self, agent: int, now: int) -> list[Line]:
        row = self._agents[agent]
        kind = f", {row['persona']}" if row["persona"] else ", " + str(row["about"]) if row["about"] else ""
        state = self.persona(agent, now)
        text = None if state is None else str(state["text"])
        evidence = () if state is None else tuple(state["evidence"])
        return recall.persona_lines(f"{row['name']} (@{row['id']}){kind}", text, evidence)

    def _embed_now(self, about: str) -> npt.NDArray[np.float32]:
        vector: npt.NDArray[np.float32] = embed_texts([about], self.embedder)[0]
        return vector
