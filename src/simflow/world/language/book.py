"""What a world can say: the phrases of its language about its topics, as numbered pieces that texts are put together from."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simflow.plan import Language
from simflow.world.language.phrasing import Ints, Pieces, Shelf, distinct, ended, fill, split
from simflow.world.language.tables import Forms, Tables, load

Named = tuple[str, tuple[str, ...]]
"""A topic's name and the words that stand for it."""
ALONE, PLAIN, BARE, JOINED = range(4)
"""How a stance and its reason are joined: no reason, two sentences, no stance; from JOINED on by a phrase."""
CLAUSE, OWN, ASIDE = range(3)
"""Phrases of a body: the stance, the reason, what is conceded or added."""
_ROLES = ("clause", "own", "aside")
_JOINS = ("{clause}", "{clause}. {reason}", "{reason}")


@dataclass(frozen=True, slots=True)
class _Topic:
    subjects: tuple[Forms, ...]
    words: tuple[str, ...]
    tag: str


class Book:
    """One language and its topics, whatever the seed. Pieces are made when they are first needed, and kept.

    tables: what it is written with; None for those of the language, in the split that it names.
    """

    def __init__(self, language: Language, topics: Sequence[Named], tables: Tables | None = None) -> None:
        tables = tables or load(language.code, language.split)
        donor = load(tables.donor, language.split).phrases if language.code_switch > 0 else tables.phrases
        self.shelf = Shelf(tables.phrases, donor)
        self.count = len(self.shelf.phrases)
        self.colon = np.array([phrase.endswith(":") for phrase in self.shelf.phrases])
        self.pronouns = len(tables.pronouns)
        self._tables = tables
        self._topics = tuple(_named(tables, name, words) for name, words in topics)
        self.subjects = np.array([len(topic.subjects) for topic in self._topics])
        self.words = np.array([len(topic.words) for topic in self._topics])
        self._most_subjects, self._most_words = int(self.subjects.max(initial=1)), int(self.words.max(initial=1))
        self.leads, self.frames, self.closings = Pieces(self._lead), Pieces(self._frame), Pieces(self._closing)
        self.literals, self.clauses = Pieces(lambda key: self._literals[key]), Pieces(self._clause)
        self._literals: list[str] = []
        self._numbers: dict[str, int] = {"": -1}
        self._skeletons: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._lock = threading.Lock()

    def lead_keys(self, phrase: Ints, framed: Ints) -> Ints:
        """Keys in `leads`. One colon is enough: where a frame follows, an opening gives up its own."""
        return np.where((phrase >= 0) & framed & self.colon[phrase], phrase + self.count, phrase)

    def frame_keys(self, phrase: Ints, topic: Ints, word: Ints) -> Ints:
        """Keys in `frames`: a phrase and which of the topic's words it names."""
        return (phrase * len(self._topics) + topic) * self._most_words + word

    def skeletons(self, join: Ints, hedge: Ints, reason: Ints) -> tuple[Ints, Ints]:
        """(what stands before each phrase of a body, as keys in `literals`; which phrase it is, -1 behind the last), (n, 3) each.

        join: ALONE, PLAIN, BARE or JOINED + a phrase. hedge, reason: phrases, -1 for none.
        """
        kinds, where = distinct((join * (self.count + 1) + hedge + 1) * (self.count + 1) + reason + 1)
        made = [self._skeleton(kind) for kind in kinds.tolist()]
        return np.array([one[0] for one in made])[where], np.array([one[1] for one in made])[where]

    def clause_keys(self, phrase: Ints, topic: Ints, subject: Ints, pronoun: Ints, named: Ints, last: Ints | bool) -> Ints:
        """Keys in `clauses`. named: how often the topic has been named before; last: whether a stop follows."""
        gaps = self.shelf.gaps[phrase]
        first = np.where((named == 0) & (gaps > 0), topic * self._most_subjects + subject + 1, 0)
        then = np.where((named + gaps >= 2) & (named < 2) & (gaps > 0), pronoun + 1, 0)
        return 2 * ((phrase * (len(self._topics) * self._most_subjects + 1) + first) * (self.pronouns + 1) + then) + last

    def _lead(self, key: int) -> str:
        phrase = self.shelf.phrases[key % self.count]
        return (ended(phrase.rstrip(":")) if key >= self.count else phrase) + " "

    def _closing(self, key: int) -> str:
        return " " + ended(self.shelf.phrases[key])

    def _frame(self, key: int) -> str:
        key, word = divmod(key, self._most_words)
        frame, at = divmod(key, len(self._topics))
        topic, phrase = self._topics[at], self.shelf.phrases[frame]
        return fill(phrase, ({"w": _set_apart(self._tables, topic.words[word], phrase), "h": topic.tag},)) + " "

    def _clause(self, key: int) -> str:
        """A phrase with the topic in the first gap for it, and pronouns in the others."""
        key, last = divmod(key, 2)
        key, then = divmod(key, self.pronouns + 1)
        phrase, first = divmod(key, len(self._topics) * self._most_subjects + 1)
        forms: list[Forms] = []
        if first:
            topic, subject = divmod(first - 1, self._most_subjects)
            forms.append(self._topics[topic].subjects[subject])
        if then:
            forms.append(self._tables.pronouns[then - 1])
        text = fill(self.shelf.phrases[phrase], (*forms, self._tables.again))
        return ended(text) if last else text

    def _skeleton(self, key: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        found = self._skeletons.get(key)
        if found is None:
            with self._lock:
                found = self._skeletons[key] = self._outlined(key)
        return found

    def _outlined(self, key: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        phrases = self.shelf.phrases
        key, reason = divmod(key, self.count + 1)
        join, hedge = divmod(key, self.count + 1)
        text = _JOINS[join] if join < JOINED else phrases[join - JOINED].replace("{x}", "{clause}").replace("{y}", "{reason}")
        if hedge:
            text = text.replace("{clause}", phrases[hedge - 1].replace("{x}", "{clause}"))
        said = phrases[reason - 1] if reason else "{own}"
        conceding = "{o}" in said
        said = said.replace("{o}", "{aside}").replace("{y}", "{own}" if conceding else "{aside}").replace("{x}", "{own}")
        literals, names = split(text.replace("{reason}", said))
        roles = [_ROLES.index(name) for name in names]
        missing = [-1] * (len(_ROLES) - len(roles))
        return (*(self._number(literal) for literal in literals[:-1]), *missing), (*roles, *missing)

    def _number(self, literal: str) -> int:
        number = self._numbers.get(literal)
        if number is None:
            number = self._numbers[literal] = len(self._literals)
            self._literals.append(literal)
        return number


@functools.lru_cache(maxsize=8)
def book(language: Language, topics: tuple[Named, ...]) -> Book:
    """The book of a language and topics, shared by whoever writes with it. Raises BadInput for a language that has none."""
    return Book(language, topics)


def _named(tables: Tables, name: str, words: tuple[str, ...]) -> _Topic:
    """How a topic can be named: its subjects filled in, the words that stand for it, its tag. An article is the phrase's own affair."""
    name = " ".join(name.split())
    bare = name
    for article in tables.articles:
        bare = bare[len(article) :] if bare.lower().startswith(article) else bare
    subjects = [{slot: form.replace("{n}", _set_apart(tables, bare, form)) for slot, form in forms.items()} for forms in tables.subjects]
    twice = [forms for forms in subjects if not _stutters(forms["t"])]
    written = name[: len(name) - len(bare)].lower() + bare
    return _Topic(tuple(twice or subjects), (written, *words), "#" + "".join(c for c in bare if c.isalnum()))


def _set_apart(tables: Tables, name: str, phrase: str) -> str:
    """A long name in quotation marks, unless `phrase` has them around it."""
    return name.join(tables.quotes) if len(name.split()) > 3 and tables.quotes[0] not in phrase else name


def _stutters(form: str) -> bool:
    words = form.lower().split()
    return any(first == second for first, second in itertools.pairwise(words))
