"""A log becomes tables: ids, words, sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simflow.episode import AGENTS, EPISODES, EXPOSURES, TRUTH, TURNS, empty, sentence
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

_TEXT = (POST, REPLY, REPOST, QUOTE, ANNOUNCEMENT, MESSAGE, TO_GROUP)
_NAMES = tuple("post" if kind == "announcement" else kind for kind in KINDS)
_SIGNS = {LIKE: 1, REPOST: 1, FOLLOW: 1, DISLIKE: -1, UNFOLLOW: -1, MUTE: -1, REPORT: -1}


class Words:
    """Texts of posts, each written once, whatever asks for it. `given`: words by their key that the grammar did not write."""

    def __init__(self, cell: Cell, posts: Posts, given: Mapping[int, str] | None = None) -> None:
        self.cell = cell
        self.posts = posts
        self.by_id = np.argsort(posts.column(ID), kind="stable")
        self.ids = posts.column(ID)[self.by_id]
        self.events = {name_key(e.name): e for e in cell.events}
        self._grammar = Grammar(cell.language, cell.topics, cell.seed)
        self._written: dict[int, tuple[str, int, int]] = {key: (text, -1, 0) for key, text in (given or {}).items()}

    def rows(self, episodes: Ints) -> Ints:
        """Rows of posts by id; all must be there."""
        return np.asarray(self.by_id[np.searchsorted(self.ids, episodes)], dtype=np.int64)

    def write(self, rows: Ints) -> tuple[list[str], Ints, Ints]:
        """(text, argument, side) of posts by row; argument -1 and side 0 for words that the grammar did not write."""
        posts = self.posts.table[rows]
        words, where = np.unique(posts[:, WORDS], return_index=True)
        fresh = posts[where][[key not in self._written for key in words.tolist()]]
        verbatim = (fresh[:, EVENT] != 0) | (fresh[:, SAYING] >= 0)
        for post in fresh[verbatim]:
            event = self.events.get(int(post[EVENT]))
            own = self.cell.people[post[PERSON]].posts[post[SAYING]] if event is None else event.text or ""
            self._written[int(post[WORDS])] = (own, -1, 0)
        composed = fresh[~verbatim]
        if len(composed):
            keys = composed[:, WORDS]
            made = self._grammar.write(
                keys,
                [_NAMES[k] for k in composed[:, WORDS_KIND].tolist()],
                composed[:, TOPIC].astype(np.int16),
                composed[:, STANCE] / GRID,
                composed[:, RELATION].astype(np.int8),
            )
            self._written.update(zip(keys.tolist(), zip(made.text, made.argument.tolist(), made.side.tolist(), strict=True), strict=True))
        found = [self._written[key] for key in posts[:, WORDS].tolist()]
        return [f[0] for f in found], np.array([f[1] for f in found], np.int16), np.array([f[2] for f in found], np.int8)


def agents_table(rows: Roster, first: int) -> pa.Table:
    """The agents table, from index `first` on."""
    return pa.table({f.name: pa.array(getattr(rows, f.name)[first:], f.type) for f in AGENTS}, schema=AGENTS)


def episodes_table(cell: Cell, acts: Table, words: Words, ids: list[str]) -> tuple[pa.Table, pa.Table]:
    """(episodes, true statements). acts: as logged; ids: readable id by agent."""
    count = len(acts["id"])
    texts: list[str | None] = [None] * count
    spoken = np.flatnonzero(np.isin(acts["kind"], _TEXT))
    rows = words.rows(acts["id"][spoken])
    own, argument, side = words.write(rows)
    for at, text in zip(spoken.tolist(), own, strict=True):
        texts[at] = text
    quoted: list[str | None] = [None] * count
    reacted = np.flatnonzero(np.isin(acts["kind"], (LIKE, DISLIKE, REPORT, HIDDEN)))
    for at, text in zip(reacted.tolist(), words.write(words.rows(acts["parent"][reacted]))[0], strict=True):
        quoted[at] = text
    for at, group in zip(spoken.tolist(), words.posts.table[rows, GROUP].tolist(), strict=True):
        if group >= 0:
            quoted[at] = f'the group "{cell.platform.groups[group].name}"' if cell.platform.groups else f"group {group}"
    for at in np.flatnonzero(acts["kind"] == SEARCH).tolist():
        quoted[at] = cell.topics[acts["topic"][at]].name
    kinds = [_NAMES[k] for k in acts["kind"].tolist()]
    columns = zip(kinds, acts["actor"].tolist(), acts["target"].tolist(), texts, quoted, strict=True)
    sentences = [
        sentence(kind, ids[actor], target=ids[target] if target >= 0 else None, text=text, parent_text=parent)
        for kind, actor, target, text, parent in columns
    ]
    names = {name_key(e.name): e.name for e in cell.events} | {0: None}
    spans = np.searchsorted(acts["tick"], acts["tick"])
    spoke: list[str | None] = [None if text is None else cell.language.code for text in texts]
    episodes = pa.table(
        {
            "episode": acts["id"],
            "tick": acts["tick"],
            "ordinal": (np.arange(count) - spans).astype(np.int32),
            "actor": acts["actor"],
            "kind": pa.array(kinds, pa.string()),
            "parent": _optional(acts["parent"], pa.int64()),
            "root": _optional(acts["root"], pa.int64()),
            "target": _optional(acts["target"], pa.int32()),
            "text": pa.array(texts, pa.string()),
            "sentence": pa.array(sentences, pa.string()),
            "event": pa.array([names[e] for e in acts["event"].tolist()], pa.string()),
            "source": pa.nulls(count, pa.string()),
            "ts": pa.nulls(count, pa.string()),
            "lang": pa.array(spoke, pa.string()),
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


def exposures_table(shown: Table) -> tuple[pa.Table, pa.Table]:
    """(exposures, true impacts)."""
    exposures = pa.table({name: shown[name] for name in ("tick", "reader", "episode", "rank")}, schema=EXPOSURES)
    reaction = pa.DictionaryArray.from_arrays(_optional(shown["reaction"], pa.int8()), pa.array(_NAMES)).cast(pa.string())
    names = ("tick", "reader", "episode", "author", "topic", "contribution")
    return exposures, pa.table({**{name: shown[name] for name in names}, "reaction": reaction}, schema=TRUTH["impacts"])


def relations_table(acts: Table, words: Words) -> pa.Table:
    """True relations: what each act towards somebody says about them."""
    label = np.zeros(len(acts["id"]), np.int8)
    for kind, sign in _SIGNS.items():
        label[acts["kind"] == kind] = sign
    answers = np.flatnonzero(np.isin(acts["kind"], (REPLY, QUOTE, MESSAGE, TO_GROUP)))
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
