"""Measures are taken window by window, from what is new and where everybody stood, and say what the whole history says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.episode import TRUTH, vectors_schema
from simflow.measures import activity
from simflow.measures.record import HEADLINE, VERSION, headline, measured, run_measures
from simflow.measures.standing import condensed, rows_schema, stand
from simflow.measures.window import window_measures
from simflow.plan import Audience, Cell, Clock, Event, Normal, Persona, Topic
from simflow.runs import RunRecord, WindowRecord
from simflow.store import RunData, Store
from simflow.world.builtin import BuiltinEngine

TICKS = 96


def town(window: int = 24) -> Cell:
    """Thirty residents who are pushed to and fro, so that sides are taken, left and taken again."""
    to = Audience(personas=("old",))
    pushes = tuple(Event(f"push {n}", "nudge", 10 + 17 * n, topic="tariff", amount=0.5 * (-1) ** n, to=to) for n in range(5))
    arrival = Event("come", "join", 30, persona="young", amount=4)
    return Cell(
        "town",
        "base",
        {},
        5,
        (Topic("tariff"), Topic("trust")),
        personas=(Persona("old", 16, stance={"tariff": Normal(0.1, 0.3)}), Persona("young", 14)),
        clock=Clock(ticks=TICKS, window=window),
        events=(*pushes, arrival),
    )


class Lived(RunData):
    """A run whose windows were lived and stored, without memory."""

    def __init__(self, cell: Cell, home: Path, *, truth: bool = True) -> None:
        store, engine, records = Store(home), BuiltinEngine(cell), []
        state = engine.begin()
        for number, (start, stop) in enumerate(cell.windows):
            step = engine.advance(state, start, stop)
            state = step.state
            window = store.windows.commit(
                f"{number:02d}{cell.clock.window:062d}",
                about={"start": start, "stop": stop},
                tables={n: getattr(step, n) for n in ("agents", "episodes", "exposures", "turns")},
                vectors=vectors_schema(1).empty_table(),
                truth=step.truth if truth else {},
                state={},
            )
            records.append(WindowRecord(number, window.key, start, stop, rows=window.rows))
        super().__init__(store, RunRecord("town/x", home / "runs" / "town" / "x"), tuple(records))
        self.cell = cell


def whole_history(run: RunData, number: int) -> pa.Table:
    """The naive way: everything that happened up to the window's end."""
    window = run.windows[number]
    until = {name: run.table(name, until=window.stop) for name in ("agents", "episodes", "exposures")}
    truth = {name: run.truth(name) for name in TRUTH}
    truth = {name: t.filter(pc.less(t["tick"], window.stop)) if "tick" in t.column_names else t for name, t in truth.items()}
    seen = any(t.num_rows for t in truth.values())
    return window_measures(
        window.number,
        window.start,
        window.stop,
        topics=[t.name for t in run.cell.topics],
        truth=truth if seen else None,
        feed=run.cell.platform.feed.posts,
        **{**until, "agents": until["agents"].sort_by("agent").filter(pc.less(until["agents"].sort_by("agent")["joined"], window.stop))},
    )


@pytest.mark.parametrize("size", [8, 24, 36])
def test_what_is_taken_step_by_step_is_what_the_whole_history_gives(tmp_path, size):
    run = Lived(town(size), tmp_path)
    found = run_measures(run)
    for window in run.windows:
        mine = found.filter(pc.equal(found["window"], window.number))
        assert mine.equals(whole_history(run, window.number).combine_chunks())
    assert pc.sum(found.filter(pc.equal(found["measure"], "flips"))["value"]).as_py() > 0
    assert set(found["tick"].to_pylist()) == {w.stop for w in run.windows}


def test_the_headline_of_a_window_is_what_its_table_says_of_everybody(tmp_path):
    run = Lived(town(), tmp_path)
    assert headline(run) == {}, "nothing is measured in passing"
    table = measured(run, 3).to_pylist()
    said = {(r["measure"], r["topic"]): r["value"] for r in table if r["group"] is None and r["measure"] in HEADLINE}
    assert headline(run) == {name if topic is None else f"{name}/{topic}": value for (name, topic), value in said.items()}
    assert {name for name, _ in said} == set(HEADLINE)


def test_a_run_without_truth_has_measures_of_what_can_be_seen(tmp_path):
    run = Lived(town(), tmp_path, truth=False)
    found = run_measures(run)
    assert set(found["topic"].to_pylist()) == {None}
    assert found.filter(pc.equal(found["window"], 3)).equals(whole_history(run, 3).combine_chunks())


