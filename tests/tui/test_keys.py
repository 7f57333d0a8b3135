"""Every key and every command does what it says; all of it without a mouse, and with one."""

from __future__ import annotations

import re

import pytest
from textual.binding import Binding

from simflow_tui.app import SimflowApp, page
from simflow_tui.dialogs import Confirm, Help, Jump
from simflow_tui.pages.page import Page
from simflow_tui.tones import THEMES
from simflow_tui.widgets.bar import MODES
from simflow_tui.widgets.rows import Rows


async def test_letters_go_to_their_screens_and_escape_comes_back(run, make):
    async with make.shown(run.home) as (app, pilot):
        for mode, (letter, _) in MODES.items():
            await pilot.press(letter)
            await make.settle(app, pilot)
            assert app.current_mode == mode
        for mode in reversed(list(MODES)[:-1]):
            await pilot.press("escape")
            assert app.current_mode == mode
        assert app.check_action("back", ()) is False


async def test_the_bar_is_a_menu_for_the_mouse(run, make):
    async with make.shown(run.home) as (app, pilot):
        text = make.text(app).splitlines()[0]
        for mode, (_, name) in MODES.items():
            await pilot.click("Bar", offset=(text.index(name) + 1, 0))
            await pilot.pause()
            assert app.current_mode == mode


async def test_a_click_moves_and_a_double_click_opens(home, make):
    for i in range(4):
        make.run(home, cell=f"price-s{i}", stamp=f"20261130-07200{i}", data=False)
    async with make.shown(home) as (app, pilot):
        rows = app.screen.query_one("#runs", Rows)
        await pilot.click("#runs", offset=(10, 3))
        assert rows.cursor == 2
        await pilot.double_click("#runs", offset=(10, 3))
        await pilot.pause()
        assert app.current_mode == "watch"


async def test_the_palette_names_group_and_action_and_every_command_runs(run, make, monkeypatch):
    ran: list[str] = []
    for action in ("dagster", "picture", "quit", "change_theme"):
        monkeypatch.setattr(SimflowApp, f"action_{action}", lambda self, action=action: ran.append(action))
    done: set[str] = set()
    async with make.shown(run.home, "a", size=(80, 24)) as (app, pilot):
        for mode in MODES:
            app.switch_mode(mode)
            await pilot.pause()
            for command in list(app.get_system_commands(app.screen)):
                assert re.fullmatch(r"[a-z]+: \S.*", command.title), command.title
                if command.title in done:
                    continue
                done.add(command.title)
                result = command.callback()
                if hasattr(result, "__await__"):
                    await result
                await pilot.pause()
                if app.current_mode != mode or not isinstance(app.screen, Page):
                    if not isinstance(app.screen, Page):
                        await app.pop_screen()
                    app.switch_mode(mode)
                    await pilot.pause()
    assert {
        "go: society",
        "run: stop at the next window",
        "open: Dagster",
        "copy: command",
        "theme: contrast",
        "theme: ansi",
        "filter: reply",
        "log: error",
    } <= done
    assert set(ran) == {"dagster", "picture", "quit", "change_theme"}


async def test_every_key_of_every_screen_can_be_pressed(run, make, monkeypatch):
    monkeypatch.setattr(SimflowApp, "exit", lambda self, *a, **k: None)
    async with make.shown(run.home) as (app, pilot):
        for mode in MODES:
            bindings = [b for b in type(page(mode)).BINDINGS if isinstance(b, Binding)]
            for binding in bindings:
                app.action_go(mode)
                await pilot.pause()
                for key in binding.key.split(","):
                    await pilot.press(key)
                    await pilot.pause()
                    while not isinstance(app.screen, Page):
                        await app.pop_screen()
        assert app.is_running


async def test_no_screen_takes_a_letter_that_goes_elsewhere():
    letters = {letter for letter, _ in MODES.values()}
    for mode in MODES:
        taken = {key for b in type(page(mode)).BINDINGS if isinstance(b, Binding) for key in b.key.split(",")}
        assert not taken & letters, mode
    assert not {key for b in Rows.BINDINGS if isinstance(b, Binding) for key in b.key.split(",")} & letters


async def test_the_footer_offers_only_what_works_now(home, make):
    make.run(home)
    make.run(home, cell="leaks-s7", stamp="20261130-071500", state="stopped", done=2)
    async with make.shown(home) as (app, pilot):
        assert "x stop" in make.text(app)
        assert "u resume" not in make.text(app)
        await pilot.press("down")
        await make.settle(app, pilot)
        assert "u resume" in make.text(app)
        assert "x stop" not in make.text(app)


