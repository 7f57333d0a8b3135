"""Stances become texts: wording, strength and argument vary, and nothing in a text is a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput
from simflow.plan import Language, Topic
from simflow.world.language.book import ALONE, BARE, JOINED, PLAIN, Book, book
from simflow.world.language.draws import draws
from simflow.world.language.noise import typos
from simflow.world.language.phrasing import FRESH, Ints, within
from simflow.world.language.tables import ASPECTS, LEVELS, NEUTRAL, STRONG, Tables

_SLOTS = 31
"""Draws of a text. Each choice has its own, so that a change of one leaves the others."""
_ORDER, _FRAME, _FRAMED, _OPENER, _OPENED, _CLOSER, _CLOSED, _STANCE, _ARGUMENT, _VARIANT, _JOIN, _HEDGE, _HEDGED = range(13)
_NEGATE, _CONCEDE, _CONCESSION, _OTHER, _OTHER_VARIANT, _SARCASM, _IRONIC, _ELLIPSIS, _RELATION, _QUOTED, _SUBJECT = range(13, 24)
_PRONOUN, _WORD, _TYPO, _SLIP, _SWITCH, _MORE, _BESIDES = range(24, _SLOTS)
_FULL = 1 << 32
_SIDES = ("con", "open", "pro")
_ANSWERS = tuple(f"{table}.{name}" for table in ("reply", "quote") for name in ("disagree", "mixed", "agree"))
_OPENINGS = ("openers", "private.message", "private.group")
_CLOSINGS = ("closers", "private.closing")


@dataclass(frozen=True, slots=True)
class Texts:
    """`text` as written; `argument` the index into `ASPECTS` of its main argument (-1: none); `side` +1 pro, -1 con, 0 neither."""

    text: list[str]
    argument: npt.NDArray[np.int16]
    side: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class _Body:
    """What stands between opening and close, by text. Phrases by number, -1 for none; `phrases` (n, 3): clause, own reason, aside."""

    bare: Ints
    frame: Ints
    join: Ints
    hedge: Ints
    reason: Ints
    phrases: Ints
    argument: Ints
    side: Ints


class Grammar:
    """Writes the posts of a world in one language. A text is a function of (seed, key, its own arguments), whatever the batch.

    Texts are put together column by column: what is drawn and chosen are arrays, and only pieces that differ are ever made of words.
    """

    def __init__(self, language: Language, topics: tuple[Topic, ...], seed: int, tables: Tables | None = None) -> None:
        """tables: what is written with; None for those of the language, in the split that it names."""
        self.seed = seed
        named = tuple((topic.name, tuple(topic.words)) for topic in topics)
        self._book = book(language, named) if tables is None else Book(language, named, tables)
        shelf = self._book.shelf
        self._arguments = np.stack([shelf.tables([f"{side}.{aspect}" for aspect in ASPECTS]) for side in _SIDES])
        plain, negated = ([f"{kind}.{name}" for name in LEVELS] for kind in ("stance", "negated"))
        negated[2] = plain[2]  # who is undecided denies nothing
        self._stances = np.stack([shelf.tables(plain), shelf.tables(negated)])
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
        known = len(self._book.words)
        if len(topics) and not 0 <= int(topics.min()) <= int(topics.max()) < known:
            raise BadInput("a text was asked for on a topic that does not exist", hint=f"topics have indices 0 to {known - 1}")
        if not len(keys):
            return Texts([], np.empty(0, np.int16), np.empty(0, np.int8))
        draw = draws(self.seed, np.asarray(keys, dtype=np.int64), _SLOTS)
        on = {dial: draw[dial] < share for dial, share in self._dials.items()}
        kind, relation = np.array(kinds), relations.astype(np.int64)
        answers = np.abs(relation) <= 1
        body = self._body(draw, on, stances, answers & on[_ELLIPSIS])
        lead = self._opening(draw, on, kind, relation, answers)
        close = np.where(on[_CLOSED], self._foreign(_CLOSINGS, (kind == "message").astype(np.int64), draw[_CLOSER], on), -1)
        texts = self._put(draw, topics.astype(np.int64), lead, body, close)
        for slipped in np.flatnonzero(on[_TYPO]).tolist():
            texts[slipped] = typos(texts[slipped], int(draw[_SLIP, slipped]))
        return Texts(texts, body.argument.astype(np.int16), body.side.astype(np.int8))

    def _opening(self, draw: Ints, on: dict[int, Ints], kind: Ints, relation: Ints, answers: Ints) -> Ints:
        """The phrase that a text begins with, -1 for none: what it says to its parent, or how a text of its own opens."""
        to = np.where(answers, relation + 1, 0) + 3 * ((kind == "quote") & on[_QUOTED])
        answer = self._foreign(_ANSWERS, to, draw[_RELATION], on)
        opener = self._foreign(_OPENINGS, (kind == "message") + 2 * (kind == "group"), draw[_OPENER], on)
        return np.where(answers, answer, np.where(on[_OPENED], opener, -1))

    def _foreign(self, names: Sequence[str], which: Ints, draw: Ints, on: dict[int, Ints]) -> Ints:
        """A phrase of one of the tables `names`; in the other language where the text switches."""
        own, other = (self._book.shelf.tables(names, shelf) for shelf in (0, 1))
        return self._book.shelf.pick(np.where(on[_SWITCH], other[which], own[which]), draw)

    def _body(self, draw: Ints, on: dict[int, Ints], stances: npt.NDArray[np.float64], bare: Ints) -> _Body:
        """What is said: the stance, a reason, and how they are joined. bare: topic and stance are left to be understood."""
        pick, gaps, colon = self._book.shelf.pick, self._book.shelf.gaps, self._book.colon
        size = np.abs(stances)
        strength = np.where(size < NEUTRAL, 0, np.where(size < STRONG, 1, 2))
        side = np.where(stances > 0, 1, -1) * (strength > 0)
        mild = strength == 1

        ironic = (side < 0) & on[_IRONIC]
        denied = ((side != 0) & on[_NEGATE]).astype(np.int64)
        clause = np.where(ironic, self._one("sarcasm", draw[_SARCASM]), pick(self._stances[denied, 2 + side * strength], draw[_STANCE]))
        hedge = np.where(mild & on[_HEDGED] & ~ironic & ~bare, self._one("hedges", draw[_HEDGE]), -1)
        loose = ironic | (hedge >= 0)

        argument = within(draw[_ARGUMENT], len(ASPECTS))
        own = pick(self._arguments[side + 1, argument], draw[_VARIANT])
        # An aside is about another aspect, so that no text argues against itself or says a thing twice.
        other = within(draw[_OTHER], len(ASPECTS) - 1)
        other += other >= argument
        conceding = mild & on[_CONCEDE] & ~bare
        more = np.where(bare, draw[_ORDER] < _FULL // 2, on[_MORE] & ~conceding)
        aside = pick(self._arguments[np.where(conceding, -side, side) + 1, other], draw[_OTHER_VARIANT])
        without = ~bare & (draw[_ORDER] < _FULL // 16) & (side != 0)
        reason = np.where(conceding, self._one("concessions", draw[_CONCESSION]), np.where(more, self._one("besides", draw[_BESIDES]), -1))

        # A frame names the topic ahead of the clauses: at will, and always if none of them has a gap for it.
        named = gaps[clause] + np.where(without, 0, gaps[own] + np.where(reason >= 0, gaps[aside], 0))
        frame = np.where(~bare & (on[_FRAMED] | (named == 0)), self._one("frames", draw[_FRAME]), -1)
        apart = loose | (reason >= 0) | ((frame >= 0) & colon[frame])
        because = np.where(apart, PLAIN, JOINED + self._one("because", draw[_JOIN]))
        join = np.where((draw[_ORDER] < _FULL // 3) & ~loose, JOINED + self._one("therefore", draw[_JOIN]), because)
        return _Body(
            bare,
            frame,
            np.where(bare, BARE, np.where(without, ALONE, join)),
            hedge,
            np.where(without, -1, reason),
            np.stack([clause, own, aside], axis=1),
            np.where(without, -1, argument),
            np.where(without, 0, side),
        )

    def _one(self, table: str, draw: Ints) -> Ints:
        return self._book.shelf.pick(self._book.shelf.tables([table])[0], draw)

    def _put(self, draw: Ints, topic: Ints, lead: Ints, body: _Body, close: Ints) -> list[str]:
        """The texts: their pieces in reading order, so that the topic is named where it comes first and pronouns follow."""
        of, at, parts = self._book, np.full(len(lead), FRESH), []
        framed = body.frame >= 0
        frames = np.where(framed, of.frame_keys(body.frame, topic, within(draw[_WORD], of.words[topic])), -1)
        for pieces, keys in ((of.leads, of.lead_keys(lead, framed)), (of.frames, frames)):
            words, at = pieces.take(keys, at)
            parts.append(words)
        subject, pronoun = within(draw[_SUBJECT], of.subjects[topic]), within(draw[_PRONOUN], of.pronouns)
        named = (framed | body.bare).astype(np.int64)
        before, roles = of.skeletons(body.join, body.hedge, body.reason)
        everyone, places = np.arange(len(at)), roles.shape[1]
        for place in range(places):
            words, at = of.literals.take(before[:, place], at)
            parts.append(words)
            role, last = roles[:, place], roles[:, place + 1] < 0 if place + 1 < places else True
            phrase = body.phrases[everyone, role]
            keys = np.where(role < 0, -1, of.clause_keys(phrase, topic, subject, pronoun, named, last))
            words, at = of.clauses.take(keys, at)
            parts.append(words)
            named += np.where(role < 0, 0, of.shelf.gaps[phrase])
        parts.append(of.closings.take(close, at)[0])
        return list(map("".join, zip(*(part.tolist() for part in parts), strict=True)))
