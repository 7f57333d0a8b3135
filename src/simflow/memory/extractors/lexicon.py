"""Words that carry a side, by language: where a writer stands, what a reason praises or blames, how somebody is answered."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import NamedTuple

from simflow.episode import primary
from simflow.memory.topics import stem, words

LANGUAGES = ("en", "pt", "es", "uk")
FALLBACK = {"ca": "es", "gl": "pt", "ru": "uk", "be": "uk"}
"""Languages without a lexicon of their own that are read with a near one, at a loss; all others are read as English."""
Phrase = tuple[str, ...]
BANNER = 3
"""How many words that others repeat a banner of a camp weighs."""
_STRENGTH = {
    "strong_for": 1.0,
    "for": 0.6,
    "agree": 1.0,
    "neutral": 0.0,
    "mixed": 0.0,
    "against": -0.6,
    "disagree": -1.0,
    "strong_against": -1.0,
}


class Cue(NamedTuple):
    """A word or phrase of a lexicon in a text: its table, what it says (-1..1, 0 is neither), and where it stands, in words."""

    table: str
    value: float
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language: `tables` maps `position`, `judgement` and `answer` to phrases (tuples of stems) with their strength.

    `contrasts`, `concessions` and `joints` are words as they are: such words have no endings, and stems would take проти for проте, más for mas.
    """

    code: str
    tables: Mapping[str, Mapping[Phrase, float]]
    negators: frozenset[str]
    only: frozenset[str]
    softeners: frozenset[str]
    contrasts: frozenset[Phrase]
    concessions: frozenset[Phrase]
    joints: frozenset[Phrase]
    raising: frozenset[Phrase]
    irony: frozenset[Phrase]
    fillers: frozenset[str]
    longest: int

    def cues(self, stems: Sequence[str], *tables: str, breaks: Sequence[int] = ()) -> list[Cue]:
        """Cues of the tables, the longest at each place, none inside another; one in three words after a negator is turned round.

        A negator turns nothing behind another cue, or behind a comma. breaks: places of the words that follow one.
        """
        found: list[Cue] = []
        at = 0
        while at < len(stems):
            free = max([0, *(b for b in breaks if b <= at)])
            cue = self._at(stems, at, tables, max(free, found[-1].end if found else 0))
            if cue is not None:
                found.append(cue)
                at = cue.end
            else:
                at += 1
        return found

    def _at(self, stems: Sequence[str], at: int, tables: Sequence[str], free: int) -> Cue | None:
        for size in range(min(self.longest, len(stems) - at), 0, -1):
            phrase = tuple(stems[at : at + size])
            for table in tables:
                value = self.tables[table].get(phrase)
                if value is None:
                    continue
                # A phrase that begins with a negator has said it already.
                turned = stems[at] not in self.negators and self._negated(stems, max(free, at - 3), at)
                turned = turned or (stems[at] not in self.negators and self.holds(stems[:at], self.raising))
                return Cue(table, -0.8 * value if turned else value, at, at + size)
        return None

    def _negated(self, stems: Sequence[str], begin: int, end: int) -> bool:
        return any(self._negates(stems, at) for at in range(begin, end))

    def _negates(self, stems: Sequence[str], at: int) -> bool:
        # "Not only" says what follows.
        return stems[at] in self.negators and not (at + 1 < len(stems) and stems[at + 1] in self.only)

    def reached(self, stems: Sequence[str], scope: int) -> list[bool | None]:
        """Of each word, whether one of the `scope` words before it is a negator; None for a negator itself."""
        found: list[bool | None] = []
        left = 0
        for at in range(len(stems)):
            if self._negates(stems, at):
                found.append(None)
                left = scope
            else:
                found.append(left > 0)
                left -= 1
        return found

    def after_raising(self, stems: Sequence[str]) -> int | None:
        """Place behind the first phrase that denies what follows it ("I do not think that"), if there is one."""
        ends = (at + size for at in range(len(stems)) for size in range(1, 7) if tuple(stems[at : at + size]) in self.raising)
        return next(ends, None)

    def holds(self, stems: Sequence[str], phrases: frozenset[Phrase]) -> bool:
        """Whether one of the phrases stands anywhere in the words."""
        return any(tuple(stems[at : at + size]) in phrases for at in range(len(stems)) for size in range(1, 7))

    def starts(self, said: Sequence[str], phrases: frozenset[Phrase]) -> bool:
        """Whether the words begin with one of the phrases."""
        return any(tuple(said[:size]) in phrases for size in range(1, 5))


