"""Words that carry a side, by language: stems that support, oppose, negate, soften, and phrases that agree or disagree with somebody."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

from simflow.memory.topics import stem, words

LANGUAGES = ("en", "pt", "es", "uk")


class Cue(NamedTuple):
    """A word or phrase found in a text: what it says (-1..1), where it begins and ends in words."""

    value: float
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language. Keys are tuples of stems; values are strengths in -1..1 (`stance`, `answer`), or membership (`negators`)."""

    stance: dict[tuple[str, ...], float]
    answer: dict[tuple[str, ...], float]
    negators: frozenset[str]
    softeners: frozenset[str]
    longest: int

    def cues(self, stems: Sequence[str], table: dict[tuple[str, ...], float]) -> list[Cue]:
        """Cues of `table`, longest first, not overlapping, turned round by a negator up to three words before."""
        found = []
        at = 0
        while at < len(stems):
            for size in range(min(self.longest, len(stems) - at), 0, -1):
                value = table.get(tuple(stems[at : at + size]))
                if value is not None:
                    turned = sum(w in self.negators for w in stems[max(0, at - 3) : at]) % 2
                    found.append(Cue(-0.8 * value if turned else value, at, at + size))
                    at += size - 1
                    break
            at += 1
        return found


@cache
def load(code: str) -> Lexicon:
    """The lexicon of a language code (`pt-BR` is `pt`); English for a language that has none."""
    short = code.split("-", maxsplit=1)[0].lower()
    name = short if short in LANGUAGES else "en"
    raw = tomllib.loads((resources.files(__package__) / "lexicons" / f"{name}.toml").read_text(encoding="utf-8"))
    stance = _table(raw["stance"])
    answer = _table(raw["answer"])
    return Lexicon(
        stance,
        answer,
        frozenset(stem(w) for w in raw["negators"]),
        frozenset(stem(w) for w in raw["softeners"]),
        max(len(key) for key in (*stance, *answer)),
    )


def _table(raw: dict[str, list[str]]) -> dict[tuple[str, ...], float]:
    strength = {"strong_for": 1.0, "for": 0.6, "against": -0.6, "strong_against": -1.0, "mixed": 0.0}
    found: dict[tuple[str, ...], float] = {}
    for name, phrases in raw.items():
        for phrase in phrases:
            found[tuple(stem(w) for w, _, _ in words(phrase))] = strength[name]
    return found
