"""Replaying recorded traces: what is kept, what is counted, what is refused."""

from __future__ import annotations

import itertools
import json
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.errors import BadInput
from simflow.plan import Cell, Clock, Replay
from simflow.world.replay import ReplayEngine


def cell(path, **options):
    return Cell("trace", "base", {}, 1, topics=(), clock=Clock(ticks=100, window=50), replay=Replay(str(path), **options))


def write(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return path


def replay(path, start=0, stop=10_000, **options):
    engine = ReplayEngine(cell(path, **options))
    return engine.advance(engine.begin(), start, stop)


POST = {"id": "p1", "ts": "2020-01-01T00:00:00Z", "actor": "@ann", "type": "post", "parent_id": None, "text": "hello"}
REPLY = {"id": "r1", "ts": "2020-01-01T02:30:00Z", "actor": "@bob", "type": "reply", "parent_id": "p1", "text": "no"}


def test_times_become_ticks_and_parents_become_threads(tmp_path):
    step = replay(write(tmp_path / "t.jsonl", [POST, REPLY]))
    post, reply = step.episodes.to_pylist()
    assert (post["tick"], reply["tick"]) == (0, 2)
    assert reply["parent"] == reply["root"] == post["episode"]
    assert reply["sentence"] == '@bob replied to @ann: "no"'
    assert step.agents.column("id").to_pylist() == ["ann", "bob"]


def test_rows_out_of_order_are_sorted_and_counted(tmp_path):
    step = replay(write(tmp_path / "t.jsonl", [REPLY, POST]))
    assert step.episodes.column("source").to_pylist() == ["p1", "r1"]
    assert step.notes["rows out of order, sorted"] == 1


def test_a_repeated_id_is_dropped_and_counted(tmp_path):
    step = replay(write(tmp_path / "t.jsonl", [POST, REPLY, {**POST, "text": "again"}]))
    assert step.episodes.num_rows == 2
    assert step.episodes.column("text")[0].as_py() == "hello"
    assert step.notes["rows with an id that was there before, dropped"] == 1


def test_a_missing_parent_is_kept_as_a_reference_and_counted(tmp_path):
    step = replay(write(tmp_path / "t.jsonl", [{**REPLY, "parent_id": "gone"}]))
    (row,) = step.episodes.to_pylist()
    assert row["parent"] is not None
    assert row["parent"] == row["root"]
    assert step.notes["parents that are not in the trace, kept as references"] == 1


def test_columns_that_nothing_reads_are_named(tmp_path):
    step = replay(write(tmp_path / "t.jsonl", [{**POST, "mood": 3, "labels": {}}]))
    assert step.notes["columns that nothing reads"] == "labels, mood"


def test_who_answers_has_seen_what_it_answers_and_who_is_answered_sees_the_answer(tmp_path):
    step = replay(write(tmp_path / "t.jsonl", [POST, REPLY]))
    post, reply = step.episodes.column("episode").to_pylist()
    seen = {(r["reader"], r["episode"]) for r in step.exposures.to_pylist()}
    assert seen == {(1, post), (0, reply)}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "t.jsonl:2"),
        ("[1]", "not an object"),
        ('{"id": "x", "actor": "a", "ts": "yesterday"}', "t.jsonl:2"),
    ],
)
def test_a_broken_row_is_refused_with_its_line(tmp_path, line, words):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(POST) + "\n" + line + "\n", "utf-8")
    with pytest.raises(BadInput, match=words):
        replay(path)


def test_a_trace_without_ticks_is_refused_when_ticks_order_it(tmp_path):
    with pytest.raises(BadInput, match="no `tick`"):
        replay(write(tmp_path / "t.jsonl", [POST]), time="tick")


def test_a_trace_that_changed_since_the_plan_is_refused(tmp_path):
    with pytest.raises(BadInput, match="changed since"):
        replay(write(tmp_path / "t.jsonl", [POST]), sha256="0" * 64)


def test_a_csv_file_says_the_same_as_json_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id,ts,actor,type,parent_id,text\np1,2020-01-01T00:00:00Z,@ann,post,,hello\nr1,2020-01-01T02:30:00Z,@bob,reply,p1,no\n", "utf-8"
    )
    assert replay(path, format="csv").episodes.equals(replay(write(tmp_path / "t.jsonl", [POST, REPLY])).episodes)


def test_an_oasis_database_becomes_episodes(tmp_path):
    path = tmp_path / "o.db"
    with sqlite3.connect(path) as db:
        db.executescript("""
            create table user (user_id integer, agent_id integer, user_name text, name text);
            create table post (post_id integer, user_id integer, original_post_id integer, content text, quote_content text, created_at text);
            create table comment (comment_id integer, post_id integer, user_id integer, content text, created_at text);
            create table follow (follow_id integer, follower_id integer, followee_id integer, created_at text);
            insert into user values (1, 0, 'ann', 'Ann'), (2, 1, 'bob', 'Bob');
            insert into post values (1, 1, null, 'hello', null, '0'), (2, 2, 1, 'hello', 'look', '1');
            insert into comment values (1, 1, 2, 'no', '2');
            insert into follow values (1, 2, 1, '3');
        """)
    db.close()
    step = replay(path, format="oasis", time="tick")
    assert step.episodes.column("kind").to_pylist() == ["post", "quote", "reply", "follow"]
    assert step.episodes.column("sentence").to_pylist()[-1] == "@bob followed @ann."


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(0, 30).map("e{}".format),
            "tick": st.integers(0, 40),
            "actor": st.sampled_from(["@a", "@b", "@c", "", "Ünal 🙂"]),
            "type": st.sampled_from(["post", "reply", "repost", "like", "shout"]),
            "parent_id": st.none() | st.integers(0, 40).map("e{}".format),
            "text": st.none() | st.text(max_size=20),
        }
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, cuts=st.lists(st.integers(0, 41), max_size=4))
def test_nothing_is_lost_or_doubled_however_the_trace_is_cut(tmp_path_factory, rows, cuts):
    path = write(tmp_path_factory.mktemp("t") / "t.jsonl", rows)
    whole = replay(path, 0, 41, time="tick")
    engine = ReplayEngine(cell(path, time="tick"))
    edges = [0, *sorted(cuts), 41]
    parts = [engine.advance({}, a, b) for a, b in itertools.pairwise(edges) if a < b]
    for name in ("episodes", "agents"):
        assert [r for p in parts for r in getattr(p, name).to_pylist()] == getattr(whole, name).to_pylist()
    assert sorted(whole.episodes.column("source").to_pylist()) == sorted({r["id"] for r in rows})
    assert len(set(whole.episodes.column("episode").to_pylist())) == whole.episodes.num_rows


@pytest.mark.parametrize(
    ("name", "by"), [("rumoureval2017", "ts"), ("locomo", "ts"), ("weibo_ced", "ts"), ("cmv_modes", "order"), ("realtalk", "tick")]
)
def test_recorded_sets_replay_whole(corpora, name, by):
    path = corpora / name / "episodes.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    step = replay(path, 0, 2**31 - 1, time=by)
    assert step.episodes.num_rows == len({r["id"] for r in rows})
    kinds = set(step.episodes.column("kind").to_pylist())
    assert kinds <= {"post", "reply", "repost", "message"}
    threads = {r.get("thread") or r.get("conv") for r in rows}
    assert len(threads) <= len(set(step.episodes.column("root").to_pylist()))
