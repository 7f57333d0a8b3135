"""The extractor that needs no key: finds stances and attitudes in words by target-aware rules, and says nothing when unsure.

It reads only what a `Passage` holds. Its limits: irony and reported speech are taken literally; what is only implied is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from simflow.memory.extractors.lexicon import Cue, Lexicon, load
from simflow.memory.topics import Gazetteer, stem, words
from simflow.plan import Cell
from simflow.ports import Embedder, Extraction, Finding, Passage

_CLAUSE = re.compile(r"[^.!?;…\n]+[.!?;…\n]*")


class BuiltinExtractor:
    """Relations of text episodes by rules and lexicons of four languages."""

    def __init__(self, cell: Cell, embedder: Embedder) -> None:
        self.embedder = embedder
        self.id = "builtin/rules@1"
        self.language = cell.language.code
        self.topics = cell.topics
        self.gazetteer = Gazetteer(cell.topics)
        self.declared = frozenset(r.name for r in cell.extract.relations)

    def extract(self, batch: Sequence[Passage]) -> Extraction:
        """Find opinions on topics and attitudes towards whom is answered."""
        findings: list[Finding] = []
        nothing: list[int] = []
        for passage in batch:
            found = self._read(passage)
            findings += found
            if not found:
                nothing.append(passage.episode)
        return Extraction(tuple(findings), tuple(nothing))

    def _read(self, passage: Passage) -> list[Finding]:
        lexicon = load(passage.lang or self.language)
        found: list[Finding] = []
        named = self._topics(passage)
        for topic, sure in named:
            stance = judge(passage.text, lexicon, lexicon.stance)
            if stance is not None and "opinion" in self.declared:
                value, confidence, quote = stance
                name = self.topics[topic].name
                found.append(Finding(passage.episode, "opinion", passage.actor, None, name, None, value, confidence * sure, quote))
        if passage.target is not None and passage.target != passage.actor and passage.parent is not None and "attitude" in self.declared:
            answer = judge(_opening(passage.text), lexicon, lexicon.answer)
            if answer is not None:
                value, confidence, quote = answer
                about = self.topics[named[0][0]].name if named else None
                found.append(Finding(passage.episode, "attitude", passage.actor, passage.target, None, about, value, confidence, quote))
        return found

    def _topics(self, passage: Passage) -> list[tuple[int, float]]:
        for text, sure in ((passage.text, 1.0), (passage.parent_text, 0.9), (passage.root_text, 0.85)):
            mentions = self.gazetteer.find(text)
            if mentions:
                return [(m.topic, sure * m.score) for m in mentions[: 2 if text is passage.text else 1]]
        return []


def judge(text: str, lexicon: Lexicon, table: dict[tuple[str, ...], float]) -> tuple[float, float, str] | None:
    """(value, confidence, quote) of a text by the cues of one table; None if it holds none or they cancel out."""
    tokens = words(text)
    stems = [stem(w) for w, _, _ in tokens]
    cues = lexicon.cues(stems, table)
    if not cues:
        return None
    total = sum(c.value for c in cues)
    mass = sum(abs(c.value) for c in cues)
    if mass == 0:
        return 0.0, 0.6, _quote(text, tokens, cues[0])
    agreement = abs(total) / mass
    if agreement < 0.34:
        return None
    soft = any(w in lexicon.softeners for w in stems)
    value = max(-1.0, min(1.0, total / max(1.0, len(cues) ** 0.5))) * (0.7 if soft else 1.0)
    confidence = min(0.5 + 0.15 * agreement * mass, 0.85) * (0.9 if soft else 1.0)
    best = max(cues, key=lambda c: (c.value * (1 if total > 0 else -1), -c.begin))
    return value, confidence, _quote(text, tokens, best)


def _opening(text: str) -> str:
    # Agreement is said first; what follows is about the matter.
    clauses = _CLAUSE.findall(text)
    return clauses[0] if clauses else text


def _quote(text: str, tokens: Sequence[tuple[str, int, int]], cue: Cue) -> str:
    return text[tokens[cue.begin][1] : tokens[cue.end - 1][2]]
