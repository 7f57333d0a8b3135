"""Whatever the files look like: half-written, deleted, silent, older, hostile. What is shown is what is there."""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from simflow.runs import Progress, RunRecord
from simflow_tui.figures import bar, clip, duration, fit, money, percent, plain, short, spark
from simflow_tui.notices import Notices, sequence
from simflow_tui.watch import STATES, LogTail, RunView, Watch
from simflow_tui.wrap import wrapped

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.dictionaries(st.sampled_from(sorted(Progress.__dataclass_fields__)), JSON, max_size=20)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    progress=st.one_of(FIELDS.map(json.dumps), JSON.map(json.dumps), st.text(max_size=40)),
    about=st.one_of(JSON.map(json.dumps), st.text(max_size=60)),
    windows=JSON.map(json.dumps),
)
def test_no_content_of_the_files_breaks_the_view(tmp_path, progress, about, windows):
    folder = tmp_path / ".simflow/runs/s/20260101-000000-c"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("progress.json", progress), ("run.yaml", about), ("windows.json", windows)):
        (folder / name).write_text(text, "utf-8", errors="replace")
    watch = Watch([tmp_path / ".simflow"], lambda: 1e9)
    (view,) = watch.runs()
    watch.windows(view.record)
    assert view.state in STATES
    assert 0 <= view.fraction <= 1
    assert isinstance(view.health[0], str)
    for figure in (short(view.progress.tokens), money(view.progress.cost), duration(view.progress.eta), percent(view.fraction)):
        assert figure


@given(st.text(), st.integers(0, 40))
def test_text_fits_its_cells_and_carries_no_control(text, width):
    shown = plain(text)
    assert all(ord(c) >= 0x20 and not 0x7F <= ord(c) < 0xA0 and c not in "\u202e\u2066\u2067\u2069\u200f" for c in shown)
    assert cell_len(fit(shown, width)) == width
    assert cell_len(clip(shown, width)) <= width
    assert all(cell_len(line) <= max(width, 2) for line in wrapped(shown, max(width, 2)))


@given(st.floats(0, 1), st.integers(1, 60), st.lists(st.floats(0, 1e9), max_size=80))
def test_bars_and_sparks_have_exactly_their_width(fraction, width, values):
    assert sum(map(cell_len, bar(fraction, width))) == width
    assert cell_len(spark(values, width)) == width


@given(st.floats(0, 1e15, allow_nan=False))
def test_figures_never_outgrow_their_columns(value):
    assert len(short(value)) <= 5
    assert len(duration(value)) <= 7 or value > 86400 * 99_999
    assert value >= 1e15 or len(money(value)) <= 7


@pytest.mark.parametrize("width", [0, 1, 2, 3])
def test_wide_characters_in_a_place_too_narrow_for_them_end(width):
    assert all(cell_len(line) <= width for line in wrapped("小明 水费 😤 тариф", width))


def test_words_are_kept_when_lines_are_cut():
    text = "Тариф зростає, а труби течуть 水费上涨对小店影响很大 honestly"
    assert "".join(wrapped(text, 12)).replace(" ", "") == text.replace(" ", "")


async def test_a_run_that_is_deleted_while_it_is_watched_is_shown_as_gone(run, make):
    async with make.shown(run.home, "w") as (app, pilot):
        shutil.rmtree(run.record.path)
        await make.settle(app, pilot)
        assert "gone" in make.text(app)
        assert "deleted" in make.text(app)
        assert "833 of 1" in make.text(app)
        for key in "sambcr":
            await pilot.press(key)
            await make.settle(app, pilot)
    assert Watch([run.home]).runs() == []


async def test_windows_that_vanished_from_the_store_are_told(run, make):
    shutil.rmtree(run.home / "windows")
    async with make.shown(run.home, "s") as (app, _):
        assert "gone from the store" in make.text(app)
    async with make.shown(run.home, "a", "b") as (app, pilot):
        await make.settle(app, pilot)
        assert app.is_running


def test_an_older_ledger_is_read_as_far_as_it_goes(home):
    folder = home / "runs/old/20250101-000000-base"
    folder.mkdir(parents=True)
    (folder / "progress.json").write_text('{"state": "queued", "tick": "12", "ticks": 100, "window": 1, "windows": 2, "speed": 3}')
    (view,) = Watch([home]).runs()
    assert (view.state, view.progress.ticks, view.progress.tick) == ("unknown", 100, 0)


def test_silence_is_told_by_the_heartbeat_alone(home, make):
    made = make.run(home, heartbeat=make.now - 16)
    assert Watch([home], lambda: make.now).view(made.record, home).state == "silent"
    assert Watch([home], lambda: make.now - 2).view(made.record, home).state == "running"


