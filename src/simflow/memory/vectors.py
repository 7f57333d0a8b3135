"""Episodes to vectors: each distinct sentence is embedded once, and never again on this machine."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import TEXT_KINDS, vectors_schema
from simflow.errors import RunFailed
from simflow.ports import Embedder, Progress

CHUNK = 512
"""Sentences between two commits to the cache: what a killed run loses at most."""
WAIT = 60.0
"""Seconds that a process waits for others that write to the cache."""
_ASK = 500  # host parameters of one SQLite statement


def embed(episodes: pa.Table, embedder: Embedder, cache: Path | None = None, *, progress: Progress | None = None) -> pa.Table:
    """`vectors` of the episodes that carry words, in their order; others have none.

    cache: folder of the on-disk cache, by embedder and sentence; several processes may use it at once. progress: told `embed`.
    Raises RunFailed if the cache is damaged or the embedder breaks its promise (shape, finite numbers).
    """
    spoken = episodes.filter(pc.is_in(episodes["kind"], pa.array(TEXT_KINDS)))
    encoded = spoken["sentence"].combine_chunks().dictionary_encode()
    vectors = embed_texts(encoded.dictionary.to_pylist(), embedder, cache, progress=progress)
    rows = vectors[encoded.indices.to_numpy(zero_copy_only=False)] if spoken.num_rows else vectors
    schema = vectors_schema(embedder.dimension)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1), pa.float32()), embedder.dimension)
    return pa.table([spoken["episode"], flat], schema=schema)


def embed_texts(
    texts: Sequence[str], embedder: Embedder, cache: Path | None = None, *, progress: Progress | None = None
) -> npt.NDArray[np.float32]:
    """Vectors of `texts`, shape (len(texts), dimension), through the cache. Texts should be distinct."""
    out = np.zeros((len(texts), embedder.dimension), np.float32)
    with _opened(cache, embedder) as store:
        missing = store.fill(texts, out)
        done = len(texts) - len(missing)
        if progress:
            progress("embed", done, len(texts))
        for start in range(0, len(missing), CHUNK):
            rows = missing[start : start + CHUNK]
            fresh = _checked(embedder.embed([texts[r] for r in rows]), len(rows), embedder)
            out[rows] = fresh
            store.keep([texts[r] for r in rows], fresh)
            if progress:
                progress("embed", done + start + len(rows), len(texts))
    return out


def readable(embedder: Embedder, text: str) -> float:
    """How much of a text an embedder can read, 0..1: what its `reads` says, and everything if it has none."""
    reads = getattr(embedder, "reads", None)
    return 1.0 if reads is None else float(reads(text))


def _checked(vectors: npt.NDArray[np.float32], rows: int, embedder: Embedder) -> npt.NDArray[np.float32]:
    vectors = np.asarray(vectors, np.float32)
    if vectors.shape != (rows, embedder.dimension) or not np.isfinite(vectors).all():
        raise RunFailed(
            f"the embedder '{embedder.id}' returned {vectors.shape} for {rows} texts, or numbers that are not finite",
            hint=f"it has to return ({rows}, {embedder.dimension}) finite floats",
        )
    return vectors


class _NoCache:
    def fill(self, texts: Sequence[str], out: npt.NDArray[np.float32]) -> list[int]:
        del out
        return list(range(len(texts)))

    def keep(self, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        del texts, vectors


class _Cache(_NoCache):
    """One SQLite file for each embedder: sentence hash -> float32 bytes. Transactions make it safe for several processes."""

    def __init__(self, database: sqlite3.Connection, dimension: int) -> None:
        self.database = database
        self.dimension = dimension
        _log_ahead(database)
        database.execute("pragma synchronous = normal")
        database.execute("create table if not exists vectors (text blob primary key, vector blob not null) without rowid")

    def fill(self, texts: Sequence[str], out: npt.NDArray[np.float32]) -> list[int]:
        rows = {_hash(text): row for row, text in enumerate(texts)}
        keys = list(rows)
        known = np.zeros(len(texts), np.bool_)
        for start in range(0, len(keys), _ASK):
            part = keys[start : start + _ASK]
            query = f"select text, vector from vectors where text in ({','.join('?' * len(part))})"  # noqa: S608 - question marks only
            for key, vector in self.database.execute(query, part):
                if len(vector) == 4 * self.dimension:  # anything else is not one of ours: computed anew
                    out[rows[key]] = np.frombuffer(vector, "<f4")
                    known[rows[key]] = True
        return [int(row) for row in np.flatnonzero(~known)]

    def keep(self, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        rows = ((_hash(text), vector.astype("<f4").tobytes()) for text, vector in zip(texts, vectors, strict=True))
        with self.database:
            self.database.executemany("insert or replace into vectors values (?, ?)", rows)


@contextmanager
def _opened(folder: Path | None, embedder: Embedder) -> Iterator[_NoCache]:
    if folder is None:
        yield _NoCache()
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(f'{embedder.id}/{embedder.dimension}'.encode()).hexdigest()[:16]}.sqlite"
    database = sqlite3.connect(path, timeout=WAIT)
    try:
        yield _Cache(database, embedder.dimension)
    except sqlite3.DatabaseError as error:
        raise RunFailed(f"the vector cache {path} cannot be used: {error}", hint="delete the file; it is only a cache") from error
    finally:
        database.close()


def _log_ahead(database: sqlite3.Connection) -> None:
    # Of several processes that open a new file at once SQLite lets one change it, and does not have the others wait.
    until = time.monotonic() + WAIT
    while True:
        try:
            database.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
