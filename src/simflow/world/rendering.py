"""A log becomes tables: ids, words, sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simflow.episode import AGENTS, EPISODES, EXPOSURES, TRUTH, TURNS, cut, empty, sentence, wording
from simflow.plan import Cell
from simflow.ports import Step
from simflow.world.draws import GRID, Ints, name_key
from simflow.world.language import Grammar
from simflow.world.log import Table, Told
from simflow.world.population import Roster
from simflow.world.posts import EVENT, GROUP, ID, PERSON, RELATION, SAYING, STANCE, TOPIC, WORDS, WORDS_KIND, Posts
from simflow.world.reactions import (
    ANNOUNCEMENT,
    DISLIKE,
    FOLLOW,
    HIDDEN,
    KINDS,
    LIKE,
    MESSAGE,
    MUTE,
    POST,
    QUOTE,
    REPLY,
    REPORT,
    REPOST,
    SEARCH,
    TO_GROUP,
    UNFOLLOW,
)
from simflow.world.society import Society
from simflow.world.writing import ALONE

Strings = npt.NDArray[np.object_]
"""Texts, or None."""


def _among(*kinds: int) -> npt.NDArray[np.bool_]:
    """By kind code: whether it is one of `kinds`."""
    return np.isin(np.arange(len(KINDS)), kinds)


_HAS_TEXT = _among(POST, REPLY, REPOST, QUOTE, ANNOUNCEMENT, MESSAGE, TO_GROUP)
_IS_ABOUT_TEXT = _among(LIKE, DISLIKE, REPORT, HIDDEN)
_ANSWERS = _among(REPLY, QUOTE, MESSAGE, TO_GROUP)
_SIGN: Ints = _among(LIKE, REPOST, FOLLOW) - _among(DISLIKE, UNFOLLOW, MUTE, REPORT).astype(np.int8)
_NAMES = tuple("post" if kind == "announcement" else kind for kind in KINDS)
_MARKS = ("\ue000", "\ue001", "\ue002", "\ue003")
"""Stand for actor, target, text and what it is about, while the form of a sentence is asked for."""
_MARK = re.compile("([\ue000-\ue003])")


class Words:
    """Texts of posts, each written once, whatever asks for it. `given`: words by their key that the grammar did not write."""

    def __init__(self, cell: Cell, posts: Posts, given: Mapping[int, str] | None = None) -> None:
        self.cell = cell
        self.posts = posts
        self.by_id = np.argsort(posts.column(ID), kind="stable")
        self.ids = posts.column(ID)[self.by_id]
        self.given = given or {}
        self.events = {name_key(e.name): e for e in cell.events}
        self._grammar = Grammar(cell.language, cell.topics, cell.seed)

    def rows(self, episodes: Ints) -> Ints:
        """Rows of posts by id; all must be there."""
        return np.asarray(self.by_id[np.searchsorted(self.ids, episodes)], dtype=np.int64)

    def write(self, rows: Ints) -> tuple[Strings, Ints, Ints]:
        """(text, argument, side) of posts by row; argument -1 and side 0 for words that the grammar did not write."""
        keys, first, where = np.unique(self.posts.table[rows, WORDS], return_index=True, return_inverse=True)
        posts = self.posts.table[rows[first]]
        texts = np.empty(len(keys), object)
        argument, side = np.full(len(keys), -1, np.int16), np.zeros(len(keys), np.int8)
        given = np.array([key in self.given for key in keys.tolist()], bool) if self.given else np.zeros(len(keys), bool)
        for at in np.flatnonzero(given).tolist():
            texts[at] = self.given[int(keys[at])]
        verbatim = ((posts[:, EVENT] != 0) | (posts[:, SAYING] >= 0)) & ~given
        for at in np.flatnonzero(verbatim).tolist():
            post = posts[at]
            event = self.events.get(int(post[EVENT]))
            texts[at] = self.cell.people[post[PERSON]].posts[post[SAYING]] if event is None else event.text or ""
        composed = np.flatnonzero(~given & ~verbatim)
        if len(composed):
            own = posts[composed]
            made = self._grammar.write(
                keys[composed],
                [_NAMES[k] for k in own[:, WORDS_KIND].tolist()],
                own[:, TOPIC].astype(np.int16),
                own[:, STANCE] / GRID,
                own[:, RELATION].astype(np.int8),
            )
            texts[composed], argument[composed], side[composed] = made.text, made.argument, made.side
        return texts[where], argument[where], side[where]


def agents_table(rows: Roster, first: int) -> pa.Table:
    """The agents table, from index `first` on."""
    return pa.table({f.name: pa.array(getattr(rows, f.name)[first:], f.type) for f in AGENTS}, schema=AGENTS)


def episodes_table(cell: Cell, acts: Table, words: Words, ids: list[str]) -> tuple[pa.Table, pa.Table]:
    """(episodes, true statements). acts: as logged; ids: readable id by agent."""
    count, kind, around = len(acts["id"]), acts["kind"], wording(cell.language.code)
    spoken = np.flatnonzero(_HAS_TEXT[kind])
    reacted = np.flatnonzero(_IS_ABOUT_TEXT[kind])
    rows = words.rows(np.concatenate([acts["id"][spoken], acts["parent"][reacted]]))
    written, argument, side = words.write(rows)
    rows, argument, side = rows[: len(spoken)], argument[: len(spoken)], side[: len(spoken)]
    texts, about = np.full(count, None, object), np.full(count, None, object)
    texts[spoken] = written[: len(spoken)]
    about[reacted] = written[len(spoken) :]
    group = words.posts.table[rows, GROUP]
    for at in np.flatnonzero(group >= 0).tolist():
        where = group[at]
        named = cell.platform.groups[where].name if cell.platform.groups else None
        about[spoken[at]] = around.say("group.numbered", number=where) if named is None else around.say("group.named", name=named)
    for at in np.flatnonzero(kind == SEARCH).tolist():
        about[at] = cell.topics[acts["topic"][at]].name
    events = pa.array([None, *(e.name for e in cell.events)], pa.string())
    number = {name_key(e.name): at for at, e in enumerate(cell.events, 1)}
    caused = np.zeros(count, np.int32)
    for at in np.flatnonzero(acts["event"]).tolist():
        caused[at] = number[int(acts["event"][at])]
    spans = np.searchsorted(acts["tick"], acts["tick"])
    episodes = pa.table(
        {
            "episode": acts["id"],
            "tick": acts["tick"],
            "ordinal": (np.arange(count) - spans).astype(np.int32),
            "actor": acts["actor"],
            "kind": pa.array(_NAMES, pa.string()).take(pa.array(kind)),
            "parent": _optional(acts["parent"], pa.int64()),
            "root": _optional(acts["root"], pa.int64()),
            "target": _optional(acts["target"], pa.int32()),
            "text": pa.array(texts, pa.string()),
            "sentence": pa.array(_sentences(cell.language.code, acts, ids, texts, about), pa.string()),
            "event": events.take(pa.array(caused)),
            "source": pa.nulls(count, pa.string()),
            "ts": pa.nulls(count, pa.string()),
            "lang": pa.array([None, cell.language.code], pa.string()).take(pa.array(_HAS_TEXT[kind].astype(np.int8))),
            "topic": pa.nulls(count, pa.string()),
        },
        schema=EPISODES,
    )
    posts = words.posts.table[rows]
    topic = posts[:, TOPIC].astype(np.int16)
    on = topic >= 0
    statements = pa.table(
        {
            "episode": acts["id"][spoken][on],
            "topic": topic[on],
            "stance": (posts[on, STANCE] / GRID).astype(np.float32),
            "argument": _optional(argument[on], pa.int16()),
            "side": side[on],
        },
        schema=TRUTH["statements"],
    )
    return episodes, statements


def _sentences(language: str, acts: Table, ids: list[str], texts: Strings, about: Strings) -> Strings:
    """What `simflow.episode.sentence` writes for each episode; its form is asked for once for all episodes that share it."""
    handles = np.array([*(agent.removeprefix("@") for agent in ids), ""], object)
    actor, target = handles[acts["actor"]], handles[acts["target"]]
    form = 8 * acts["kind"].astype(np.int64) + 4 * target.astype(bool) + 2 * texts.astype(bool) + about.astype(bool)
    out = np.empty(len(form), object)
    for one in np.unique(form).tolist():
        at = np.flatnonzero(form == one)
        kind = _NAMES[one // 8]
        whom, said, parent = (mark if one & bit else None for mark, bit in zip(_MARKS[1:], (4, 2, 1), strict=True))
        literals = _MARK.split(sentence(kind, _MARKS[0], target=whom, text=said, parent_text=parent, language=language))
        pieces: list[Iterable[str]] = [itertools.repeat(literals[0])]
        for mark, literal in zip(literals[1::2], literals[2::2], strict=True):
            words = (actor, target, texts, about)[_MARKS.index(mark)][at].tolist()
            pieces += [map(cut, words) if mark == parent and kind != "group" else words, itertools.repeat(literal)]
        out[at] = list(map("".join, zip(*pieces, strict=False)))
    return out


def exposures_table(shown: Table) -> tuple[pa.Table, pa.Table]:
    """(exposures, true impacts)."""
    exposures = pa.table({name: shown[name] for name in ("tick", "reader", "episode", "rank")}, schema=EXPOSURES)
    reaction = pa.DictionaryArray.from_arrays(_optional(shown["reaction"], pa.int8()), pa.array(_NAMES)).cast(pa.string())
    names = ("tick", "reader", "episode", "author", "topic", "contribution")
    return exposures, pa.table({**{name: shown[name] for name in names}, "reaction": reaction}, schema=TRUTH["impacts"])


def relations_table(acts: Table, words: Words) -> pa.Table:
    """True relations: what each act towards somebody says about them."""
    label: Ints = _SIGN[acts["kind"]]
    answers = np.flatnonzero(_ANSWERS[acts["kind"]])
    label[answers] = words.posts.table[words.rows(acts["id"][answers]), RELATION]
    keep = (acts["target"] >= 0) & (label != ALONE)  # a message that answers nothing says nothing about whom it is for
    return pa.table(
        {
            "tick": acts["tick"][keep],
            "actor": acts["actor"][keep],
            "target": acts["target"][keep],
            "topic": _optional(acts["topic"][keep], pa.int16()),
            "label": label[keep],
            "episode": acts["id"][keep],
        },
        schema=TRUTH["relations"],
    )


def step(cell: Cell, society: Society, told: Told, rows: Roster, first: int, given: Mapping[int, str] | None = None) -> Step:
    """Everything that an engine hands over. rows: all agents; first: index of the first one that is new; given: see `Words`."""
    acts, words = told.acts, Words(cell, told.posts, given)
    episodes, statements = episodes_table(cell, acts, words, rows.id)
    exposures, impacts = exposures_table(told.shown)
    return Step(
        agents=agents_table(rows, first),
        episodes=episodes,
        exposures=exposures,
        turns=empty(TURNS),
        state=society.state(),
        truth={
            "impacts": impacts,
            "stances": pa.table(told.changes, schema=TRUTH["stances"]),
            "statements": statements,
            "relations": relations_table(acts, words),
        },
    )


def _optional(values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind, mask=values < 0)