def thin(lexicon: Lexicon, keep: Callable[[Phrase], bool]) -> Lexicon:
    """A lexicon that knows only some of its phrases: what training does, so that texts in words it does not know are judged soberly."""
    tables = {name: {p: v for p, v in table.items() if keep(p)} for name, table in lexicon.tables.items()}
    return replace(lexicon, tables=tables, irony=frozenset(p for p in lexicon.irony if keep(p)))


def code_of(language: str | None) -> str:
    """The lexicon that a language code is read with."""
    short = primary(language)
    return short if short in LANGUAGES else FALLBACK.get(short, "en")


class Sides(NamedTuple):
    """Words by which the camps of a public controversy are known: `banners` (slogans and names of its own) and what it says of the others."""

    favour: frozenset[Phrase]
    against: frozenset[Phrase]
    banners: frozenset[Phrase]
    longest: int

    def tally(self, text: str) -> tuple[int, int]:
        """Weight of each camp's words in a text: `BANNER` for a banner; 1, as a hashtag 2, for what others repeat too."""
        tokens = words(text)
        stems = [stem(w) for w, _, _ in tokens]
        found: dict[Phrase, int] = {}
        for at, (_, begin, _) in enumerate(tokens):
            tagged = text[begin - 1 : begin] == "#"
            for size in range(1, self.longest + 1):
                phrase = tuple(stems[at : at + size])
                if phrase in self.favour or phrase in self.against:
                    weight = BANNER if phrase in self.banners else 1 + tagged
                    found[phrase] = max(found.get(phrase, 1), weight)
        return (
            sum(weight for phrase, weight in found.items() if phrase in self.favour),
            sum(weight for phrase, weight in found.items() if phrase in self.against),
        )


@cache
def sides(topic: str) -> Sides | None:
    """The camps of a topic, by its name; None for one that is no known public controversy."""
    name = _phrase(topic)
    raw = tomllib.loads((resources.files(__package__) / "sides.toml").read_text(encoding="utf-8"))
    for issue in raw["issue"]:
        for key in map(_phrase, issue["names"]):
            if any(name[at : at + len(key)] == key for at in range(len(name) - len(key) + 1)):
                own = {side: frozenset(map(_phrase, issue[side])) for side in ("for", "against")}
                said = {side: frozenset(map(_phrase, issue.get(f"{side}_said", ()))) for side in own}
                favour, against = own["for"] | said["for"], own["against"] | said["against"]
                return Sides(favour, against, own["for"] | own["against"], max(map(len, favour | against)))
    return None


@cache
def load(code: str) -> Lexicon:
    """The lexicon of one of `LANGUAGES`."""
    raw = tomllib.loads((resources.files(__package__) / "lexicons" / f"{code}.toml").read_text(encoding="utf-8"))
    fillers = frozenset(stem(w) for w in raw["fillers"])
    tables = {name: _table(raw[name], fillers) for name in ("position", "judgement", "answer")}
    return Lexicon(
        code,
        tables,
        frozenset(stem(w) for w in raw["negators"]),
        frozenset(stem(w) for w in raw["only"]),
        frozenset(stem(w) for w in raw["softeners"]),
        frozenset(_said(p) for p in raw["contrasts"]),
        frozenset(_said(p) for p in raw["concessions"]),
        frozenset(_said(p) for p in raw["joints"]),
        frozenset(_phrase(p) for p in raw["raising"]),
        frozenset(_phrase(p) for p in raw["irony"]),
        fillers,
        max(len(phrase) for table in tables.values() for phrase in table),
    )


def _table(raw: Mapping[str, Sequence[str]], fillers: frozenset[str]) -> dict[Phrase, float]:
    found: dict[Phrase, float] = {}
    for name, phrases in raw.items():
        for phrase in phrases:
            whole = _phrase(phrase)
            bare = tuple(w for w in whole if w not in fillers)
            # "for it" must not become "for".
            found.setdefault(bare if bare == whole or sum(map(len, bare)) > 4 else whole, _STRENGTH[name])
    return {phrase: value for phrase, value in found.items() if phrase}


def _said(text: str) -> Phrase:
    return tuple(w for w, _, _ in words(text))


def _phrase(text: str) -> Phrase:
    return tuple(stem(w) for w, _, _ in words(text))
