"""A text of the built-in world written one clause after the other, as one would by hand: what `Grammar` must give, whatever its batches."""

from __future__ import annotations

import itertools
import re

import numpy as np

from simflow.world.language.draws import draws
from simflow.world.language.noise import typos
from simflow.world.language.tables import ASPECTS, LEVELS, level, load

_SLOTS = 31
_ORDER, _FRAME, _FRAMED, _OPENER, _OPENED, _CLOSER, _CLOSED, _STANCE, _ARGUMENT, _VARIANT, _JOIN, _HEDGE, _HEDGED = range(13)
_NEGATE, _CONCEDE, _CONCESSION, _OTHER, _OTHER_VARIANT, _SARCASM, _IRONIC, _ELLIPSIS, _RELATION, _QUOTED, _SUBJECT = range(13, 24)
_PRONOUN, _WORD, _TYPO, _SLIP, _SWITCH, _MORE, _BESIDES = range(24, _SLOTS)
_FULL = 1 << 32
_START = re.compile(r"([^\w#@]*)([^\WA-Z])")
_NEXT = re.compile(r"([.!?…]\s[^\w#@]*)([^\WA-Z])")
_SIDES = {1: "pro", 0: "open", -1: "con"}
_RELATIONS = {1: "agree", 0: "mixed", -1: "disagree"}


def write(language, topics, seed, keys, kinds, on, stances, relations):
    """(text, argument, side) of each episode, one after the other; arguments as of `Grammar.write`, `on` the topics."""
    tables = load(language.code, language.split)
    donor = load(tables.donor, language.split).phrases if language.code_switch > 0 else tables.phrases
    shares = (
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
    dials = {dial: round(share * _FULL) for dial, share in shares}
    out = []
    for draw, kind, topic, stance, relation in zip(
        draws(seed, np.asarray(keys), _SLOTS).T.tolist(), kinds, on, stances, relations, strict=True
    ):
        one = _Writing(tables, donor, dials, draw, topics[topic], float(stance))
        out.append((one.text(kind, int(relation)), one.argument, one.side))
    return out


class _Writing:
    """One text in the making: names its topic once, then says "it"."""

    def __init__(self, tables, donor, dials, draw, topic, stance):
        self._tables = tables
        self._phrases = tables.phrases
        self._donor = donor
        self._dials = dials
        self._draw = draw
        self._named = False
        self._framed = False
        self._calls = 0
        self.level = level(stance)
        self.side = (self.level > 2) - (self.level < 2)
        self.argument = self._draw[_ARGUMENT] * len(ASPECTS) >> 32
        written = bare = " ".join(topic.name.split())
        for article in tables.articles:
            if bare.lower().startswith(article):
                bare = bare[len(article) :]
        self._tag = "#" + "".join(c for c in bare if c.isalnum())
        self._words = (written[: len(written) - len(bare)].lower() + bare, *topic.words)
        forms = [{slot: form.replace("{n}", self._quoted(bare, form)) for slot, form in one.items()} for one in tables.subjects]
        plain = [one for one in forms if not any(a == b for a, b in itertools.pairwise(one["t"].lower().split()))]
        self._subjects = plain or forms

    def _quoted(self, name, phrase):
        left, right = self._tables.quotes
        return name if left in phrase or len(name.split()) <= 3 else left + name + right

    def text(self, kind, relation):
        """The whole text."""
        parts = []
        if relation in _RELATIONS:
            table = "quote" if kind == "quote" and self._on(_QUOTED) else "reply"
            parts.append(self._foreign(f"{table}.{_RELATIONS[relation]}", _RELATION))
            bare = self._on(_ELLIPSIS)
        else:
            bare = False
            if self._on(_OPENED):
                table = f"private.{kind}" if kind in ("message", "group") else "openers"
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

    def _hint(self):
        """An answer that leaves topic and stance to be understood."""
        self._named, self._calls = True, 1
        said = self._argument()
        if self._draw[_ORDER] < _FULL // 2:
            said = self._pick("besides", _BESIDES).replace("{x}", said).replace("{y}", self._aside(self.side))
        return self._fill(said)

    def _body(self):
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

    def _frame(self, clause):
        """Words that name the topic ahead of the clauses: at will, and always if no clause has a gap for it."""
        if "{" in clause and not self._on(_FRAMED):
            return ""
        self._named, self._framed, self._calls = True, True, 1
        word = self._words[self._draw[_WORD] * len(self._words) >> 32]
        frame = self._pick("frames", _FRAME)
        return frame.replace("{w}", self._quoted(word, frame)).replace("{h}", self._tag) + " "

    def _stance(self):
        """The clause that states the stance, and whether it must stand as a sentence of its own."""
        plain, negated = (f"{kind}.{LEVELS[self.level]}" for kind in ("stance", "negated"))
        if self.side < 0 and self._on(_IRONIC):
            return True, self._pick("sarcasm", _SARCASM)
        clause = self._pick(negated if self.side and self._on(_NEGATE) else plain, _STANCE)
        if self.level in (1, 3) and self._on(_HEDGED):
            return True, self._pick("hedges", _HEDGE).replace("{x}", clause)
        return False, clause

    def _reason(self):
        """The argument, and whether it concedes something to the other side first."""
        own = self._argument()
        if self.level in (1, 3) and self._on(_CONCEDE):
            return True, self._pick("concessions", _CONCESSION).replace("{o}", self._aside(-self.side)).replace("{y}", own)
        if self._on(_MORE):
            return True, self._pick("besides", _BESIDES).replace("{x}", own).replace("{y}", self._aside(self.side))
        return False, own

    def _argument(self):
        return self._pick(f"{_SIDES[self.side]}.{ASPECTS[self.argument]}", _VARIANT)

    def _aside(self, side):
        """An argument about another aspect, so that no text argues against itself or says a thing twice."""
        aspect = self._draw[_OTHER] * (len(ASPECTS) - 1) >> 32
        return self._pick(f"{_SIDES[side]}.{ASPECTS[aspect + (aspect >= self.argument)]}", _OTHER_VARIANT)

    def _fill(self, clause):
        """Put the topic into the first gap for it, pronouns into the others."""
        while (at := clause.find("{")) >= 0:
            stop = clause.index("}", at)
            table, slot = (self._tables.pronouns, _PRONOUN) if self._named else (self._subjects, _SUBJECT)
            forms = table[self._draw[slot] * len(table) >> 32] if self._calls < 2 else self._tables.again
            self._named = True
            self._calls += 1
            clause = clause[:at] + forms[clause[at + 1 : stop]] + clause[stop + 1 :]
        return clause

    def _pick(self, table, slot):
        phrases = self._phrases[table]
        return phrases[self._draw[slot] * len(phrases) >> 32]

    def _foreign(self, table, slot):
        """As `_pick`, in the other language where the text switches."""
        phrases = (self._donor if self._on(_SWITCH) else self._phrases)[table]
        return phrases[self._draw[slot] * len(phrases) >> 32]

    def _on(self, dial):
        return self._draw[dial] < self._dials[dial]


def _capitals(text):
    """A capital at the beginning and after each end of a sentence, but for words that begin with # or @."""
    if first := _START.match(text):
        text = first[1] + first[2].upper() + text[first.end() :]
    return _NEXT.sub(_capital, text)


def _capital(found):
    return found[1] + found[2].upper()


def _ended(text):
    return text if text[-1] in ".!?…" else text.rstrip(",:; ") + "."
