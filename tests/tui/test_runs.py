"""The list of runs and a run's progress."""

from __future__ import annotations

import json

from click.testing import CliRunner

from simflow.runs import Ledger
from simflow_tui.command import tui
from simflow_tui.widgets.rows import Rows

SIZES = [(80, 24), (120, 36), (180, 50)]


def many(home, make):
    make.run(home)
    make.run(home, cell="leaks-s7", stamp="20261130-071500", state="done", done=6, tokens=1_234_000, cost=3.41, heartbeat=make.now - 400)
    make.run(
        home,
        cell="late-apology-s7",
        stamp="20261130-071000",
        state="failed",
        done=2,
        reason="endpoint answered 503 five times",
        heartbeat=make.now - 900,
    )
    make.run(home, cell="price-s8", stamp="20261130-072100", done=1, heartbeat=make.now - 63)
    make.run(
        home,
        scenario="повінь-у-місті",
        cell="основний-s1",
        stamp="20261130-060000",
        state="stopped",
        done=4,
        heartbeat=make.now - 4000,
        reason="asked to stop",
    )
    make.run(
        home,
        scenario="水价调整",
        cell="价格-s1",
        stamp="20261129-060000",
        state="done",
        done=6,
        heartbeat=make.now - 90000,
        tokens=4_700_000,
        cost=19.2,
    )


async def test_runs_and_a_running_run_look_as_they_did(home, make, picture):
    many(home, make)
    async with make.shown(home) as (app, pilot):
        for key in "rw":
            await pilot.press(key)
            for width, height in SIZES:
                await pilot.resize_terminal(width, height)
                await make.settle(app, pilot)
                assert app.export_screenshot() == picture(name=f"{app.current_mode}-{width}x{height}")


async def test_no_runs_says_how_to_start_one(home, make, picture):
    async with make.shown(home, size=(80, 24)) as (app, _):
        assert "simflow run scenarios/hello.yaml" in make.text(app)
        assert app.export_screenshot() == picture(name="no-runs")


async def test_checks_that_failed_are_shown_first_with_where_and_why(run, make, picture):
    ledger = Ledger(run.record)
    for number in range(3):
        ledger.judged(
            number,
            [
                ("unique_episodes", True, "", True),
                ("acted_on_what_was_seen", number != 1, "2 acts on episodes that the actor was never shown", True),
                ("varied_texts", number == 0, f"{50 + number}% of 60 texts are repeated", False),
                ("check_1_covered", True, "covered: 1, should be from 0.95", True),
            ],
        )
    async with make.shown(run.home, "w", size=(180, 50)) as (app, _):
        text = make.text(app)
        assert "2 hold   2 do not" in text
        assert "✗ acted on what was seen, window 2" in text
        assert "✗ varied texts, 2 windows: 52%" in text
        assert app.export_screenshot() == picture(name="checks")
    ledger.judged(1, [("acted_on_what_was_seen", True, "", True)])  # computed again
    assert [c.failed for c in run.record.checks()] == [[], [], [1, 2], []]


async def test_progress_shows_window_tick_rate_and_time_left(run, make):
    async with make.shown(run.home, "w") as (app, _):
        text = make.text(app)
    assert "window 4 of 6" in text
    assert "833 of 1\N{NARROW NO-BREAK SPACE}500" in text
    assert "ticks/s 41.7" in text
    assert "left 0:16" in text


async def test_the_newest_words_of_the_run_under_the_cursor_are_shown(home, make):
    made = make.run(home, done=2)
    async with make.shown(home) as (app, pilot):
        from simflow.store import Store

        rows = Store(home).windows.get(made.windows[-1].key).table("episodes").to_pylist()
        newest = [r for r in rows if r["text"]][-1]
        assert newest["sentence"].split(":")[0] in make.text(app)
        make.run(home, done=3)
        await make.settle(app, pilot)
        assert f"{3 * 250 - 6:>6}"[:4] in make.text(app)


async def test_enter_opens_and_escape_goes_back(home, make):
    many(home, make)
    async with make.shown(home, "down", "down", "enter") as (app, pilot):
        assert app.current_mode == "watch"
        assert app.selected.cell == "leaks-s7"
        await pilot.press("escape")
        assert app.current_mode == "runs"
        assert app.screen.query_one("#runs", Rows).cursor == 2


async def test_filter_narrows_and_escape_widens(home, make):
    many(home, make)
    async with make.shown(home, "slash", *"state:failed") as (app, pilot):
        assert len(app.screen.query_one("#runs", Rows).rows) == 1
        await pilot.press("escape")
        await make.settle(app, pilot)
        assert len(app.screen.query_one("#runs", Rows).rows) == 6


async def test_every_order_orders(home, make):
    many(home, make)
    seen = set()
    async with make.shown(home) as (app, pilot):
        for _ in range(6):
            seen.add(tuple(r.key for r in app.screen.query_one("#runs", Rows).rows))
            await pilot.press("o")
            await make.settle(app, pilot)
    assert len(seen) >= 4


def test_once_prints_one_line_a_run(home, make):
    many(home, make)
    result = CliRunner().invoke(tui, ["--once"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert len(lines) == 7
    assert len({line.index("/") for line in lines[1:] if "water-tariff/" in line}) == 1
    assert "\x1b" not in result.output


def test_json_is_the_ledger_in_values(home, make):
    many(home, make)
    values = json.loads(CliRunner().invoke(tui, ["--json"]).output)
    assert len(values) == 6
    failed = next(v for v in values if v["state"] == "failed")
    assert failed["reason"] == "endpoint answered 503 five times"
    assert {"run", "path", "window", "windows", "tick", "ticks", "rate", "eta", "tokens", "cost", "health"} <= set(failed)
