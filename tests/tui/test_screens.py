"""Each screen at three sizes, with names in many scripts, as golden pictures; and runs that are empty, failed, silent, huge."""

from __future__ import annotations

import shutil

import pytest

SIZES = ((80, 24), (120, 36), (180, 50))


async def pictures(app, pilot, make, picture, name: str) -> None:
    for width, height in SIZES:
        await pilot.resize_terminal(width, height)
        await make.settle(app, pilot)
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


async def test_failed_silent_and_huge_runs_look_as_they_did(home, make, picture):
    make.run(home, state="failed", done=2, reason="endpoint http://127.0.0.1:8080 answered 503 five times\nlast: upstream connect error")
    make.run(home, cell="price-s8", stamp="20261130-072100", done=3, heartbeat=make.now - 3700)
    make.run(home, cell="huge-s1", stamp="20261130-072200", done=2500, of=100_000, data=False, each=400, tokens=912_345_678, cost=18_900.0)
    async with make.shown(home, "w", size=(120, 36)) as (app, pilot):
        assert app.export_screenshot() == picture(name="huge")
        await pilot.press("r", "down", "w")
        await make.settle(app, pilot)
        assert "no sign of life for 61m" in make.text(app)
        assert app.export_screenshot() == picture(name="silent")
        await pilot.press("r", "down", "w")
        await make.settle(app, pilot)
        assert "answered 503 five times" in make.text(app)
        assert app.export_screenshot() == picture(name="failed")


async def test_a_run_without_windows_says_so_on_every_screen(home, make, picture):
    make.run(home, done=0, log=False)
    async with make.shown(home, "w", size=(80, 24)) as (app, pilot):
        assert app.export_screenshot() == picture(name="empty-watch")
        for key, words in (
            ("s", "nothing has been committed yet"),
            ("b", "nothing has been committed yet"),
            ("c", "there is no other run"),
        ):
            await pilot.press(key)
            await make.settle(app, pilot)
            assert words in make.text(app)


@pytest.mark.parametrize("theme", ["simflow-light", "simflow-contrast", "simflow-ansi"])
async def test_themes_look_as_they_did(run, make, picture, theme):
    async with make.shown(run.home, "w", theme=theme) as (app, _):
        assert app.theme == theme
        assert app.export_screenshot() == picture(name=theme)


async def test_palette_help_and_questions_look_as_they_did(run, make, picture):
    async with make.shown(run.home, size=(100, 30)) as (app, pilot):
        await pilot.press("x")
        await pilot.pause()
        assert app.export_screenshot() == picture(name="confirm")
        await pilot.press("n", "f1")
        await make.settle(app, pilot)
        assert app.export_screenshot() == picture(name="help")
        await pilot.press("escape", "ctrl+o")
        await pilot.pause()
        assert app.export_screenshot() == picture(name="jump")
