"""Which topics a text is about, by the names and words that the scenario gives them."""
# ruff: noqa: RUF001  (Ukrainian endings look like Latin letters)

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from simflow.plan import Topic

_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_SUFFIXES = (  # light stemming, enough to match "tariffs" with "tariff" and "тарифу" with "тариф"
    "ations", "ation", "ings", "ing", "ies", "es", "s", "ed",
    "ções", "ção", "ciones", "ción", "mente", "os", "as", "o", "a", "e",
    "ами", "ями", "ого", "ому", "ові", "ів", "ах", "ях", "ам", "ям", "ом", "ем", "ою", "ею", "ий", "ій", "их", "им",
    "а", "у", "и", "і", "ю", "я", "е", "є", "о", "ь", "й",
)  # fmt: skip


class Mention(NamedTuple):
    """A topic that a text names: its index, how sure, and the words that name it (as they stand in the text)."""

    topic: int
    score: float
    words: str


def words(text: str) -> list[tuple[str, int, int]]:
    """Words of any script with their spans, case-folded."""
    return [(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(text)]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A rough stem: accents off, one ending off, at least four letters kept."""
    plain = _unaccented(word)
    for ending in _ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= 4:
            return plain[: -len(ending)]
    return plain


def _unaccented(word: str) -> str:
    # All marks but the breve, which makes another letter of и.
    if word.isascii():
        return word
    kept = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c) or c == "\u0306")
    return unicodedata.normalize("NFC", kept)


_ENDINGS = tuple(_unaccented(ending) for ending in _SUFFIXES)


class Gazetteer:
    """Finds topics in text. A name or a word of a topic counts fully; words of its description weigh a little, together."""

    def __init__(self, topics: Sequence[Topic]) -> None:
        self.topics = tuple(topics)
        self._phrases: dict[tuple[str, ...], set[int]] = {}
        self._longest = 1
        about: dict[str, set[int]] = {}
        for index, topic in enumerate(self.topics):
            for phrase in (topic.name, *topic.words):
                key = tuple(stem(w) for w, _, _ in words(phrase))
                if key:
                    self._phrases.setdefault(key, set()).add(index)
                    self._longest = max(self._longest, len(key))
                if len(key) > 1:  # as a hashtag has it
                    self._phrases.setdefault((stem("".join(w for w, _, _ in words(phrase))),), set()).add(index)
            for word, _, _ in words(f"{topic.name} {topic.about}"):
                if len(word) > 3:
                    about.setdefault(stem(word), set()).add(index)
        # A word that describes two topics tells them apart no more.
        self._about = {word: next(iter(who)) for word, who in about.items() if len(who) == 1}

    def find(self, text: str | None) -> list[Mention]:
        """Topics named in the text, surest first; of equals, the one named first."""
        if not text:
            return []
        tokens = words(text)
        stems = [stem(w) for w, _, _ in tokens]
        found = self._named(text, tokens, stems)
        hints: dict[int, set[str]] = {}
        for word, (whole, _, _) in zip(stems, tokens, strict=True):
            if len(whole) > 3 and word in self._about:
                hints.setdefault(self._about[word], set()).add(word)
        for index, said in sorted(hints.items()):
            if index not in found and len(said) >= 2:
                found[index] = Mention(index, min(0.4 + 0.1 * len(said), 0.8), text)
        return sorted(found.values(), key=lambda m: -m.score)

    def _named(self, text: str, tokens: list[tuple[str, int, int]], stems: list[str]) -> dict[int, Mention]:
        found: dict[int, Mention] = {}
        for at in range(len(stems)):
            for size in range(min(self._longest, len(stems) - at), 0, -1):
                hit = self._phrases.get(tuple(stems[at : at + size]))
                if hit:
                    for index in hit:
                        found.setdefault(index, Mention(index, 1.0, text[tokens[at][1] : tokens[at + size - 1][2]]))
                    break
        return found
