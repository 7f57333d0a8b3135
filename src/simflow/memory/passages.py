"""What an extractor may read: words, who wrote them, to whom, and what they answer. Nothing of the world's hidden state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import TEXT_KINDS
from simflow.memory.linking import Names
from simflow.ports import Held, Passage

READ_KINDS = tuple(kind for kind in TEXT_KINDS if kind != "repost")
"""Kinds that are read for what they say. A repost repeats another's words: it is a relation by rule, not a statement of its actor."""


def passages(
    rows: Iterable[Mapping[str, Any]], names: Names, texts: Mapping[int, str], held: Mapping[int, Sequence[Held]] | None = None
) -> list[Passage]:
    """Passages of episode rows, threads kept together: sorted by root, then time.

    texts: text by episode, for parents and roots. held: beliefs by agent, as they were before the batch; a passage gets those that its actor
    holds on topics and towards the one it speaks to.
    """
    held = held or {}
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
                    actor_id=names.ids.get(row["actor"], str(row["actor"])),
                    target=row["target"],
                    target_id=None if row["target"] is None else names.ids.get(row["target"], str(row["target"])),
                    text=row["text"] or "",
                    parent=parent,
                    parent_text=None if parent is None else texts.get(parent),
                    root=root,
                    root_text=None if root is None or root == row["episode"] else texts.get(root),
                    lang=row["lang"],
                    topic=row.get("topic"),
                    mentions=tuple((names.ids[a], a) for a in names.link(row["text"] or "").agents),
                    held=tuple(h for h in held.get(row["actor"], ()) if h.on_agent in {None, row["target"]}),
                ),
            ),
        )
    return [passage for _, passage in sorted(found, key=lambda pair: pair[0])]


def texts_of(episodes: pa.Table, wanted: Iterable[int]) -> dict[int, str]:
    """Texts of the wanted episodes that have one."""
    ids = pa.array(sorted(set(wanted)), pa.int64())
    rows = episodes.select(["episode", "text"]).filter(pc.is_in(episodes["episode"], value_set=ids))
    return {e: t for e, t in zip(rows["episode"].to_pylist(), rows["text"].to_pylist(), strict=True) if t}
