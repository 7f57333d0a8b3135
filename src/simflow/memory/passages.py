"""What an extractor may read: words, who wrote them, to whom, and what they answer. Nothing of the world's hidden state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import TEXT_KINDS
from simflow.memory.topics import words
from simflow.ports import Passage

READ_KINDS = tuple(kind for kind in TEXT_KINDS if kind != "repost")
"""Kinds that are read for what they say. A repost repeats another's words: it is a relation by rule, not a statement of its actor."""

_HANDLE = re.compile(r"@([\w][\w.\-]*\w|\w)")


class People:
    """Ids and names of a run's agents: `@id` and unambiguous names in text are linked to agents; homonyms are left alone."""

    def __init__(self, agents: pa.Table) -> None:
        index = agents["agent"].to_pylist()
        self.ids: dict[int, str] = dict(zip(index, agents["id"].to_pylist(), strict=True))
        self._handles = {identity.casefold().removeprefix("@"): agent for agent, identity in self.ids.items()}
        named: dict[tuple[str, ...], list[int]] = {}
        for agent, name in zip(index, agents["name"].to_pylist(), strict=True):
            key = tuple(w for w, _, _ in words(name))
            if key:
                named.setdefault(key, []).append(agent)
        self._names = {key: who[0] for key, who in named.items() if len(who) == 1 and (len(key) > 1 or len(key[0]) > 3)}
        self._longest = max((len(k) for k in self._names), default=0)
        self._first = {key[0] for key in self._names}

    def mentions(self, text: str) -> tuple[tuple[str, int], ...]:
        """(words as written, agent), each agent once, in order of appearance."""
        found: dict[int, str] = {}
        for match in _HANDLE.finditer(text):
            agent = self._handles.get(match.group(1).casefold())
            if agent is not None:
                found.setdefault(agent, match.group())
        tokens = words(text)
        for at, (word, begin, _) in enumerate(tokens):
            if word not in self._first:
                continue
            for size in range(min(self._longest, len(tokens) - at), 0, -1):
                agent = self._names.get(tuple(w for w, _, _ in tokens[at : at + size]))
                if agent is not None:
                    found.setdefault(agent, text[begin : tokens[at + size - 1][2]])
                    break
        return tuple((said, agent) for agent, said in found.items())


def passages(rows: Iterable[Mapping[str, Any]], people: People, texts: Mapping[int, str]) -> list[Passage]:
    """Passages of episode rows, threads kept together: sorted by root, then time.

    texts: text by episode, for parents and roots.
    """
    found = []
    for row in rows:
        parent, root = row["parent"], row["root"]
        found.append(
            (
                (root if root is not None else row["episode"], row["tick"], row["ordinal"], row["episode"]),
                Passage(
                    episode=row["episode"],
                    tick=row["tick"],
                    kind=row["kind"],
                    actor=row["actor"],
                    actor_id=people.ids.get(row["actor"], str(row["actor"])),
                    target=row["target"],
                    target_id=None if row["target"] is None else people.ids.get(row["target"], str(row["target"])),
                    text=row["text"] or "",
                    parent=parent,
                    parent_text=None if parent is None else texts.get(parent),
                    root=root,
                    root_text=None if root is None or root == row["episode"] else texts.get(root),
                    lang=row["lang"],
                    mentions=people.mentions(row["text"] or ""),
                ),
            ),
        )
    return [passage for _, passage in sorted(found, key=lambda pair: pair[0])]


def texts_of(episodes: pa.Table, wanted: Iterable[int]) -> dict[int, str]:
    """Texts of the wanted episodes that have one."""
    ids = pa.array(sorted(set(wanted)), pa.int64())
    rows = episodes.select(["episode", "text"]).filter(pc.is_in(episodes["episode"], value_set=ids))
    return {e: t for e, t in zip(rows["episode"].to_pylist(), rows["text"].to_pylist(), strict=True) if t}
