"""Which declared entities a text names, and what of it is about each: the sentences that name it."""

from __future__ import annotations

import re
from typing import NamedTuple

from simflow.memory.topics import Gazetteer
from simflow.plan import Cell, Topic

_SENTENCE = re.compile(r"[^.!?…\n]+[.!?…\n]*")


class Thing(NamedTuple):
    """An entity in a text: its name, all words for it, the sentences that name it, and the relation kinds that may be towards it."""

    name: str
    names: tuple[str, ...]
    text: str
    relations: tuple[str, ...]


class Entities:
    """The entities of a scenario that some relation is towards."""

    def __init__(self, cell: Cell) -> None:
        towards = {kind.name: tuple(r.name for r in cell.extract.relations if r.on == kind.name) for kind in cell.extract.entities}
        self._known = [(e, towards[kind.name]) for kind in cell.extract.entities for e in kind.entities if towards[kind.name]]
        self._gazetteer = Gazetteer([Topic(e.name, words=e.words) for e, _ in self._known])

    def named(self, text: str) -> list[Thing]:
        """Entities that a text names by a name or a word of theirs, in the order of the scenario."""
        if not self._known:
            return []
        parts: dict[int, list[str]] = {}
        for sentence in _SENTENCE.findall(text):
            for mention in self._gazetteer.find(sentence):
                if mention.score == 1.0:
                    parts.setdefault(mention.topic, []).append(sentence)
        found = []
        for index, sentences in sorted(parts.items()):
            entity, relations = self._known[index]
            found.append(Thing(entity.name, (entity.name, *entity.words), " ".join(sentences), relations))
        return found
