"""Questions about a run whose answers are known from its ground truth, built by code: who asks, when, about what, and what is right."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simflow.episode import TEXT_KINDS, wording
from simflow.memory.evidence import label_of
from simflow.memory.witness import Witness
from simflow.store import RunData

CLASSES = {
    "topical": "about to answer a post: an earlier episode with the same argument is in the block",
    "current": "what is being said about a topic now: the last eight witnessed episodes on it are in the block",
    "own_relation": "about to answer somebody: does the viewer agree with them",
    "third_party": "what one agent thinks of another, from what the viewer witnessed",
    "stance_now": "where somebody stands who has changed sides, the viewer having seen both",
    "stance_then": "where they stood at a tick before they changed",
    "influence": "who moved others most on a topic between two ticks",
    "never_happened": "a pair that never dealt with each other: nothing is claimed about them",
    "leakage": "a pair whose dealings the viewer saw nothing of: nothing of them is known",
}
LEAST, MAJORITY, TAIL = 3, 0.75, 500
"""Dealings that a relation needs; the share of them that must point one way; half-life of old ones in ticks."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. label: -1 or +1, None where the answer is no label. gold: episodes that answer it. people: the agents that it is about.

    at: the tick asked about, if it is not now. traps: what makes it harder than it looks.
    """

    kind: str
    viewer: int
    tick: int
    text: str
    people: tuple[int, ...] = ()
    topic: int | None = None
    label: int | None = None
    gold: tuple[int, ...] = ()
    ranked: tuple[int, ...] = ()
    at: int | None = None
    scope: str = "witnessed"
    traps: tuple[str, ...] = ()


class Deal(NamedTuple):
    """One act of an agent towards another: +1, 0 or -1."""

    tick: int
    label: int
    episode: int


@dataclass
class Known:
    """A run's episodes and its truth, indexed. Only evaluation may make one."""

    run: RunData
    deals: dict[tuple[int, int], list[Deal]] = field(default_factory=lambda: defaultdict(list))
    said: dict[tuple[int, int], list[Deal]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.words = wording(self.run.cell.language.code)
        columns = ["episode", "tick", "ordinal", "actor", "kind", "target", "parent", "text", "sentence"]
        table = self.run.table("episodes", columns=columns)
        self.episodes: dict[int, dict[str, Any]] = {row["episode"]: row for row in table.to_pylist()}
        self.witness = Witness(table, self.run.table("exposures", columns=["tick", "reader", "episode"]))
        agents = self.run.agents()
        self.ids = dict(zip(agents["agent"].to_pylist(), agents["id"].to_pylist(), strict=True))
        self.residents = [a for a, voice in zip(agents["agent"].to_pylist(), agents["is_voice"].to_pylist(), strict=True) if not voice]
        first: dict[str, int] = defaultdict(int)
        for name in agents["name"].to_pylist():
            first[name.split()[0]] += 1
        names = zip(agents["agent"].to_pylist(), agents["name"].to_pylist(), strict=True)
        self.homonyms = {a for a, name in names if first[name.split()[0]] > 1}
        for row in self.run.truth("relations").sort_by("tick").to_pylist():
            self.deals[row["actor"], row["target"]].append(Deal(row["tick"], row["label"], row["episode"]))
        self.arguments: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self.on_topic: dict[int, int] = {}
        for row in self.run.truth("statements").to_pylist():
            episode = self.episodes.get(row["episode"])
            if episode is None:
                continue
            self.on_topic[row["episode"]] = row["topic"]
            if row["argument"] is not None and row["argument"] >= 0 and row["side"]:
                self.arguments[row["topic"], row["argument"], row["side"]].append(row["episode"])
            if episode["kind"] in TEXT_KINDS and episode["kind"] != "repost":
                self.said[episode["actor"], row["topic"]].append(Deal(episode["tick"], label_of(row["stance"]), row["episode"]))
        for told in self.said.values():
            told.sort(key=lambda d: (d.tick, self.episodes[d.episode]["ordinal"]))

    @cached_property
    def argument_of(self) -> dict[int, tuple[int, int, int]]:
        """(topic, argument, side) of each episode that argues."""
        return {episode: key for key, episodes in self.arguments.items() for episode in episodes}

    @cached_property
    def impacts(self) -> pa.Table:
        """Who moved whom by how much."""
        return self.run.truth("impacts")

    def label(self, episode: int, people: tuple[int, ...]) -> int | None:
        """What an episode says of the relation of the first of two people to the second, or of one to a topic; None if nothing."""
        row = self.episodes.get(episode)
        if row is None or row["actor"] != people[0]:
            return None
        wanted = self.deals[people[0], people[1]] if len(people) > 1 else [d for k, v in self.said.items() if k[0] == people[0] for d in v]
        return next((d.label for d in wanted if d.episode == episode), None)


def build(known: Known, count: int, seed: int = 0) -> list[Question]:
    """Up to `count` questions of each class, drawn by seed; fewer where the run does not hold as many."""
    makers: dict[str, Callable[[Known, np.random.Generator], Iterator[Question]]] = {
        "topical": _topical,
        "current": _current,
        "own_relation": _own,
        "third_party": _third,
        "stance_now": _now,
        "stance_then": _then,
        "influence": _influence,
        "never_happened": _never,
        "leakage": _leakage,
    }
    found: list[Question] = []
    for number, kind in enumerate(CLASSES):
        drawn: dict[tuple[Any, ...], Question] = {}
        for question in makers[kind](known, np.random.default_rng([seed, number])):
            drawn.setdefault((question.viewer, question.tick, question.text), question)
            if len(drawn) >= count:
                break
        found += drawn.values()
    return found


def _moments(known: Known, rng: np.random.Generator, tries: int) -> Iterator[tuple[int, int, np.ndarray[Any, np.dtype[np.int64]]]]:
    # A viewer, a tick in the later two thirds of the run, and what it has witnessed by then.
    end = known.run.end
    for _ in range(tries):
        viewer = int(known.residents[int(rng.integers(len(known.residents)))])
        tick = int(rng.integers(end // 3, end + 1))
        seen = known.witness.seen(viewer).before(tick)
        if len(seen) >= LEAST:
            yield viewer, tick, seen


def _topical(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    for viewer, tick, seen in _moments(known, rng, 20000):
        row = known.episodes[int(seen[int(rng.integers(len(seen)))])]
        key = known.argument_of.get(row["episode"])
        if row["actor"] == viewer or key is None or row["kind"] == "repost":
            continue
        members = set(known.arguments[key])
        gold = tuple(
            int(e) for e in seen if int(e) in members and int(e) != row["episode"] and known.episodes[int(e)]["tick"] < row["tick"]
        )
        if gold:
            at = min(row["tick"] + 1, tick)
            yield Question("topical", viewer, at, f"{row['sentence']} You are about to answer.", (row["actor"],), key[0], gold=gold)


def _current(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    topics = known.run.cell.topics
    for viewer, tick, seen in _moments(known, rng, 20000):
        topic = int(rng.integers(len(topics)))
        on = [int(e) for e in seen if known.on_topic.get(int(e)) == topic]
        newest = sorted(on, key=lambda e: (known.episodes[e]["tick"], known.episodes[e]["ordinal"]))[-8:]
        if len(newest) == 8:
            yield Question(
                "current", viewer, tick, f"What are people saying about {topics[topic].name} now?", (), topic, gold=tuple(newest)
            )


def verdict(deals: list[Deal], now: int) -> int | None:
    """The sign of a pair's dealings: at least LEAST, MAJORITY of them one way, and the decayed sum the same way; None if unclear."""
    if len(deals) < LEAST:
        return None
    total = sum(d.label * 0.5 ** ((now - d.tick) / TAIL) for d in deals)
    sign = 1 if total > 0 else -1
    return sign if sum(d.label == sign for d in deals) >= MAJORITY * len(deals) else None


def _own(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    partners: dict[int, list[int]] = defaultdict(list)
    for (a, b), deals in known.deals.items():
        if len(deals) >= LEAST:
            partners[a].append(b)
    for viewer, tick, seen in _moments(known, rng, 20000):
        if not partners[viewer]:
            continue
        other = partners[viewer][int(rng.integers(len(partners[viewer])))]
        deals = [d for d in known.deals[viewer, other] if d.tick < tick]
        label = verdict(deals, tick)
        posts = [known.episodes[int(e)] for e in seen if known.episodes[int(e)]["actor"] == other and known.episodes[int(e)]["text"]]
        if label is None or not posts:
            continue
        text = f"{max(posts, key=lambda r: (r['tick'], r['ordinal']))['sentence']} You are about to answer @{known.ids[other]}."
        yield Question("own_relation", viewer, tick, text, (viewer, other), label=label, traps=_traps(known, viewer, (other,), seen))


def _third(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    for viewer, tick, seen in _moments(known, rng, 20000):
        pairs: dict[tuple[int, int], list[Deal]] = defaultdict(list)
        for episode in seen:
            row = known.episodes[int(episode)]
            if row["target"] is not None and viewer not in (row["actor"], row["target"]):
                pairs[row["actor"], row["target"]].extend(
                    d for d in known.deals[row["actor"], row["target"]] if d.episode == row["episode"]
                )
        for (a, b), deals in pairs.items():
            label = verdict(deals, tick)
            if label is not None:
                text = f"What does @{known.ids[a]} think of @{known.ids[b]}?"
                yield Question("third_party", viewer, tick, text, (a, b), label=label, traps=_traps(known, viewer, (a, b), seen))


def _flips(known: Known, rng: np.random.Generator) -> Iterator[tuple[int, int, int, int, list[Deal], np.ndarray[Any, np.dtype[np.int64]]]]:
    both = [key for key, told in known.said.items() if {d.label for d in told} >= {-1, 1}]
    if not both:
        return
    for viewer, tick, seen in _moments(known, rng, 60000):
        agent, topic = both[int(rng.integers(len(both)))]
        if agent == viewer:
            continue
        witnessed = set(seen.tolist())
        told = [d for d in known.said[agent, topic] if d.episode in witnessed and d.tick < tick]
        if told and told[-1].label and -told[-1].label in {d.label for d in told}:
            yield viewer, tick, agent, topic, told, seen


def _now(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    for viewer, tick, agent, topic, told, seen in _flips(known, rng):
        text = f"Where does @{known.ids[agent]} stand on {known.run.cell.topics[topic].name}?"
        traps = _traps(known, viewer, (agent,), seen, told)
        yield Question("stance_now", viewer, tick, text, (agent,), topic, told[-1].label, (told[-1].episode,), traps=traps)


def _then(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    for viewer, tick, agent, topic, told, seen in _flips(known, rng):
        before = [d for d in told if d.label == -told[-1].label]
        at = before[int(rng.integers(len(before)))].tick
        last = [d for d in told if d.tick <= at][-1]
        if not last.label:
            continue
        text = f"Where did @{known.ids[agent]} stand on {known.run.cell.topics[topic].name} at tick {at}?"
        traps = _traps(known, viewer, (agent,), seen, told)
        yield Question("stance_then", viewer, tick, text, (agent,), topic, last.label, (last.episode,), at=at, traps=traps)


def _influence(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    moved = known.impacts
    columns = {name: moved[name].to_numpy() for name in ("tick", "author", "topic", "contribution")}
    end, topics = known.run.end, known.run.cell.topics
    for _ in range(2000):
        low = int(rng.integers(0, max(end - end // 4, 1)))
        high = int(rng.integers(low + end // 5, end + 1)) if low + end // 5 < end else end
        topic = int(rng.integers(len(topics)))
        keep = (columns["tick"] >= low) & (columns["tick"] <= high) & (columns["topic"] == topic)
        authors, where = np.unique(columns["author"][keep], return_inverse=True)
        amounts = (
            np.bincount(where, np.abs(columns["contribution"][keep].astype(np.float64)), len(authors)) if len(authors) else np.empty(0)
        )
        ranked = authors[np.argsort(-amounts, kind="stable")][:5]
        if len(ranked) == 5 and amounts.max() > 0:
            text = f"Who influenced the {topics[topic].name} debate between tick {low} and {high}?"
            viewer = int(known.residents[int(rng.integers(len(known.residents)))])
            yield Question("influence", viewer, end, text, (), topic, ranked=tuple(int(a) for a in ranked), scope="world")


def _never(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    for viewer, tick, _ in _moments(known, rng, 20000):
        a, b = (int(known.residents[int(rng.integers(len(known.residents)))]) for _ in range(2))
        if len({a, b, viewer}) == 3 and not known.deals.get((a, b)) and not known.deals.get((b, a)):
            yield Question("never_happened", viewer, tick, f"What does @{known.ids[a]} think of @{known.ids[b]}?", (a, b))


def _leakage(known: Known, rng: np.random.Generator) -> Iterator[Question]:
    pairs = [pair for pair, deals in known.deals.items() if len(deals) >= LEAST]
    if not pairs:
        return
    for viewer, tick, seen in _moments(known, rng, 40000):
        a, b = pairs[int(rng.integers(len(pairs)))]
        if viewer in (a, b):
            continue
        secret = [d.episode for pair in ((a, b), (b, a)) for d in known.deals.get(pair, [])]
        early = [d for d in known.deals[a, b] if d.tick < tick]
        if len(early) >= LEAST and not set(secret) & set(seen.tolist()):
            text = f"What does @{known.ids[a]} think of @{known.ids[b]}?"
            yield Question("leakage", viewer, tick, text, (a, b), gold=tuple(secret))


def _traps(
    known: Known, viewer: int, people: tuple[int, ...], seen: np.ndarray[Any, np.dtype[np.int64]], told: list[Deal] | None = None
) -> tuple[str, ...]:
    found = []
    if any(a in known.homonyms for a in people):
        found.append("name_collision")
    if any(known.episodes[d.episode]["kind"] == "mute" for a in people for d in known.deals.get((viewer, a), [])):
        found.append("muted_author")
    if told:
        old = {d.episode for d in told if d.label == -told[-1].label}
        rows = (known.episodes[int(e)] for e in seen)
        if any(r["kind"] == "repost" and r["parent"] in old and r["tick"] > told[-1].tick for r in rows):
            found.append("repost_of_old_stance")
        if len({d.tick for d in told}) < len(told):
            found.append("twice_in_one_tick")
        changes = [d.label for d in told if d.label]
        if sum(x != y for x, y in itertools.pairwise(changes)) >= 2:
            found.append("changed_twice")
    return tuple(found)
