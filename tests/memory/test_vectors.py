from __future__ import annotations

import hashlib
import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from simflow.episode import EPISODES
from simflow.errors import RunFailed, Stopped
from simflow.memory.vectors import embed, embed_texts


class Hashing:
    """A tiny deterministic embedder that counts what it is asked."""

    dimension = 8

    def __init__(self, name="hash/1"):
        self.id = name
        self.asked = []

    def embed(self, texts):
        self.asked += texts
        rows = [np.frombuffer(hashlib.sha256(f"{self.id}{t}".encode()).digest(), np.uint8)[:8] for t in texts]
        vectors = np.array(rows, np.float32).reshape(-1, 8) + 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def episodes(*rows):
    plain = [
        dict.fromkeys(EPISODES.names) | {"episode": 100 + i, "tick": i, "ordinal": 0, "actor": 0, "kind": kind, "sentence": sentence}
        for i, (kind, sentence) in enumerate(rows)
    ]
    return pa.Table.from_pylist(plain, schema=EPISODES)


def test_each_distinct_sentence_is_embedded_once_and_acts_without_words_never():
    embedder = Hashing()
    table = embed(episodes(("post", "a"), ("like", "l"), ("repost", "a"), ("reply", "b"), ("follow", "f")), embedder)
    assert embedder.asked == ["a", "b"]
    assert table["episode"].to_pylist() == [100, 102, 103]
    vectors = np.array(table["vector"].to_pylist(), np.float32)
    assert np.array_equal(vectors, embedder.embed(["a", "a", "b"]))


def test_no_episodes_give_an_empty_table():
    assert embed(episodes(), Hashing()).num_rows == 0
    assert embed(episodes(("like", "x")), Hashing()).num_rows == 0


def test_a_second_run_asks_the_cache_only(tmp_path):
    first, second = Hashing(), Hashing()
    table = episodes(*[("post", f"s{i}") for i in range(1200)])
    one, two = embed(table, first, tmp_path), embed(table, second, tmp_path)
    assert second.asked == []
    assert one.equals(two)


def test_embedders_do_not_share_entries(tmp_path):
    table = episodes(("post", "a"))
    other = Hashing("hash/2")
    embed(table, Hashing(), tmp_path)
    embed(table, other, tmp_path)
    assert other.asked == ["a"]


def test_what_was_embedded_before_a_stop_is_kept(tmp_path):
    table = episodes(*[("post", f"s{i}") for i in range(1500)])

    def stop(stage, done, total):
        assert (stage, total) == ("embed", 1500)
        if done >= 1024:
            raise Stopped("asked to")

    with pytest.raises(Stopped):
        embed(table, Hashing(), tmp_path, progress=stop)
    again = Hashing()
    embed(table, again, tmp_path)
    assert len(again.asked) == 1500 - 1024


def test_a_damaged_cache_is_named_and_an_odd_entry_is_computed_anew(tmp_path):
    table = episodes(("post", "a"))
    embed(table, Hashing(), tmp_path)
    (path,) = tmp_path.glob("*.sqlite")
    with sqlite3.connect(path) as database:
        database.execute("update vectors set vector = x'00'")
    database.close()
    again = Hashing()
    embed(table, again, tmp_path)
    assert again.asked == ["a"]
    for file in tmp_path.glob("*.sqlite*"):
        file.write_bytes(b"this is not a database, it is only text that is long enough" * 100)
    with pytest.raises(RunFailed, match=r"vector cache .* cannot be used"):
        embed(table, Hashing(), tmp_path)


def test_an_embedder_that_breaks_its_promise_is_refused():
    class Short(Hashing):
        def embed(self, texts):
            return super().embed(texts)[:, :7]

    class Wild(Hashing):
        def embed(self, texts):
            return super().embed(texts) * np.nan

    for kind in (Short, Wild):
        with pytest.raises(RunFailed, match="returned"):
            embed_texts(["a"], kind())


def _work(folder, start):
    embed_texts([f"s{i}" for i in range(start, start + 900)], Hashing(), folder)


def test_processes_may_fill_one_cache_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work, args=(tmp_path, start)) for start in (0, 300, 600)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [w.exitcode for w in workers] == [0, 0, 0]
    asker = Hashing()
    texts = [f"s{i}" for i in range(1500)]
    assert np.array_equal(embed_texts(texts, asker, tmp_path), Hashing().embed(texts))
    assert asker.asked == []


def test_a_cache_that_somebody_is_just_making_is_waited_for(tmp_path):
    embed_texts(["a"], Hashing(), tmp_path)
    (path,) = tmp_path.glob("*.sqlite")
    path.unlink()
    with closing(sqlite3.connect(path, isolation_level=None)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("begin immediate")
        other.execute("create table other (x)")
        asked = pool.submit(embed_texts, ["a"], Hashing(), tmp_path)
        with pytest.raises(TimeoutError):
            asked.result(0.5)
        other.execute("commit")
        assert asked.result().shape == (1, 8)
