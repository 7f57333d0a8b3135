"""What the classifiers look at: counts of cues in the clauses of a text, the same in every language. Nothing else of the text gets in."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simflow.memory.extractors import wording
from simflow.memory.extractors.lexicon import Cue, Lexicon
from simflow.memory.topics import stem, words

Vector = npt.NDArray[np.float64]
_CLAUSE = re.compile(r"[^.!?;:…\n]+[.!?;:…\n]*")
_QUOTED = re.compile(r"[\"“«„][^\"”»“]{3,}[\"”»“]")
STANCE = (
    "position for", "position against", "position neutral", "strong position for", "strong position against",
    "judgement for", "judgement against", "judgement neutral", "conceded for", "conceded against",
    "first position", "last position", "last judgement", "balance", "clash", "asks", "soft", "quotes", "irony",
    "bayes against", "bayes neutral", "bayes for", "like against", "like neutral", "like for",
    "bayes last against", "bayes last neutral", "bayes last for",
)  # fmt: skip
"""Names of the numbers of `stance`, in order."""
ANSWER = (
    "agree", "mixed", "disagree", "first agree", "first mixed", "first disagree", "clash", "asks", "short", "contrast",
    "bayes disagree", "bayes mixed", "bayes agree", "like disagree", "like mixed", "like agree",
)  # fmt: skip
"""Names of the numbers of `answer`, in order."""


_REFUSAL = re.compile(r"(?:^|(?<=[.!?]\s))(?:no|não|ні)\s*,", re.IGNORECASE)
_CITED = re.compile(r"^\s*(?:>|&gt;).*$", re.MULTILINE)
_ADDRESSED = re.compile(r"^(?:\s*(?:RT\b|\.?@[\w.\-]+:?))+\s*")
LIKE, SPOKEN = 0.2, 12
"""Likeness to a phrase of a book from which on something was heard at all; words that a first sentence can have to be an answer by its likeness."""
EARLY, WHOLE = 3, 4
"""A single word answers only among the first three of its clause, and only where it stands for itself ("No, ...", "True."): before a stop, or in
a clause of up to four words. Elsewhere "no", "same" and "true" mean something else."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The numbers of one text; of each side (-1, 0, +1) the cue that says most, as words of the text; and whether there was any cue."""

    numbers: Vector
    quotes: Mapping[int, str]
    heard: bool


def clauses(text: str, lexicon: Lexicon) -> list[tuple[str, bool]]:
    """(clause, conceded): what stands before a contrast is conceded when it begins as a concession does, or first; what "although" opens, always."""
    found: list[tuple[str, bool]] = []
    opening = lexicon.contrasts & lexicon.concessions
    for sentence in _CLAUSE.findall(text):
        parts = _split(sentence, lexicon)
        said = [[w for w, _, _ in words(part)] for part in parts]
        although = [at > 0 and lexicon.starts(one, opening) for at, one in enumerate(said)]
        for at, part in enumerate(parts):
            opposed = at + 1 < len(parts) and not although[at + 1]
            found.append((part, although[at] or (opposed and (at == 0 or lexicon.starts(said[at], lexicon.concessions)))))
    return found


def _split(sentence: str, lexicon: Lexicon) -> list[str]:
    tokens = words(sentence)
    said = [w for w, _, _ in tokens]
    cuts = [at for at in range(1, len(said)) if any(tuple(said[at : at + size]) in lexicon.contrasts for size in (1, 2, 3))]
    bounds = [0, *(tokens[at][1] for at in cuts), len(sentence)]
    return [part for low, high in itertools.pairwise(bounds) if (part := sentence[low:high]).strip(" ,")]


def stance(text: str, lexicon: Lexicon, topic: Sequence[str] = (), book: wording.Book | None = None) -> Reading:
    """Numbers of `STANCE` for a text. topic: words that name the topic; phrases are found across them ("reject the tariff outright").

    book: the phrases that it is read beside; None for those of its language, and no more.
    """
    book = book or wording.load(lexicon.code, "stance")
    heard_like = 0.0
    bayes, likes, last = np.zeros(3), np.zeros(3), np.zeros(3)
    # "No, ..." answers; it does not turn round what follows.
    bare = _REFUSAL.sub(" ", _QUOTED.sub(lambda m: m.group() if len(m.group()) < 40 else " ", text))
    skip = lexicon.fillers | {stem(w) for name in topic for w, _, _ in words(name)}
    numbers = dict.fromkeys(STANCE, 0.0)
    best: dict[int, tuple[float, str]] = {}
    for part, conceded in clauses(bare, lexicon):
        tokens = [t for t in words(part) if stem(t[0]) not in skip]
        stems = [stem(w) for w, _, _ in tokens]
        cues = lexicon.cues(stems, "position", "judgement", breaks=_breaks(part, tokens))
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
            sign = (cue.value > 0) - (cue.value < 0)
            if worth > best.get(sign, (0.0, ""))[0]:
                best[sign] = (worth, part[tokens[cue.begin][1] : tokens[cue.end - 1][2]])
        numbers["soft"] += any(w in lexicon.softeners for w in stems)
        if conceded:
            continue
        for piece, denied in _pieces(part, skip, lexicon):
            sounds = book.read(piece, denied)
            heard_like = max(heard_like, sounds.like)
            bayes += sounds.bayes
            likes = np.maximum(likes, sounds.votes)
            last = sounds.bayes
    pro = 2 * numbers["position for"] + numbers["judgement for"]
    con = 2 * numbers["position against"] + numbers["judgement against"]
    numbers["balance"] = (pro - con) / (1 + pro + con)
    numbers["clash"] = min(pro, con)
    numbers["asks"] = float("?" in bare)
    numbers["quotes"] = float(bare != text)
    for at, side in enumerate(("against", "neutral", "for")):
        numbers[f"bayes {side}"], numbers[f"bayes last {side}"] = bayes[at] / 3, last[at] / 3
        numbers[f"like {side}"] = 2 * likes[at]
    vector = np.array([numbers[name] for name in STANCE])
    heard = heard_like >= LIKE or bool(best) or numbers["irony"] > 0 or numbers["conceded for"] + numbers["conceded against"] > 0
    return Reading(np.clip(vector, -3, 3), {sign: said for sign, (_, said) in best.items() if said in text}, heard)


