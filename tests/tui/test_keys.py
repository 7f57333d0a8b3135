"""Every key and every command does what it says; all of it without a mouse, and with one."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
from functools import partial

import pytest
from textual.binding import Binding
from textual.message_pump import MessagePump
from textual.widgets import Input

import simflow_tui
from simflow.errors import BadInput
from simflow_tui import control
from simflow_tui.app import SimflowApp, page
from simflow_tui.dialogs import Confirm, Help, Jump, Line
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


QUIET = ("dagster", "picture", "quit", "change_theme")
"""Actions that reach beyond the terminal: they are called, and do nothing here."""


def owners() -> list[type]:
    """Every class of the terminal that has keys or actions of its own."""
    found: set[type] = set()
    for module in pkgutil.walk_packages(simflow_tui.__path__, "simflow_tui."):
        loaded = importlib.import_module(module.name)
        found |= {c for c in vars(loaded).values() if isinstance(c, type) and c.__module__ == module.name and issubclass(c, MessagePump)}
    return sorted(found, key=lambda c: c.__name__)


def keys_of(owner: type) -> set[tuple[str, str]]:
    if not owner.__module__.startswith("simflow_tui"):
        return set()
    bindings = [b for b in vars(owner).get("BINDINGS", ()) if isinstance(b, Binding)]
    return {(owner.__name__, key.strip()) for b in bindings for key in b.key.split(",")}


class Walk:
    """Presses keys and runs commands, each once, and remembers which actions answered."""

    def __init__(self, app, pilot) -> None:
        self.app, self.pilot = app, pilot
        self.everything: set[tuple[str, str]] = set().union(*map(keys_of, owners()))
        self.pressed: set[tuple[str, str]] = set()
        self.commands: set[str] = set()

    async def at(self, mode: str, focus=None) -> None:
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()
        while not isinstance(self.app.screen, Page):
            await self.app.pop_screen()
        if self.app.current_mode != mode:
            self.app.action_go(mode)
            await self.pilot.pause()
        self.app.screen.set_focus(focus)
        await self.pilot.pause()

    async def press(self, node: object, key: str) -> None:
        self.pressed |= {(c.__name__, key) for c in type(node).__mro__} & self.everything
        await self.pilot.press(key)

    async def keys(self, mode: str) -> None:
        """Every key of the screen, of the application, and of each part of the screen that can have the keys."""
        await self.at(mode)
        for part in [w for w in self.app.screen.query("*") if w.focusable and type(w) in owners()]:
            for node in (part,) if isinstance(part, Input) else (part, self.app.screen, self.app):  # letters are text in a field
                for owner, key in sorted(set().union(*map(keys_of, type(node).__mro__)) - self.pressed):
                    if (owner, key) not in self.pressed:
                        await self.at(mode, None if node is self.app and key == "escape" else part)
                        await self.press(node, key)

    async def again(self, mode: str, answered: set[str]) -> None:
        """Keys of the screen whose action was not heard of: a key that came while a field gave up the focus was text."""
        await self.at(mode)
        owner = type(self.app.screen)
        for binding in [b for b in vars(owner).get("BINDINGS", ()) if isinstance(b, Binding)]:
            action = f"{owner.__name__}.action_{binding.action.split('(')[0]}"
            if action not in answered and hasattr(owner, action.rpartition(".")[2]):
                await self.at(mode, self.app.screen.query_one(Rows))
                await self.pilot.press(binding.key.split(",")[0])

    async def palette(self, mode: str) -> None:
        """Every command that is offered on the screen."""
        await self.at(mode)
        for command in list(self.app.get_system_commands(self.app.screen)):
            assert re.fullmatch(r"[a-z]+: \S.*", command.title), command.title
            if command.title not in self.commands:
                self.commands.add(command.title)
                await self.at(mode)
                result = command.callback()
                if hasattr(result, "__await__"):
                    await result

    async def dialog(self, make) -> None:
        """Every key of a screen over a screen, each of which leaves it."""
        for _, key in sorted(keys_of(type(make()))):
            await self.at("runs")
            made = make()
            await self.app.push_screen(made)
            await self.press(made, key)
            await self.pilot.pause()
            assert self.app.screen is not made, f"{key} leaves {type(made).__name__}"


@pytest.fixture
def answered(monkeypatch) -> set[str]:
    """The actions that were called, by class and name; those that reach beyond the terminal do nothing."""
    found: set[str] = set()

    def record(owner: type, name: str) -> None:
        kept, quiet = vars(owner)[name], name.removeprefix("action_") in QUIET

        def recorded(self, *args, **given):
            found.add(f"{owner.__name__}.{name}")
            return None if quiet else kept(self, *args, **given)

        monkeypatch.setattr(owner, name, recorded)

    for owner in owners():
        for name in [n for n in vars(owner) if n.startswith("action_")]:
            record(owner, name)
    for name in ("action_quit", "action_change_theme"):  # Textual's own
        monkeypatch.setattr(SimflowApp, name, lambda self: None)
    return found


async def test_every_key_and_every_command_is_reached_and_every_action_answers(home, root, make, answered, monkeypatch):
    """Fails where a key, a command or an action was added and nothing here reaches it."""
    (home.parent / "scenarios").mkdir()
    shutil.copy(root / "scenarios/hello.yaml", home.parent / "scenarios/water-tariff.yaml")
    make.run(home)
    stopped = make.run(home, cell="leaks-s7", stamp="20261130-071500", state="stopped", done=2, variant="leaks")

    def refuse(_words: object, where: object) -> None:
        raise BadInput("nothing is started here", hint=str(where))

    monkeypatch.setattr(control, "launch", refuse)
    async with make.shown(home, "a") as (app, pilot):
        walk = Walk(app, pilot)
        for mode in MODES:
            await walk.at(mode)
            await make.settle(app, pilot)
            if mode == "memory":
                app.screen.query_one("#situation").value = "the water bill"
            if mode == "watch":
                app.choose(str(stopped.record.path))
                app.take(app.read())
                await walk.palette(mode)
                app.choose(next(r.key for r in app.snapshot.runs if r.live))
                app.take(app.read())
            await walk.keys(mode)
            await walk.again(mode, answered)
            await walk.palette(mode)
        for dialog in (partial(Confirm, "run it?", "about", "run"), partial(Line, "change", "a key"), partial(Help, ["# Help"], [])):
            await walk.dialog(dialog)
        assert app.is_running
    assert walk.pressed == walk.everything
    assert {"filter: reply", "log: error", "order: cost", "theme: ansi", "run: resume", "run: stop at the next window"} <= walk.commands
    every = {f"{o.__name__}.{n}" for o in owners() for n in vars(o) if n.startswith("action_")}
    assert sorted(every - answered) == ["SimflowApp.action_change_theme", "SimflowApp.action_quit"], "actions that nothing reached"


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
