"""A deterministic reader: answers a question from a memory block alone, so that no model judges and nothing but the block is measured.

Facts are read as the words they are. An episode in the block is read perfectly (its label is looked up in the truth): what is measured is
whether memory brought it, not whether somebody understands it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simflow.episode import Wording
from simflow.evaluation.questions import TAIL, Known, Question
from simflow.memory.block import Block
from simflow.memory.relations import past_of, verbs_of

_SEEN = ("once", "times", "times_last", "once_since", "times_since")
_NUMBER, _N, _LAST = r"(\d+)", r"(?P<n>\d+)", r"(?P<last>\d+)"


@dataclass(frozen=True, slots=True)
class Told:
    """What one line of a block says on the matter: a label, when it was last so, how often."""

    label: int
    tick: int
    times: int


def answer(question: Question, block: Block, known: Known) -> int | None:
    """-1 or +1 as the block has it, None where it says nothing on the matter."""
    facts = [told for line in block.lines if line.kind == "relation" and (told := _fact(question, line.text, known)) is not None]
    shown = [e for line in block.lines if line.kind in {"episode", "scan"} and (e := line.episode) is not None]
    newest = max((f.tick for f in facts), default=-1)
    seen = []
    for episode in dict.fromkeys(shown):
        row, label = known.episodes.get(episode), known.label(episode, question.people)
        if row is None or label is None or (len(question.people) == 1 and known.on_topic.get(episode) != question.topic):
            continue
        if question.at is not None and row["tick"] > question.at:
            continue
        # On a stance, words as new as the newest belief are believed rather than what was made of them.
        if row["tick"] > newest or (row["tick"] == newest and len(question.people) == 1):
            seen.append(Told(label, row["tick"], 1))
    known_now = seen + facts
    if not known_now:
        return None
    if len(question.people) == 1:
        return max(known_now, key=lambda t: t.tick).label
    total = float(sum(t.label * t.times * 0.5 ** ((question.tick - t.tick) / TAIL) for t in known_now))
    return 1 if total > 0 else -1 if total < 0 else None


def leaders(block: Block, known: Known) -> tuple[int, ...]:
    """Agents that a block names as having moved others, in its order; without such lines, the authors of its episodes."""
    agents = {identity: agent for agent, identity in known.ids.items()}
    anything = {"times": ".*", "topic": ".*"}
    told = [
        leader
        for people in known.words.patterns("fact.people", n=_NUMBER)
        for leader in known.words.patterns("fact.leader", agent=r"@(?P<agent>\S+)", people=people.pattern, **anything)
    ]
    lines = [line.text for line in block.lines if line.kind == "relation"]
    found = [m["agent"] for text in lines for pattern in told if (m := pattern.match(text))]
    named = [agents[identity] for identity in found if identity in agents]
    if named:
        return tuple(dict.fromkeys(named))[:5]
    authors = [known.episodes[line.episode]["actor"] for line in block.lines if line.episode is not None and line.episode in known.episodes]
    return tuple(dict.fromkeys(authors))[:5]


def claims_pair(block: Block, known: Known, people: tuple[int, ...]) -> bool:
    """Whether any fact of the block ties the two people together."""
    a, b = (re.escape(f"@{known.ids[p]}") + r"(?![\w.-])" for p in people)
    return any(line.kind == "relation" and re.search(a, line.text) and re.search(b, line.text) for line in block.lines)


def _fact(question: Question, text: str, known: Known) -> Told | None:
    people, words, cell = question.people, known.words, known.run.cell
    topic = cell.topics[question.topic or 0].name if len(people) == 1 else None
    of, on = f"@{known.ids[people[0]]}", f"@{known.ids[people[-1]]}" if topic is None else words.say("topic", topic=topic)
    read = read_fact(words, text, of, verbs_of(cell, topic), on)
    if read is None:
        return None
    if question.at is not None and read.since is not None and read.since > question.at:
        # In force only later: what its history says of the time asked about.
        before = read.before
        return Told(before.label, before.stop, 1) if before and before.start <= question.at < before.stop else None
    return Told(read.label, read.last, read.times)


@dataclass(frozen=True, slots=True)
class Past:
    """What was so in ticks [start, stop)."""

    label: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Read:
    """A fact as it was read: its label, since when, when it was last said and how often, what was so before."""

    label: int
    since: int | None
    last: int
    times: int
    before: Past | None = None


def read_fact(words: Wording, text: str, of: str, verbs: Sequence[str], on: str) -> Read | None:
    """What `simflow.memory.relations.tell` wrote of `of` and `on`; None for a line on anything else.

    of: `@id`. verbs: those of -1, 0 and +1. on: an `@id`, or a topic as it stands in a sentence.
    """
    heads = {words.say("fact.head", of=of, verb=verb, on=on): sign for sign, verb in zip((-1, 0, 1), verbs, strict=True)}
    label = next((sign for head, sign in heads.items() if text.startswith(head) and not text[len(head) : len(head) + 1].isalnum()), None)
    if label is None:
        return None
    text = text[max(len(head) for head in heads if text.startswith(head)) :]
    since = _search(words, text, "fact.since", tick=_NUMBER)
    seen = next((m for key in _SEEN if (m := _search(words, text, f"fact.{key}", last=_LAST, n=_N))), None)
    said = {} if seen is None else seen.groupdict()
    last, times = int(said.get("last", since[1] if since else 0)), int(said.get("n", 1))
    return Read(label, int(since[1]) if since else None, last, times, _past(words, text, verbs, on))


def _past(words: Wording, text: str, verbs: Sequence[str], on: str) -> Past | None:
    were = [past_of(verb, words.code) for verb in verbs]
    among = "|".join(re.escape(was) for was in sorted(were, key=len, reverse=True))
    for key in ("fact.past_topic", "fact.past_agent"):
        for pattern in words.patterns(key, was=f"(?P<was>{among})", on=re.escape(on), start=r"(?P<start>\d+)", stop=r"(?P<stop>\d+)"):
            if found := re.search(f"{pattern.pattern}$", text):
                return Past(were.index(found["was"]) - 1, int(found["start"]), int(found["stop"]))
    return None


def _search(words: Wording, text: str, key: str, **given: str) -> re.Match[str] | None:
    return next((m for pattern in words.patterns(key, **given) if (m := pattern.search(text))), None)
