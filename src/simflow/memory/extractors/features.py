"""What the classifiers look at: counts of cues in the clauses of a text, the same in every language. Nothing else of the text gets in."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simflow.memory.extractors.lexicon import Cue, Lexicon
from simflow.memory.topics import stem, words

Vector = npt.NDArray[np.float64]
_CLAUSE = re.compile(r"[^.!?;:…\n]+[.!?;:…\n]*")
_QUOTED = re.compile(r"[\"“«„][^\"”»“]{3,}[\"”»“]")
STANCE = (
    "position for", "position against", "position neutral", "strong position for", "strong position against",
    "judgement for", "judgement against", "judgement neutral", "conceded for", "conceded against",
    "first position", "last position", "last judgement", "balance", "clash", "asks", "soft", "quotes", "irony",
)  # fmt: skip
"""Names of the numbers of `stance`, in order."""
ANSWER = ("agree", "mixed", "disagree", "first agree", "first mixed", "first disagree", "clash", "asks", "short", "contrast")
"""Names of the numbers of `answer`, in order."""


_REFUSAL = re.compile(r"(?:^|(?<=[.!?]\s))(?:no|não|ні)\s*,", re.IGNORECASE)
EARLY, SHORT = 3, 3
"""A single short word answers only among the first three words of its clause: later on "no" and "true" mean something else."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The numbers of one text, the cue that says most as words of the text (None if it cannot be quoted), and whether there was any cue."""

    numbers: Vector
    quote: str | None
    heard: bool


def clauses(text: str, lexicon: Lexicon) -> list[tuple[str, bool]]:
    """(clause, conceded): what stands before a contrast is conceded when it begins as a concession does."""
    found: list[tuple[str, bool]] = []
    for sentence in _CLAUSE.findall(text):
        parts = _split(sentence, lexicon)
        for at, part in enumerate(parts):
            stems = [stem(w) for w, _, _ in words(part)]
            conceded = at + 1 < len(parts) and (lexicon.starts(stems, lexicon.concessions) or at == 0)
            found.append((part, conceded))
    return found


def _split(sentence: str, lexicon: Lexicon) -> list[str]:
    tokens = words(sentence)
    stems = [stem(w) for w, _, _ in tokens]
    cuts = [at for at in range(1, len(stems)) if any(tuple(stems[at : at + size]) in lexicon.contrasts for size in (1, 2, 3))]
    bounds = [0, *(tokens[at][1] for at in cuts), len(sentence)]
    return [part for low, high in itertools.pairwise(bounds) if (part := sentence[low:high]).strip(" ,")]


def stance(text: str, lexicon: Lexicon, topic: Sequence[str] = ()) -> Reading:
    """Numbers of `STANCE` for a text. topic: words that name the topic; phrases are found across them ("reject the tariff outright")."""
    # "No, ..." answers; it does not turn round what follows.
    bare = _REFUSAL.sub(" ", _QUOTED.sub(lambda m: m.group() if len(m.group()) < 40 else " ", text))
    skip = lexicon.fillers | {stem(w) for name in topic for w, _, _ in words(name)}
    numbers = dict.fromkeys(STANCE, 0.0)
    best: tuple[float, str] | None = None
    for part, conceded in clauses(bare, lexicon):
        tokens = [t for t in words(part) if stem(t[0]) not in skip]
        stems = [stem(w) for w, _, _ in tokens]
        cues = lexicon.cues(stems, "position", "judgement")
        numbers["irony"] += lexicon.holds(stems, lexicon.irony) or lexicon.holds([stem(w) for w, _, _ in words(part)], lexicon.irony)
        for cue in cues:
            side = "for" if cue.value > 0 else "against" if cue.value < 0 else "neutral"
            if conceded and side != "neutral":
                numbers[f"conceded {side}"] += 1
                continue
            numbers[f"{cue.table} {side}"] += 1
            if cue.table == "position":
                if abs(cue.value) > 0.6:
                    numbers[f"strong position {side}"] += 1
                numbers["first position"] = numbers["first position"] or cue.value
                numbers["last position"] = cue.value
            else:
                numbers["last judgement"] = cue.value
            worth = (2.0 if cue.table == "position" else 1.0) + abs(cue.value)
            if best is None or worth > best[0]:
                best = (worth, part[tokens[cue.begin][1] : tokens[cue.end - 1][2]])
        numbers["soft"] += any(w in lexicon.softeners for w in stems)
    pro = 2 * numbers["position for"] + numbers["judgement for"]
    con = 2 * numbers["position against"] + numbers["judgement against"]
    numbers["balance"] = (pro - con) / (1 + pro + con)
    numbers["clash"] = min(pro, con)
    numbers["asks"] = float("?" in bare)
    numbers["quotes"] = float(bare != text)
    vector = np.array([numbers[name] for name in STANCE])
    heard = best is not None or numbers["irony"] > 0 or numbers["conceded for"] + numbers["conceded against"] > 0
    return Reading(np.clip(vector, -3, 3), None if best is None or best[1] not in text else best[1], heard)


def answer(text: str, lexicon: Lexicon) -> Reading:
    """Numbers of `ANSWER` for a reply or a quote: agreement is said first, so its first clause counts apart."""
    numbers = dict.fromkeys(ANSWER, 0.0)
    parts = clauses(text, lexicon)
    quote: str | None = None
    for at, (part, _) in enumerate(parts[:3]):
        tokens = [t for t in words(part) if stem(t[0]) not in lexicon.fillers] or words(part)
        stems = [stem(w) for w, _, _ in tokens]
        cues = lexicon.cues(stems, "answer")
        for cue in cues:
            if cue.end - cue.begin == 1 and cue.begin > EARLY and len(stems[cue.begin]) <= SHORT:
                continue
            side = _side(cue)
            numbers[side] += 1
            if at == 0:
                numbers[f"first {side}"] += 1
            if quote is None:
                quote = part[tokens[cue.begin][1] : tokens[cue.end - 1][2]]
        if at == 1 and lexicon.starts(stems, lexicon.contrasts):
            numbers["contrast"] = 1.0
    numbers["clash"] = min(numbers["agree"], numbers["disagree"])
    numbers["asks"] = float("?" in text)
    numbers["short"] = float(len(text) < 60)
    vector = np.array([numbers[name] for name in ANSWER])
    return Reading(np.clip(vector, -3, 3), quote if quote is None or quote in text else None, quote is not None)


def _side(cue: Cue) -> str:
    return "agree" if cue.value > 0 else "disagree" if cue.value < 0 else "mixed"
