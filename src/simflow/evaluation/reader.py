"""A deterministic reader: answers a question from a memory block alone, so that no model judges and nothing but the block is measured.

Facts are read as the words they are. An episode in the block is read perfectly (its label is looked up in the truth): what is measured is
whether memory brought it, not whether somebody understands it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simflow.evaluation.questions import TAIL, Known, Question
from simflow.memory.block import Block
from simflow.memory.relations import ATTITUDES, past_of, verbs_of

_TIMES = re.compile(r"\((?:(?P<n>\d+) times(?:, last)?|once) at tick (?P<tick>\d+)\)")
_SINCE = re.compile(r"since tick (\d+)")
_BEFORE = re.compile(r"; (?P<verb>.+?) (?:it|them) from tick (?P<low>\d+) until tick (?P<high>\d+)$")
_MOVED = re.compile(r"^@(\S+) has moved (\d+) (?:person|people) about")


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
    named = [
        agents[m.group(1)] for line in block.lines if line.kind == "relation" and (m := _MOVED.match(line.text)) and m.group(1) in agents
    ]
    if named:
        return tuple(dict.fromkeys(named))[:5]
    authors = [known.episodes[line.episode]["actor"] for line in block.lines if line.episode is not None and line.episode in known.episodes]
    return tuple(dict.fromkeys(authors))[:5]


def claims_pair(block: Block, known: Known, people: tuple[int, ...]) -> bool:
    """Whether any fact of the block ties the two people together."""
    a, b = (re.escape(f"@{known.ids[p]}") + r"(?![\w.-])" for p in people)
    return any(line.kind == "relation" and re.search(a, line.text) and re.search(b, line.text) for line in block.lines)


def _fact(question: Question, text: str, known: Known) -> Told | None:
    people = question.people
    if len(people) == 1:
        topic = known.run.cell.topics[question.topic or 0].name
        verbs = verbs_of(known.run.cell, topic)
        head = {f"@{known.ids[people[0]]} {verb} {topic}": sign for sign, verb in zip((-1, 0, 1), verbs, strict=True)}
    else:
        verbs = ATTITUDES
        head = {f"@{known.ids[people[0]]} {verb} @{known.ids[people[1]]}": sign for sign, verb in zip((-1, 0, 1), verbs, strict=True)}
    match = next((sign for start, sign in head.items() if text.startswith(start) and not text[len(start) : len(start) + 1].isalnum()), None)
    if match is None:
        return None
    times, since, before = _TIMES.search(text), _SINCE.search(text), _BEFORE.search(text)
    if question.at is not None and since and int(since.group(1)) > question.at:
        # In force only later: what its history says of the time asked about.
        were = [past_of(verb, known.run.cell.language.code) for verb in verbs]
        if before and int(before["low"]) <= question.at < int(before["high"]) and before["verb"] in were:
            return Told(were.index(before["verb"]) - 1, int(before["high"]), 1)
        return None
    return Told(match, int(times["tick"]) if times else 0, int(times["n"] or 1) if times else 1)