def test_where_a_window_ends_does_not_change_what_stands_at_its_end(tmp_path):
    at_the_end = ("mean", "variance", "bimodality", "esteban_ray", "camps", "drift", "share_for", "people", "consensus")
    ends = []
    for size in (8, 24, 48):
        found = run_measures(Lived(town(size), tmp_path / str(size)))
        rows = found.filter(pc.and_(pc.equal(found["tick"], 48), pc.is_in(found["measure"], pa.array(at_the_end)))).drop(["window"])
        ends.append(rows.combine_chunks())
    assert ends[0].num_rows > 20
    assert ends[0].equals(ends[1])
    assert ends[1].equals(ends[2])


def test_the_last_window_alone_needs_the_one_before_it_and_no_other(tmp_path, monkeypatch):
    run = Lived(town(8), tmp_path)
    whole = run_measures(run)
    again = Lived(town(8), tmp_path)
    last, before = again.windows[-1], again.windows[-2]
    again.store.files.remove(again.store.measured.path(VERSION, last.key))
    read = []
    window = RunData.window
    monkeypatch.setattr(RunData, "window", lambda self, n: read.append(n) or window(self, n))
    table = measured(again, last.number)
    assert table.equals(whole.filter(pc.equal(whole["window"], last.number)))
    # Its own data, those in which somebody came, and as far back as a post that somebody still answered.
    came = {w.number for w in again.windows if w.rows["agents"]}
    oldest = min(set(read) - came)
    assert set(read) <= {*came, *range(oldest, last.number + 1)}
    assert before.number in read


def test_measures_are_kept_and_not_taken_twice(tmp_path, monkeypatch):
    run = Lived(town(), tmp_path)
    first = run_measures(run)
    monkeypatch.setattr("simflow.measures.record.window_measures", lambda *_, **__: pytest.fail("measured again"))
    assert run_measures(Lived(town(), tmp_path)).equals(first)


def test_the_bytes_are_the_same_whoever_writes_them(tmp_path):
    files = []
    for name in ("a", "b"):
        run = Lived(town(), tmp_path / name)
        run_measures(run)
        folder = tmp_path / name / run.store.measured.path(VERSION, run.windows[-1].key)
        files.append({p.name: p.read_bytes() for p in folder.iterdir()})
    assert files[0] == files[1]
    assert set(files[0]) == {"measures.parquet", "standing.parquet"}


stances = st.lists(
    st.tuples(st.integers(-1, 30), st.integers(0, 3), st.integers(0, 1), st.integers(-(1 << 32), 1 << 32)), min_size=1, max_size=60
)


@given(stances, st.integers(1, 30))
@settings(max_examples=150, deadline=None)
def test_a_condensed_history_gives_the_same_stances_and_the_same_flips(rows, cut):
    schema = rows_schema()
    rows = sorted(rows, key=lambda r: r[0])
    table = pa.table([pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)], schema=schema)
    past, rest = table.filter(pc.less(table["tick"], cut)), table.filter(pc.greater_equal(table["tick"], cut))
    short = pa.concat_tables([condensed(stand(past), cut), rest])
    for topic in (0, 1):
        results = []
        for t in (table, short):
            on = t.filter(pc.equal(t["topic"], topic))
            agent, tick, x = (
                on["agent"].to_numpy().astype(np.int64),
                on["tick"].to_numpy().astype(np.int64),
                on["stance"].to_numpy() / (1 << 32),
            )
            now, first = activity.as_of(agent, tick, x, 30, 4), activity.as_of(agent, tick, x, -1, 4)
            inside = np.zeros(4, np.int64)
            for sign, some in ((1, slice(None)), (-1, tick < cut)):
                counts = activity.flips(agent[some], tick[some], x[some])
                inside[: len(counts)] += sign * counts
            results.append((now, first, inside))
        for a, b in zip(*results, strict=True):
            np.testing.assert_array_equal(a, b)


def test_standing_after_standing_is_standing_at_once():
    rng = np.random.default_rng(4)
    columns = [np.sort(rng.integers(-1, 40, 200)), rng.integers(0, 9, 200), rng.integers(0, 2, 200), rng.integers(-(1 << 32), 1 << 32, 200)]
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, rows_schema(), strict=True)], schema=rows_schema())
    standing = None
    for low, high in ((-1, 7), (7, 8), (8, 25), (25, 41)):
        rows = table.filter(pc.and_(pc.greater_equal(table["tick"], low), pc.less(table["tick"], high)))
        standing = stand(rows if standing is None else pa.concat_tables([condensed(standing, low), rows]))
    assert standing.equals(stand(table))
