"""Each screen at three sizes, with names in many scripts, as golden pictures; and runs that are empty, failed, silent, huge."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from simflow.runs import Ledger

SIZES = ((80, 24), (120, 36), (180, 50))


async def pictures(app, pilot, make, picture, name: str) -> None:
    for width, height in SIZES:
        await pilot.resize_terminal(width, height)
        await (make.settle if app.current_mode == "plan" else make.calm)(app, pilot)  # files are looked at again and again
        assert app.export_screenshot() == picture(name=f"{name}-{width}x{height}")


@pytest.mark.parametrize(
    ("mode", "keys"),
    [("society", ("down", "down")), ("agent", ("down", "down")), ("belief", ("a", "b", "d"))],
    ids=lambda v: v if isinstance(v, str) else "",
)
async def test_screens_of_a_run_look_as_they_did(run, make, picture, mode, keys):
    async with make.shown(run.home, *((mode[0], *keys))) as (app, pilot):
        assert app.current_mode == mode
        await pictures(app, pilot, make, picture, mode)


async def test_compare_looks_as_it_did(home, make, picture):
    make.run(home)
    make.run(home, cell="leaks-s7", stamp="20261130-071500", state="done", done=6, variant="leaks", heartbeat=make.now - 400)
    async with make.shown(home, "c") as (app, pilot):
        await pictures(app, pilot, make, picture, "compare")


async def test_plan_looks_as_it_did(home, make, picture, root):
    folder = home.parent / "scenarios"
    folder.mkdir()
    shutil.copy(root / "scenarios/hello.yaml", folder)
    text = (root / "scenarios/hello.yaml").read_text("utf-8")
    (folder / "broken.yaml").write_text(text.replace("agents: 300", "agents: many").replace("share: 45%", "shair: 45%"), "utf-8")
    async with make.shown(home, "p") as (app, pilot):
        assert "agents: many" in make.text(app)
        await pictures(app, pilot, make, picture, "plan-broken")
        await pilot.press("down")
        await make.settle(app, pilot)
        assert "300: pensioner 75" in make.text(app)
        await pictures(app, pilot, make, picture, "plan")


async def test_memory_looks_as_it_did(home, make, picture):
    made = make.run(home, vectors=True, each=40, done=2)
    async with make.shown(home, "a", "m") as (app, pilot):
        app.screen.query_one("#situation").value = "Rosa says the water tariff is unfair"
        await pilot.press("i", "enter")
        await make.settle(app, pilot)
        await make.settle(app, pilot)
        assert app.answer.block is not None, app.answer.trouble
        await pictures(app, pilot, make, picture, "memory")
        assert app.screen.command() == f"simflow recall {made.record.id} @rosa0 --about 'Rosa says the water tariff is unfair'"


async def test_a_question_to_nobody_leaves_the_cursor_where_the_name_is_missing(home, make, monkeypatch):
    told = []
    make.run(home, each=20, done=1)
    async with make.shown(home, "m") as (app, pilot):
        monkeypatch.setattr(app, "notify", lambda message, **_: told.append(message))
        await pilot.press("i", "enter")
        assert app.focused.id == "situation"
        app.screen.query_one("#situation").value = "the water tariff"
        await pilot.press("enter")
        await make.settle(app, pilot)
        assert app.focused.id == "who"
    assert told == ["name an agent: an id, a name"]


def empty(home, make):
    """Begun, and nothing committed."""
    return make.run(home, done=0, log=False)


def failed(home, make):
    """Ended by its endpoint, with names and words in many scripts."""
    reason = "endpoint http://127.0.0.1:8080 answered 503 five times\nlast: upstream connect error · 上游错误 · خطأ · помилка 💥"
    return make.run(home, scenario="повінь-у-місті", cell="水价-💧-s1", state="failed", done=2, reason=reason, heartbeat=make.now - 900)


def huge(home, make):
    """Three hundred of a hundred thousand windows, six of which are stored: the rest are the same ones again."""
    made = make.run(home, cell="huge-s1", done=6, of=100_000, each=40, tokens=912_345_678, cost=18_900.0)
    windows = [replace(made.windows[n % 6], number=n, start=n * 250, stop=n * 250 + 250) for n in range(300)]
    Ledger(made.record).windows(tuple(windows))
    told = made.record.progress()
    Ledger(made.record).progress(replace(told, window=300, tick=75_083, episodes=123_456_789, edges=45_678_901, eta=4_200_000.0))
    return made


STATES = {"empty": empty, "failed": failed, "huge": huge}


@pytest.mark.parametrize("state", STATES)
async def test_empty_failed_and_huge_runs_look_as_they_did_on_every_screen(home, make, picture, state):
    STATES[state](home, make)
    async with make.shown(home) as (app, pilot):
        for mode in ("runs", "watch", "society", "agent", "memory", "belief", "compare"):
            app.action_go(mode)
            await make.settle(app, pilot)
            await pictures(app, pilot, make, picture, f"{mode}-{state}")


async def test_a_run_that_fell_silent_says_for_how_long(home, make, picture):
    make.run(home, heartbeat=make.now - 3700)
    async with make.shown(home, "w") as (app, _):
        assert "no sign of life for 61m" in make.text(app)
        assert app.export_screenshot() == picture(name="silent")


@pytest.mark.parametrize("theme", ["simflow-light", "simflow-contrast", "simflow-ansi"])
async def test_themes_look_as_they_did(run, make, picture, theme):
    async with make.shown(run.home, "w", theme=theme) as (app, _):
        assert app.theme == theme
        assert app.export_screenshot() == picture(name=theme)


async def test_palette_help_and_questions_look_as_they_did(run, make, picture):
    async with make.shown(run.home, size=(100, 30)) as (app, pilot):
        await pilot.press("x")
        await make.calm(app, pilot)
        assert app.export_screenshot() == picture(name="confirm")
        await pilot.press("n", "f1")
        await make.settle(app, pilot)
        assert app.export_screenshot() == picture(name="help")
        await pilot.press("escape", "ctrl+o")
        await make.calm(app, pilot)
        assert app.export_screenshot() == picture(name="jump")
