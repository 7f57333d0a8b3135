"""The extractor that needs no key: finds stances and attitudes in words, and says nothing when unsure.

Cues of a lexicon, counted clause by clause (features), go into small classifiers (model) that were trained on one half of the built-in world's
phrases with a part of the lexicon hidden, so that unknown words make it doubtful instead of wrong. It reads only what a `Passage` holds.
Its limits: irony that no phrase gives away, reported speech without quotation marks, and what is only implied.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simflow.memory.extractors import features, model
from simflow.memory.extractors.entities import Entities
from simflow.memory.extractors.lexicon import BANNER, Lexicon, code_of, load, sides
from simflow.memory.topics import Gazetteer
from simflow.plan import Cell
from simflow.ports import Embedder, Extraction, Finding, Passage

SURE = 0.5
"""Least probability with which something is said; below it the extractor abstains."""
CAMP = ((2 * BANNER, 0.95), (BANNER, 0.92), (2, 0.8), (1, 0.74))
"""How sure the words of one camp of a known controversy make it, by how much more they weigh than those of the other: with less than a banner it
abstains, because both camps say such words of each other."""
MOST = 8000
"""Characters of a text that are read: what comes after could only cost time."""
LONG = 60
"""Words from which on an answer that does not begin with agreement is taken to argue against what it answers: ARGUES is how sure that is."""
ARGUES = 0.85
PLAIN = 0.9
"""How sure an answer must be where nothing is known of what it is about."""
_EVEN = np.full(3, 1 / 3)
_HANDLE = re.compile(r"\s*\.?@([\w.\-]+)")
_SENTENCE = re.compile(r"[^.!?…\n]+[.!?…\n]*")


class Judgement(NamedTuple):
    """Probabilities of -1, 0, +1; how strongly it is put, 0..1; words of the text that speak for each; whether there was any cue at all.

    known: knowledge of the setting stands behind it (a camp's word, a long answer), not the sentence alone.
    """

    odds: npt.NDArray[np.float64]
    strength: float
    quotes: Mapping[int, str]
    heard: bool
    known: bool = False

    @property
    def label(self) -> int:
        """The likeliest of -1, 0, +1."""
        return int(self.odds.argmax()) - 1

    @property
    def value(self) -> float:
        """How strongly for or against, -1..1."""
        return model.value(self.odds, strong=self.strength > 0.7) if self.heard else 0.0

    @property
    def sure(self) -> float:
        """Its probability."""
        return float(self.odds.max())


class BuiltinExtractor:
    """Opinions on topics and attitudes towards whom is answered, in English, Portuguese, Spanish and Ukrainian."""

    def __init__(self, cell: Cell, embedder: Embedder | None = None, *, sure: float = SURE) -> None:
        """sure: the probability below which it abstains; 0 makes it always answer."""
        del embedder  # what a view of the sentence model would gain and cost is measured in docs/beliefs.md
        self.model = model.load()
        self.id = self.model.id if sure == SURE else f"{self.model.id}/{sure}"
        self.sure = sure
        self.language = cell.language.code
        self.topics = cell.topics
        self.gazetteer = Gazetteer(cell.topics)
        self.declared = frozenset(r.name for r in cell.extract.relations)
        self.entities = Entities(cell)
        self._names = [tuple(dict.fromkeys((t.name, *t.words))) for t in cell.topics]

    def extract(self, batch: Sequence[Passage]) -> Extraction:
        """Findings of kinds `opinion` and `attitude`, as far as the scenario declares them; each passage is accounted for."""
        findings: list[Finding] = []
        nothing: list[int] = []
        for passage in map(_cut, batch):
            found = self.read(passage) + self._things(passage)
            findings += found
            if not found:
                nothing.append(passage.episode)
        return Extraction(tuple(findings), tuple(nothing))

    def read(self, passage: Passage) -> list[Finding]:
        """Findings of one passage."""
        lexicon = load(code_of(passage.lang or self.language))
        named = self._topics(passage)
        answers = passage.parent is not None and passage.target is not None and passage.target != passage.actor
        if not answers:
            # What does not name its topic is no statement on it, unless a camp's words say so.
            bare = passage.topic is None and not self.gazetteer.find(passage.text)
            stances = {topic: self.stance(text, lexicon, topic) for topic, text in named.items()}
            if bare:
                stances = {topic: judged for topic, judged in stances.items() if judged.known}
            return self._opinions(passage, stances)
        topic = next(iter(named), None)
        # Praise and blame tell two stances apart only where both are on the same topic.
        blank = Judgement(_EVEN, 0.5, {}, heard=False)
        own = blank if topic is None else self.stance(features.body(named[topic], self._names[topic]), lexicon, topic)
        parent = blank if topic is None else self.stance(passage.parent_text or "", lexicon, topic)
        said = self.answer(passage.text, lexicon)
        if self.sure and not _addressed(passage):
            said = blank  # to somebody else who is in the conversation
        elif len(passage.text.split()) >= LONG and (not said.quotes or said.label < 0):
            said = Judgement(np.array([ARGUES, (1 - ARGUES) / 2, (1 - ARGUES) / 2]), 0.5, {}, heard=True, known=True)
            own = parent = blank
        relation, reply = model.joint(own.odds, said.odds, parent.odds, (own.value, parent.value))
        about = None if topic is None else self.topics[topic].name
        found = []
        # Two stances on the same matter tell agreement too, without a word of answer.
        both = own.heard and parent.heard
        attitude = said._replace(odds=self.model.probabilities("relation", relation)) if both else said
        if "attitude" in self.declared and (both or self._plain(said, topic)):
            found += self._finding(passage, "attitude", attitude._replace(heard=True), on_agent=passage.target, about=about)
        if topic is not None:
            mine = own._replace(odds=self.model.probabilities("reply", reply), heard=own.heard or (said.heard and parent.heard))
            rest = {t: self.stance(text, lexicon, t) for t, text in named.items() if t != topic}
            found += self._opinions(passage, {topic: mine, **rest})
        return found

    def _things(self, passage: Passage) -> list[Finding]:
        """What is said of declared entities: the same judgement for each relation kind that is towards their kind."""
        found: list[Finding] = []
        for thing in self.entities.named(passage.text):
            lexicon = load(code_of(passage.lang or self.language))
            reading = features.stance(thing.text, lexicon, thing.names, self.model.book(lexicon.code, "stance"))
            judged = self._judge("stance", reading, strong=reading.numbers[3] + reading.numbers[4] > 0)
            found += [f for kind in thing.relations for f in self._finding(passage, kind, judged, on_topic=thing.name)]
        return found

    def stance(self, text: str, lexicon: Lexicon, topic: int | None) -> Judgement:
        """What a text says of a topic. On a known controversy the words of one camp decide before any praise or blame does."""
        if topic is not None and (camps := sides(self.topics[topic].name)) is not None:
            favour, against = camps.tally(text)
            lead = abs(favour - against)
            if lead >= (BANNER if self.sure else 1):
                sure, label = next(s for least, s in CAMP if lead >= least), 1 if favour > against else -1
                return Judgement(np.array([sure if s == label else (1 - sure) / 2 for s in (-1, 0, 1)]), 0.6, {}, heard=True, known=True)
        reading = features.stance(text, lexicon, () if topic is None else self._names[topic], self.model.book(lexicon.code, "stance"))
        strong = reading.numbers[3] + reading.numbers[4] > 0
        return self._judge("stance", reading, strong=strong)

    def answer(self, text: str, lexicon: Lexicon) -> Judgement:
        """How a text answers what stands before it."""
        return self._judge("answer", features.answer(text, lexicon, self.model.book(lexicon.code, "answer")), strong=False)

    def _plain(self, said: Judgement, topic: int | None) -> bool:
        # Without a topic an answer is believed where a known word of answer says so, and clearly: most talk answers nothing.
        if not said.heard or (topic is not None or not self.sure):
            return said.heard
        return said.known or (said.sure >= PLAIN and bool(said.quotes))

    def _judge(self, part: str, reading: features.Reading, *, strong: bool) -> Judgement:
        heard = reading.heard
        odds = self.model.probabilities(part, reading.numbers) if heard else _EVEN
        return Judgement(odds, 0.8 if strong else 0.5, reading.quotes, heard)

    def _opinions(self, passage: Passage, stances: dict[int, Judgement]) -> list[Finding]:
        if "opinion" not in self.declared:
            return []
        return [f for topic, judged in stances.items() for f in self._finding(passage, "opinion", judged, on_topic=self.topics[topic].name)]

    def _finding(
        self,
        passage: Passage,
        kind: str,
        judged: Judgement,
        *,
        on_agent: int | None = None,
        on_topic: str | None = None,
        about: str | None = None,
    ) -> list[Finding]:
        if not judged.heard or judged.sure < self.sure:
            return []
        value = judged.label * judged.strength
        # Words that speak for the other side are no evidence for this one: then the text as a whole is.
        quote = judged.quotes.get(judged.label)
        if quote is not None and quote not in passage.text:
            quote = None
        return [Finding(passage.episode, kind, passage.actor, on_agent, on_topic, about, value, judged.sure, quote)]

    def _topics(self, passage: Passage) -> dict[int, str]:
        # Topic -> what of the text is about it; a text that names none is about what it answers, or what its thread is about.
        known = next((k for k, t in enumerate(self.topics) if t.name == passage.topic), None)
        if known is not None:
            return {known: passage.text}
        named = self.gazetteer.find(passage.text)
        if len(named) > 1:
            return self._shares(passage.text, [m.topic for m in named])
        if named:
            return {named[0].topic: passage.text}
        for text in (passage.parent_text, passage.root_text):
            if mentions := self.gazetteer.find(text):
                return {mentions[0].topic: passage.text}
        return {}

    def _shares(self, text: str, topics: list[int]) -> dict[int, str]:
        # Each sentence is about the topic named last.
        parts: dict[int, list[str]] = {}
        current = topics[0]
        for sentence in _SENTENCE.findall(text):
            named = [m.topic for m in self.gazetteer.find(sentence) if m.topic in topics]
            for topic in named or [current]:
                parts.setdefault(topic, []).append(sentence)
            current = named[-1] if named else current
        return {topic: " ".join(sentences) for topic, sentences in parts.items()}


def _addressed(passage: Passage) -> bool:
    # A text that begins with names speaks to the first of them.
    first = _HANDLE.match(passage.text)
    return first is None or first[1].casefold() == (passage.target_id or "").lstrip("@").casefold()


def _cut(passage: Passage) -> Passage:
    if max(map(len, (passage.text, passage.parent_text or "", passage.root_text or ""))) <= MOST:
        return passage
    parent, root = (None if text is None else text[:MOST] for text in (passage.parent_text, passage.root_text))
    return dataclasses.replace(passage, text=passage.text[:MOST], parent_text=parent, root_text=root)