async def test_copied_commands_reproduce_the_screen(run, make):
    async with make.shown(run.home, "y") as (app, pilot):
        assert app.clipboard == f"simflow runs {run.record.id}"
        await pilot.press("a")
        await make.settle(app, pilot)
        await pilot.press("y")
        assert app.clipboard == f"simflow explain {run.record.id} @rosa0"
        await pilot.press("b")
        await make.settle(app, pilot)
        await make.settle(app, pilot)
        await pilot.press("y")
        assert app.clipboard == f"simflow explain {run.record.id} @rosa0 --kind opinion --topic 'council trust'"


async def test_help_says_what_the_screen_is_and_every_key(run, make):
    async with make.shown(run.home, "s", "f1") as (app, pilot):
        assert isinstance(app.screen, Help)
        assert "Society" in app.screen.text
        assert "hold" in app.screen.text
        assert "page up" in app.screen.text
        await pilot.press("escape")
        assert isinstance(app.screen, Page)


async def test_jumping_puts_the_keys_where_the_letter_is(run, make):
    async with make.shown(run.home, "a", "ctrl+o") as (app, pilot):
        assert isinstance(app.screen, Jump)
        letter = next(k for k, w in app.screen.targets.items() if w.id == "relations")
        await pilot.press(letter)
        assert app.focused.id == "relations"


async def test_themes_follow_one_another_and_stay(run, make):
    async with make.shown(run.home) as (app, pilot):
        seen = [app.theme]
        for _ in THEMES:
            await pilot.press("t")
            seen.append(app.theme)
        assert seen == [*(t.name for t in THEMES), THEMES[0].name]


async def test_held_threads_stay_still_while_the_run_goes_on(home, make):
    make.run(home, done=2)
    async with make.shown(home, "s", "space") as (app, pilot):
        before = [r.key for r in app.screen.query_one("#threads", Rows).rows]
        make.run(home, done=3)
        await make.settle(app, pilot)
        assert [r.key for r in app.screen.query_one("#threads", Rows).rows] == before
        assert "HELD" in make.text(app)
        await pilot.press("space")
        await make.settle(app, pilot)
        assert [r.key for r in app.screen.query_one("#threads", Rows).rows] != before


@pytest.mark.parametrize(
    ("words", "passes"),
    [
        ("kind:reply", lambda e, _: e.kind == "reply"),
        ("kind:like", lambda e, _: e.kind == "like"),
        ("@rosa", lambda e, _: 0 in {e.actor, e.target}),
        ("topic:tariff bill", lambda e, _: "bill" in (e.text or "")),
        ("persona:shop_owner", lambda e, s: s.agents[e.actor].persona == "shop owner"),
    ],
)
async def test_society_is_filtered_by_agent_topic_and_kind(run, words, passes):
    from simflow_tui.society import Society
    from simflow_tui.talk import chooser
    from simflow_tui.threads import threads

    society = Society(run.home, run.record)
    society.advance(run.committed())
    told = threads(society.episodes, chooser(society, words, run.record.about()))
    assert told or words.startswith("topic")
    assert all(passes(t.episode, society) for t in told)
    wanted = {e.episode for e in society.episodes if passes(e, society)}
    assert words.startswith("topic") or {t.episode.episode for t in told} >= {e for e in wanted if "kind" in words}


async def test_time_moves_with_the_slider_and_superseded_beliefs_come_back(run, make):
    async with make.shown(run.home, "a", "b") as (app, pilot):
        await make.settle(app, pilot)
        now = app.beliefs.found[0].in_force.edge
        await pilot.press("comma", "comma", "comma")
        await make.settle(app, pilot)
        await make.settle(app, pilot)
        assert app.beliefs.question.tick is not None
        assert app.beliefs.found[0].in_force.edge != now
        await pilot.press("ctrl+o")
        assert isinstance(app.screen, Jump)


async def test_stopping_asks_first(run, make):
    async with make.shown(run.home, "x") as (app, pilot):
        assert isinstance(app.screen, Confirm)
        await pilot.press("enter")
        assert not run.record.stop_requested
        await pilot.press("x", "escape")
        assert not run.record.stop_requested
        await pilot.press("x", "y")
        await make.settle(app, pilot)
        assert run.record.stop_requested
        assert "stopping" in make.text(app) or "◐" in make.text(app)
