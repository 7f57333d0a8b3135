"""A window's rows for searching, kept beside it as memory-mapped arrays: a cache, made from the window's Parquet files alone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import TEXT_KINDS
from simflow.memory import lexical
from simflow.memory.history import ROW, Segment, segment
from simflow.memory.topics import Gazetteer
from simflow.plan import Cell
from simflow.store import RunData, Store

FORMAT = "segment-3"
_ARRAYS = ("rows", "codes", "exact", "topics", "words")


def folder(run: RunData, key: str) -> Path:
    """Where a window's arrays are kept, on this machine."""
    return folder_of(run.store, key)


def folder_of(store: Store, key: str) -> Path:
    """The same, by the project's store."""
    return Path(store.work) / "cache" / FORMAT / key[:2] / key


def segments(run: RunData, until: int | None = None) -> list[Segment]:
    """Rows of the text episodes of each committed window, in order; made anew where they are missing or damaged.

    until: windows that begin before this tick; None is all.
    """
    found: list[Segment] = []
    said: Topics | None = None
    for record in run.windows:
        if until is not None and record.start >= until:
            break
        place = folder(run, record.key)
        kept = load(place)
        if kept is None:
            said = Topics(run.cell) if said is None else said
            said.read(run, record.number)
            kept = build(run, record.number, said)
            save(place, kept)
            kept = load(place) or kept
        found.append(kept)
    fresh = run.fresh()
    if fresh is not None and (until is None or run.end <= until):
        said = Topics(run.cell) if said is None else said
        if run.windows:
            said.read(run, len(run.windows) - 1)
        said.take(fresh[0].sort_by([("tick", "ascending"), ("ordinal", "ascending")]))
        found.append(assemble(*fresh, said))
    return found


class Topics:
    """Topics of text episodes: those that its words name, else those of what it answers, up to the root."""

    def __init__(self, cell: Cell) -> None:
        self._gazetteer = Gazetteer(cell.subjects)
        self._recorded = {t.name: (k,) for k, t in enumerate(cell.topics)}
        self._of: dict[int, tuple[int, ...]] = {}
        self._texts: dict[str, tuple[int, ...]] = {}
        self._read = 0

    def read(self, run: RunData, window: int) -> None:
        """Take in the windows up to this one, in order."""
        for number in range(self._read, window + 1):
            table = run.window(number).table("episodes", ["episode", "tick", "ordinal", "kind", "parent", "text", "topic"])
            self.take(table.sort_by([("tick", "ascending"), ("ordinal", "ascending")]))
        self._read = max(self._read, window + 1)

    def take(self, episodes: pa.Table) -> None:
        """Take in episodes, parents before children."""
        columns = (episodes[name].to_pylist() for name in ("episode", "parent", "text", "topic"))
        for episode, parent, text, topic in zip(*columns, strict=True):
            own = self._recorded.get(topic) or (self.named(text) if text else ())
            self._of[episode] = own or self._of.get(parent, ())

    def named(self, text: str) -> tuple[int, ...]:
        """Indices of the topics that a text names."""
        if text not in self._texts:
            self._texts[text] = tuple(m.topic for m in self._gazetteer.find(text))
        return self._texts[text]

    def pairs(self, episodes: list[int]) -> npt.NDArray[np.int32]:
        """(row, topic) of episodes, by row."""
        found = [(row, topic) for row, episode in enumerate(episodes) for topic in sorted(self._of.get(episode, ()))]
        return np.array(found, np.int32).reshape(-1, 2)


def build(run: RunData, number: int, topics: Topics) -> Segment:
    """A window's rows from its Parquet files."""
    window = run.window(number)
    return assemble(window.table("episodes", ["episode", "tick", "ordinal", "actor", "kind", "sentence"]), window.table("vectors"), topics)


def assemble(episodes: pa.Table, vectors: pa.Table, topics: Topics) -> Segment:
    """Rows of the text episodes among `episodes`, with their vectors; topics must have taken them in."""
    spoken = episodes.filter(pc.is_in(episodes["kind"], pa.array(TEXT_KINDS)))
    spoken = spoken.sort_by([("tick", "ascending"), ("ordinal", "ascending"), ("episode", "ascending")])
    at = pc.index_in(spoken["episode"], vectors["episode"].combine_chunks())
    if at.null_count:
        spoken, at = spoken.filter(pc.is_valid(at)), at.drop_null()
    column = vectors["vector"].combine_chunks()
    flat = (column.chunk(0) if isinstance(column, pa.ChunkedArray) else column).flatten().to_numpy(zero_copy_only=False)
    width = vectors.schema.field("vector").type.list_size
    exact = np.ascontiguousarray(flat.reshape(-1, width)[at.to_numpy()], np.float32)
    names = ("episode", "tick", "ordinal", "actor")
    episode, tick, ordinal, actor = (spoken[n].to_numpy() for n in names)
    return segment(
        episode, tick, ordinal, actor, exact, topics.pairs(spoken["episode"].to_pylist()), lexical.hashed(spoken["sentence"].to_pylist())
    )


def save(place: Path, made: Segment) -> None:
    """Write a segment whole or not at all; whoever comes first wins, the bytes are the same."""
    staging = place.parent / f".staging-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    staging.mkdir(parents=True)
    try:
        sums = {}
        for name in _ARRAYS:
            np.save(staging / f"{name}.npy", np.ascontiguousarray(getattr(made, name)))
            sums[name] = hashlib.sha256((staging / f"{name}.npy").read_bytes()).hexdigest()
        (staging / "sums.json").write_text(json.dumps({"rows": len(made.rows), "sha256": sums}), "utf-8")
        if place.exists():
            shutil.rmtree(place)  # only a damaged one comes here
        staging.rename(place)
    except OSError:
        if not place.exists():
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def load(place: Path, *, verify: bool = False) -> Segment | None:
    """A segment as it was saved, memory-mapped; None where it is missing or does not fit. verify: also compare checksums."""
    try:
        about = json.loads((place / "sums.json").read_text("utf-8"))
        # As plain arrays over the mapped files: numpy's own class for them makes each access slower.
        arrays = {name: np.asarray(np.load(place / f"{name}.npy", mmap_mode="r", allow_pickle=False)) for name in _ARRAYS}
        if verify and any(hashlib.sha256((place / f"{n}.npy").read_bytes()).hexdigest() != about["sha256"][n] for n in _ARRAYS):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    rows = about.get("rows")
    fits = arrays["rows"].dtype == ROW and all(len(arrays[n]) == rows for n in ("rows", "codes", "exact"))
    return Segment(**arrays) if fits else None