def test_a_stop_that_was_asked_for_shows_until_it_happens(home, make):
    made = make.run(home)
    made.record.request_stop()
    assert Watch([home], lambda: make.now).view(made.record, home).state == "stopping"


def test_several_projects_are_told_apart(tmp_path, make):
    from simflow_tui.status import as_values

    for name in ("north", "south"):
        (tmp_path / name / ".simflow").mkdir(parents=True)
        make.run(tmp_path / name / ".simflow", data=False)
    runs = Watch([tmp_path / "north/.simflow", tmp_path / "south/.simflow"], lambda: make.now).runs()
    assert len({r.key for r in runs}) == 2
    assert {v["path"].split("/")[-5] for v in as_values(runs)} == {"north", "south"}


def test_the_end_of_a_long_log_is_read_without_its_beginning(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"message": f"line {i}", "level": "info"}) + "\n" for i in range(40_000)))
    tail = LogTail(path, keep=100)
    assert tail.poll()
    assert [line["message"] for line in tail.lines] == [f"line {i}" for i in range(39_900, 40_000)]
    assert path.stat().st_size > 4 * LogTail.REACH
    with path.open("a") as out:
        out.write('{"message": "half')
    assert not tail.poll()
    with path.open("a") as out:
        out.write('-written"}\nnot json\n')
    assert tail.poll()
    assert tail.lines[-1]["message"] == "half-written"
    path.write_text('{"message": "anew"}\n')
    assert tail.poll()
    assert [line["message"] for line in tail.lines] == ["anew"]


def view(make, tmp_path, state: str, **progress) -> RunView:
    record = RunRecord("s/20260101-000000-c", tmp_path / "20260101-000000-c")
    about = {"cell": {"limits": {"cost": 10.0, "tokens": None, "hours": None}}}
    return RunView(record, tmp_path, Progress("running", 1, 2, 10, 20, **progress), about, state)


@pytest.mark.parametrize(
    ("state", "words"),
    [("done", "is done"), ("failed", "failed: no endpoint"), ("silent", "fell silent: no endpoint"), ("stopped", "stopped: no endpoint")],
)
def test_an_end_is_told_once(make, tmp_path, state, words):
    notices = Notices()
    assert notices.take([view(make, tmp_path, "running")]) == []
    (notice,) = notices.take([view(make, tmp_path, state, reason="no endpoint")])
    assert notice.text == f"s c {words}"
    assert notices.take([view(make, tmp_path, state, reason="no endpoint")]) == []


def test_what_has_ended_before_one_came_is_not_told(make, tmp_path):
    assert Notices().take([view(make, tmp_path, "failed")]) == []


def test_limits_are_told_when_they_are_near_and_when_they_are_crossed(make, tmp_path):
    notices = Notices()
    told = [n.text for cost in (1.0, 7.9, 8.1, 9.0, 10.5) for n in notices.take([view(make, tmp_path, "running", cost=cost)])]
    assert told == ["s c is near cost limit", "s c is over cost limit"]


def test_notifications_carry_no_control_of_others():
    assert sequence("osc", plain("x\x1b]0;evil\x07; y")).count("\x1b") == 4
    assert sequence("bell", "x") == "\a"
    assert sequence("off", "x") == ""


async def test_a_run_on_an_object_store_is_shown_and_nothing_is_asked_of_it(object_store, home, make):
    from simflow.runs import place

    there = place(object_store)
    make.run(there)
    make.run(there, cell="leaks-s7", stamp="20261130-071500", state="stopped", done=2)
    async with make.shown(there) as (app, pilot):
        assert "READ-ONLY s3" in make.text(app)
        assert "x stop" not in make.text(app)
        assert app.period >= 3
        for key, words in (("w", "833 of 1"), ("s", "@rosa0"), ("a", "opinions"), ("b", "council trust"), ("c", "shared windows")):
            await pilot.press(key)
            await make.settle(app, pilot)
            await make.settle(app, pilot)
            assert words in make.text(app), key
            assert "READ-ONLY s3" in make.text(app)
        offered = {command.title for command in app.get_system_commands(app.screen)}
        assert not {t for t in offered if t.startswith("run: ")}
        await pilot.press("r", "x", "u")
        await pilot.pause()
        assert app.screen.MODE == "runs"
        assert not app.selected.record.stop_requested


async def test_an_object_store_that_does_not_answer_is_told_and_what_was_known_stays(object_store, make, monkeypatch):
    from simflow.errors import RunFailed
    from simflow.runs import place

    there = place(object_store)
    make.run(there)
    async with make.shown(there, "w") as (app, pilot):

        def silent(*_: object) -> None:
            raise RunFailed("s3://bucket: connection refused")

        monkeypatch.setattr("simflow_tui.watch.list_runs", silent)
        await make.settle(app, pilot)
        assert "no answer: s3://bucket: connection refused" in make.text(app)
        assert "833 of 1" in make.text(app)