def _pieces(part: str, skip: frozenset[str] | set[str], lexicon: Lexicon) -> list[tuple[tuple[str, ...], tuple[bool, ...]]]:
    # Between commas and words that give reasons, as stems: about as long as the phrases of a book. With each stem whether "I do not think that"
    # stands before it, in this piece or in one before.
    found: list[tuple[tuple[str, ...], tuple[bool, ...]]] = []
    stems: list[str] = []
    denied: int | None = None
    for piece in part.split(","):
        said = [w for w, _, _ in words(piece)]
        cuts = [at for at in range(2, len(said) - 1) if any(tuple(said[at : at + size]) in lexicon.joints for size in (1, 2, 3))]
        for low, high in itertools.pairwise([0, *cuts, len(said)]):
            begin = len(stems)
            stems += [s for w in said[low:high] if (s := stem(w)) not in skip]
            denied = lexicon.after_raising(stems) if denied is None else denied
            if begin < len(stems):
                found.append((tuple(stems[begin:]), tuple(denied is not None and at >= denied for at in range(begin, len(stems)))))
    return found


def answer(text: str, lexicon: Lexicon, book: wording.Book | None = None) -> Reading:
    """Numbers of `ANSWER` for a reply or a quote. Agreement is said first: only the first sentence counts, and the second after a word or two."""
    bare = _ADDRESSED.sub("", _CITED.sub("", text))
    numbers = dict.fromkeys(ANSWER, 0.0)
    quotes: dict[int, str] = {}
    book = book or wording.load(lexicon.code, "answer")
    opening = _opening(bare, lexicon)
    spoken = tuple(s for part in opening for w, _, _ in words(part) if (s := stem(w)) not in lexicon.fillers)
    sounds = book.read(spoken) if len(spoken) <= SPOKEN else wording.SILENT
    for at, side in enumerate(("disagree", "mixed", "agree")):
        numbers[f"bayes {side}"] = sounds.bayes[at] / 2
        numbers[f"like {side}"] = 2 * sounds.votes[at]
    for at, part in enumerate(opening):
        tokens = [t for t in words(part) if stem(t[0]) not in lexicon.fillers] or words(part)
        stems = [stem(w) for w, _, _ in tokens]
        for cue in lexicon.cues(stems, "answer", breaks=_breaks(part, tokens)):
            if cue.end - cue.begin == 1 and not _stands(part, tokens, cue):
                continue
            side = _side(cue)
            numbers[side] += 1
            if at == 0:
                numbers[f"first {side}"] += 1
            quotes.setdefault(_SIGN[side], part[tokens[cue.begin][1] : tokens[cue.end - 1][2]])
        if at == 1 and lexicon.starts([w for w, _, _ in tokens], lexicon.contrasts):
            numbers["contrast"] = 1.0
    numbers["clash"] = min(numbers["agree"], numbers["disagree"])
    numbers["asks"] = float("?" in text)
    numbers["short"] = float(len(text) < 60)
    vector = np.array([numbers[name] for name in ANSWER])
    heard = bool(quotes) or sounds.like >= LIKE
    return Reading(np.clip(vector, -3, 3), {sign: said for sign, said in quotes.items() if said in text}, heard)


def body(text: str, topic: Sequence[str] = ()) -> str:
    """A reply without its first sentence, which speaks to somebody: unless it names the topic, or nothing follows."""
    bare = _ADDRESSED.sub("", _CITED.sub("", text))
    sentences = [s for s in _CLAUSE.findall(bare) if words(s)]
    if len(sentences) < 2:
        return bare
    named = {stem(w) for name in topic for w, _, _ in words(name)}
    first = sentences[0]
    if any(stem(w) in named for w, _, _ in words(first)):
        return bare
    return bare[bare.index(first) + len(first) :]


def _opening(text: str, lexicon: Lexicon) -> list[str]:
    # The clauses of the first sentence; of the second as well if the first is a word or two.
    parts: list[str] = []
    for sentence in _CLAUSE.findall(text):
        if not words(sentence):
            continue
        parts += _split(sentence, lexicon)
        if sum(len(words(part)) for part in parts) > 2:
            break
    return parts[:3]


def _stands(part: str, tokens: Sequence[tuple[str, int, int]], cue: Cue) -> bool:
    after = part[tokens[cue.begin][2] :].lstrip()
    return cue.begin <= EARLY and (len(tokens) <= WHOLE or not after or after[0] in ",.!;:…-–—")


def _breaks(part: str, tokens: Sequence[tuple[str, int, int]]) -> list[int]:
    # Places of the words that stand behind a comma.
    return [at for at in range(1, len(tokens)) if "," in part[tokens[at - 1][2] : tokens[at][1]]]


_SIGN = {"disagree": -1, "mixed": 0, "agree": 1}


def _side(cue: Cue) -> str:
    return "agree" if cue.value > 0 else "disagree" if cue.value < 0 else "mixed"
