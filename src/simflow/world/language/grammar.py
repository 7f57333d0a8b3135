"""Stances become texts: wording, strength and argument vary, and nothing in a text is a label."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput
from simflow.plan import Language, Topic
from simflow.world.language.draws import draws
from simflow.world.language.noise import typos
from simflow.world.language.tables import ASPECTS, LEVELS, Forms, Tables, level, load

_SLOTS = 31
"""Draws of a text. Each choice has its own, so that a change of one leaves the others."""
_ORDER, _FRAME, _FRAMED, _OPENER, _OPENED, _CLOSER, _CLOSED, _STANCE, _ARGUMENT, _VARIANT, _JOIN, _HEDGE, _HEDGED = range(13)
_NEGATE, _CONCEDE, _CONCESSION, _OTHER, _OTHER_VARIANT, _SARCASM, _IRONIC, _ELLIPSIS, _RELATION, _QUOTED, _SUBJECT = range(13, 24)
_PRONOUN, _WORD, _TYPO, _SLIP, _SWITCH, _MORE, _BESIDES = range(24, _SLOTS)
_FULL = 1 << 32
_START = re.compile(r"([^\w#@]*)([^\WA-Z])")
_NEXT = re.compile(r"([.!?…]\s[^\w#@]*)([^\WA-Z])")
_ARGUMENTS = {side: tuple(f"{name}.{aspect}" for aspect in ASPECTS) for side, name in ((1, "pro"), (0, "open"), (-1, "con"))}
_STANCES = tuple((f"stance.{name}", f"negated.{name}") for name in LEVELS)
_PRIVATE = ("message", "group")
_RELATIONS = {1: "agree", 0: "mixed", -1: "disagree"}


@dataclass(frozen=True, slots=True)
class Texts:
    """`text` as written; `argument` the index into `ASPECTS` of its main argument (-1: none); `side` +1 pro, -1 con, 0 neither."""

    text: list[str]
    argument: npt.NDArray[np.int16]
    side: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class _Topic:
    subjects: tuple[Forms, ...]
    words: tuple[str, ...]
    tag: str


class Grammar:
    """Writes the posts of a world in one language. A text is a function of (seed, key, its own arguments), whatever the batch."""

    def __init__(self, language: Language, topics: tuple[Topic, ...], seed: int) -> None:
        self.language = language
        self.seed = seed
        self.tables = load(language.code, language.split)
        self._donor = load(self.tables.donor, language.split).phrases if language.code_switch > 0 else self.tables.phrases
        self._topics = tuple(_named(self.tables, topic) for topic in topics)
        self._dials = {
            dial: round(share * _FULL)
            for dial, share in (
                (_HEDGED, language.hedge),
                (_NEGATE, language.negation),
                (_IRONIC, language.sarcasm),
                (_ELLIPSIS, language.ellipsis),
                (_TYPO, language.typo),
                (_SWITCH, language.code_switch),
                (_FRAMED, 0.35),
                (_OPENED, 0.5),
                (_CLOSED, 0.45),
                (_CONCEDE, 0.25),
                (_QUOTED, 0.5),
                (_MORE, 0.2),
            )
        }

    def write(
        self,
        keys: npt.NDArray[np.int64],
        kinds: Sequence[str],
        topics: npt.NDArray[np.int16],
        stances: npt.NDArray[np.float64],
        relations: npt.NDArray[np.int8],
    ) -> Texts:
        """Texts for n episodes; all arguments have length n.

        keys: content keys of the episodes. topics: indices into the topics given. stances: what is expressed, -1..1.
        relations: to the parent's author, +1 agree, 0 mixed, -1 disagree, 2 for no parent.
        Raises BadInput if a topic does not exist.
        """
        if len(topics) and not 0 <= int(topics.min()) <= int(topics.max()) < len(self._topics):
            raise BadInput("a text was asked for on a topic that does not exist", hint=f"topics have indices 0 to {len(self._topics) - 1}")
        rows = draws(self.seed, np.asarray(keys, dtype=np.int64), _SLOTS).tolist()
        texts: list[str] = []
        argument = np.empty(len(rows), dtype=np.int16)
        side = np.empty(len(rows), dtype=np.int8)
        columns = zip(rows, kinds, topics.tolist(), stances.tolist(), relations.tolist(), strict=True)
        for at, (row, kind, topic, stance, relation) in enumerate(columns):
            one = _Writing(self, row, self._topics[topic], stance)
            texts.append(one.text(kind, relation))
            argument[at], side[at] = one.argument, one.side
        return Texts(texts, argument, side)


class _Writing:
    """One text in the making: names its topic once, then says "it"."""

    __slots__ = ("_calls", "_dials", "_donor", "_draw", "_framed", "_named", "_phrases", "_tables", "_topic", "argument", "level", "side")

    def __init__(self, grammar: Grammar, draw: list[int], topic: _Topic, stance: float) -> None:
        self._tables = grammar.tables
        self._phrases = grammar.tables.phrases
        self._donor = grammar._donor  # noqa: SLF001  one noun in two classes: what is fixed for a world, what is fresh for a text
        self._dials = grammar._dials  # noqa: SLF001
        self._draw = draw
        self._topic = topic
        self._named = False
        self._framed = False
        self._calls = 0
        self.level = level(stance)
        self.side = (self.level > 2) - (self.level < 2)
        self.argument = self._draw[_ARGUMENT] * len(ASPECTS) >> 32

    def text(self, kind: str, relation: int) -> str:
        """The whole text."""
        parts: list[str] = []
        if relation in _RELATIONS:
            table = "quote" if kind == "quote" and self._on(_QUOTED) else "reply"
            parts.append(self._foreign(f"{table}.{_RELATIONS[relation]}", _RELATION))
            bare = self._on(_ELLIPSIS)
        else:
            bare = False
            if self._on(_OPENED):
                table = f"private.{kind}" if kind in _PRIVATE else "openers"
                parts.append(self._foreign(table, _OPENER))
        body = self._hint() if bare else self._body()
        if self._framed and parts and parts[-1].endswith(":"):
            parts[-1] = _ended(parts[-1].rstrip(":"))  # one colon is enough
        parts.append(body)
        if self._on(_CLOSED):
            parts[-1] = _ended(parts[-1])
            parts.append(self._foreign("private.closing" if kind == "message" else "closers", _CLOSER))
        text = _capitals(_ended(" ".join(parts)))
        return typos(text, self._draw[_SLIP]) if self._on(_TYPO) else text

    def _hint(self) -> str:
        """An answer that leaves topic and stance to be understood."""
        self._named, self._calls = True, 1
        said = self._argument()
        if self._draw[_ORDER] < _FULL // 2:
            said = self._pick("besides", _BESIDES).replace("{x}", said).replace("{y}", self._aside(self.side))
        return self._fill(said)

    def _body(self) -> str:
        loose, clause = self._stance()
        if self._draw[_ORDER] < _FULL // 16 and self.side:  # no reason given
            self.argument, self.side = -1, 0
            return self._frame(clause) + self._fill(clause)
        conceding, reason = self._reason()
        frame = self._frame(clause + reason)
        if self._draw[_ORDER] < _FULL // 3 and not loose:
            joined, order = self._pick("therefore", _JOIN), ("{y}", "{x}")
        else:
            joined = "{x}. {y}" if loose or conceding or frame.endswith(": ") else self._pick("because", _JOIN)
            order = ("{x}", "{y}")
        for gap in order:  # in reading order, so that the topic is named where it comes first
            joined = joined.replace(gap, self._fill(clause if gap == "{x}" else reason))
        return frame + joined

    def _frame(self, clause: str) -> str:
        """Words that name the topic ahead of the clauses: at will, and always if no clause has a gap for it."""
        if "{" in clause and not self._on(_FRAMED):
            return ""
        self._named, self._framed, self._calls = True, True, 1
        word = self._topic.words[self._draw[_WORD] * len(self._topic.words) >> 32]
        return self._pick("frames", _FRAME).replace("{w}", word).replace("{h}", self._topic.tag) + " "

    def _stance(self) -> tuple[bool, str]:
        """The clause that states the stance, and whether it must stand as a sentence of its own."""
        plain, negated = _STANCES[self.level]
        if self.side < 0 and self._on(_IRONIC):
            return True, self._pick("sarcasm", _SARCASM)
        clause = self._pick(negated if self.side and self._on(_NEGATE) else plain, _STANCE)
        if self.level in (1, 3) and self._on(_HEDGED):
            return True, self._pick("hedges", _HEDGE).replace("{x}", clause)
        return False, clause

    def _reason(self) -> tuple[bool, str]:
        """The argument, and whether it concedes something to the other side first."""
        own = self._argument()
        if self.level in (1, 3) and self._on(_CONCEDE):
            return True, self._pick("concessions", _CONCESSION).replace("{o}", self._aside(-self.side)).replace("{y}", own)
        if self._on(_MORE):
            return True, self._pick("besides", _BESIDES).replace("{x}", own).replace("{y}", self._aside(self.side))
        return False, own

    def _argument(self) -> str:
        return self._pick(_ARGUMENTS[self.side][self.argument], _VARIANT)

    def _aside(self, side: int) -> str:
        """An argument about another aspect, so that no text argues against itself or says a thing twice."""
        aspect = self._draw[_OTHER] * (len(ASPECTS) - 1) >> 32
        return self._pick(_ARGUMENTS[side][aspect + (aspect >= self.argument)], _OTHER_VARIANT)

    def _fill(self, clause: str) -> str:
        """Put the topic into the first gap for it, pronouns into the others."""
        while (at := clause.find("{")) >= 0:
            stop = clause.index("}", at)
            table, slot = (self._tables.pronouns, _PRONOUN) if self._named else (self._topic.subjects, _SUBJECT)
            forms = table[self._draw[slot] * len(table) >> 32] if self._calls < 2 else self._tables.again
            self._named = True
            self._calls += 1
            clause = clause[:at] + forms[clause[at + 1 : stop]] + clause[stop + 1 :]
        return clause

    def _pick(self, table: str, slot: int) -> str:
        phrases = self._phrases[table]
        return phrases[self._draw[slot] * len(phrases) >> 32]

    def _foreign(self, table: str, slot: int) -> str:
        """As `_pick`, in the other language where the text switches."""
        phrases = (self._donor if self._on(_SWITCH) else self._phrases)[table]
        return phrases[self._draw[slot] * len(phrases) >> 32]

    def _on(self, dial: int) -> bool:
        return self._draw[dial] < self._dials[dial]


def _named(tables: Tables, topic: Topic) -> _Topic:
    """How `topic` can be named: its subjects filled in, the words that stand for it, its tag."""
    name = " ".join(topic.name.split())
    for article in tables.articles:
        name = name[len(article) :] if name.lower().startswith(article) else name
    shown = name if len(name.split()) <= 3 else name.join(tables.quotes)
    subjects = [{slot: form.replace("{n}", shown) for slot, form in forms.items()} for forms in tables.subjects]
    twice = [forms for forms in subjects if not _stutters(forms["t"])]
    return _Topic(tuple(twice or subjects), (name, *topic.words), "#" + "".join(c for c in name if c.isalnum()))


def _stutters(form: str) -> bool:
    words = form.lower().split()
    return any(first == second for first, second in itertools.pairwise(words))


def _capitals(text: str) -> str:
    """A capital at the beginning and after each end of a sentence, but for words that begin with # or @."""
    if first := _START.match(text):
        text = first[1] + first[2].upper() + text[first.end() :]
    return _NEXT.sub(_capital, text)


def _capital(found: re.Match[str]) -> str:
    return found[1] + found[2].upper()


def _ended(text: str) -> str:
    return text if text[-1] in ".!?…" else text.rstrip(",:; ") + "."
