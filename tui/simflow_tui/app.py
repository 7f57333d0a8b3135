"""The application: modes on letters, themes, what can be done, and the palette that lists it."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen

from simflow.errors import SimflowError
from simflow.runs import is_remote
from simflow_tui import control
from simflow_tui.dialogs import Confirm, Help, Jump, Line
from simflow_tui.notices import Notices, sequence
from simflow_tui.pages.page import Page
from simflow_tui.reading import ReadingApp, Snapshot
from simflow_tui.tones import FALLBACK, THEMES, parsed
from simflow_tui.watch import Clock, RunView
from simflow_tui.widgets.bar import MODES as NAMES
from simflow_tui.widgets.bar import Bar

RESUMABLE = frozenset({"stopped", "failed", "silent"})

AHEAD = 0.3
"""Seconds between two screens that are made before anybody asks for them."""

if TYPE_CHECKING:
    from simflow_tui.asking import Answerer

DAGSTER = ("127.0.0.1", 3000)


def page(mode: str) -> Page:
    """The screen of a mode, imported when it is first shown."""
    made: Page = getattr(import_module(f"simflow_tui.pages.{mode}"), f"{mode.capitalize()}Page")()
    return made


class SimflowApp(ReadingApp):
    """simflow in the terminal. `homes`: state folders of projects; `notify_by`: off, bell or osc."""

    TITLE = "simflow"
    CSS_PATH = "simflow.tcss"
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar[dict[str, Any]] = {mode: partial(page, mode) for mode in NAMES}
    DEFAULT_MODE = "runs"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]  # noqa: RUF012 - Textual declares the type
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high"), (48, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(letter, f"go('{mode}')", f"go to {name}", show=False) for mode, (letter, name) in NAMES.items()),
        Binding("escape", "back", "back"),
        Binding("f1,question_mark", "help", "help", key_display="F1"),
        Binding("ctrl+o", "jump", "jump to a part", show=False),
        Binding("y", "copy", "copy the command for this screen", show=False),
        Binding("t", "next_theme", "next theme", show=False),
        Binding("q", "quit", "quit"),
    ]

    def __init__(
        self,
        homes: Sequence[Path],
        *,
        clock: Clock = time.time,
        period: float = 0.5,
        live: bool = True,
        theme: str | None = None,
        notify_by: str = "off",
        asker: Answerer | None = None,
    ) -> None:
        super().__init__(homes, clock=clock, period=period, live=live, asker=asker)
        self.notify_by = notify_by
        self.notices = Notices()
        self.launched: list[control.Launched] = []
        self._can: object = None
        self._coming = ""
        self._pressed = 0.0
        for each in THEMES:
            self.register_theme(each)
        wanted = theme or os.environ.get("SIMFLOW_THEME") or ("simflow-ansi" if few_colours() else "simflow-dark")
        self.theme = wanted if wanted in self.available_themes else "simflow-dark"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our variables, for themes that are not ours."""
        return {**FALLBACK}

    def watch_theme(self) -> None:
        """Tones follow the theme."""
        parsed.cache_clear()

    def on_mount(self) -> None:
        """Begin to read; make the other screens while nobody presses a key, so that each is there at once when it is wanted."""
        if self.live:
            self.call_after_refresh(self.follow)
            self.set_timer(AHEAD, self._make_ahead)

    def _make_ahead(self) -> None:
        modes = [mode for mode in NAMES if mode not in self._screen_stacks]
        if modes and not self.closing:
            if time.monotonic() - self._pressed > 2 * AHEAD:
                self._init_mode(modes[0])
            self.set_timer(AHEAD, self._make_ahead)

    async def on_event(self, event: events.Event) -> None:
        """Remember when a key was pressed last."""
        if isinstance(event, events.Key):
            self._pressed = time.monotonic()
        await super().on_event(event)

    def delay_update(self, delay: float = 0.05) -> None:
        """Textual waits a twentieth of a second before it paints another screen; one that was made ahead is painted at once."""
        if self._coming not in self._screen_stacks:
            super().delay_update(min(delay, 0.005))

    def take(self, snapshot: Snapshot) -> None:
        """Show a snapshot, and tell what happened."""
        if self.live:
            self._fit()
        super().take(snapshot)
        for notice in self.notices.take(snapshot.runs):
            self.notify(notice.text, severity=notice.severity, timeout=8, markup=False)  # type: ignore[arg-type]
            if self._driver is not None and (sent := sequence(self.notify_by, notice.text)):
                self._driver.write(sent)
        for launched in list(self.launched):
            if (ended := launched.ended()) is not None:
                self.launched.remove(launched)
                code, errors = ended
                if code not in {0, 130}:
                    self.notify(errors or f"exit code {code}", title=launched.words, severity="error", timeout=15, markup=False)

    def _fit(self) -> None:
        # A change of size comes as a signal and as events that overtake one another while screens are made: what counts is the terminal.
        try:
            size = Size(*os.get_terminal_size(sys.__stderr__.fileno() if sys.__stderr__ else 2))
        except (OSError, ValueError):
            return
        if size and not self.is_headless and size not in {self.size, Size(0, 0)}:
            self.post_message(events.Resize(size, size))
        elif size == self.size and self.screen.outer_size not in {self.size, Size(0, 0)}:
            self.screen.post_message(events.Resize(size, size))

    def tell(self) -> None:
        """Have the screen that is on show what is known."""
        if isinstance(self.screen, Page):
            self.screen.news()
            can = (self.current_mode, self.selected.state if self.selected else "", self.comparison is not None, len(self.choice.back) > 0)
            if can != self._can:  # the footer is made anew: only when other keys work
                self._can = can
                self.refresh_bindings()

    # ----------------------------------------------------------------------------------------------------------- going about

    def on_bar_chosen(self, event: Bar.Chosen) -> None:
        """A mode in the bar was clicked."""
        self.action_go(event.mode)

    def action_go(self, mode: str) -> None:
        """Go to a screen."""
        if mode != self.current_mode and isinstance(self.screen, Page):
            self.choice.back = [*self.choice.back[-20:], self.current_mode]
            self._show(mode)

    async def action_back(self) -> None:
        """Go back to where one came from."""
        if self.choice.back:
            self._show(self.choice.back.pop())
        elif self.current_mode != "runs":
            self._show("runs")

    def _show(self, mode: str) -> None:
        self._coming = mode
        self.switch_mode(mode)
        self._coming = ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing are not shown."""
        run = self.selected
        match action:
            case "back":
                return isinstance(self.screen, Page) and (bool(self.choice.back) or self.current_mode != "runs")
            case "go" | "jump" | "copy" | "help" | "next_theme":
                return isinstance(self.screen, Page)
            case "stop":
                return isinstance(self.screen, Page) and run is not None and run.state == "running" and not run.remote
            case "resume":
                return isinstance(self.screen, Page) and run is not None and run.state in RESUMABLE and not run.remote
            case "rerun":
                return isinstance(self.screen, Page) and run is not None and run.state != "gone" and not run.remote
            case "start":
                return isinstance(self.screen, Page) and not is_remote(self.homes[0])
            case _:
                return super().check_action(action, parameters)

    def action_help(self) -> None:
        """What this is, and which keys work."""
        texts = [text for text in (self.screen.HELP, self.focused.HELP if self.focused else None) if text]
        keys = [
            (self.get_key_display(binding), binding.description)
            for _, binding, enabled, _ in self.screen.active_bindings.values()
            if enabled and binding.description
        ]
        self.push_screen(Help(texts, list(dict.fromkeys(keys))))

    def action_jump(self) -> None:
        """Letters on the parts of the screen."""
        targets = [w for w in self.screen.focus_chain if w.region.area]

        def go(widget: object) -> None:
            if widget in targets:
                self.screen.set_focus(targets[targets.index(widget)])  # type: ignore[arg-type]

        self.push_screen(Jump(targets), go)

    def action_next_theme(self) -> None:
        """The next of our own themes."""
        names = [t.name for t in THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]

    def action_copy(self) -> None:
        """Copy the command that prints what is on the screen."""
        if isinstance(self.screen, Page):
            command = self.screen.command()
            self.copy_to_clipboard(command)
            self.notify(command, title="copied", timeout=6, markup=False)

    def action_picture(self) -> None:
        """Save the screen as SVG beside where one is."""
        path = Path(f"simflow-{self.current_mode}-{time.strftime('%Y%m%d-%H%M%S')}.svg").absolute()
        try:
            self.save_screenshot(str(path))
        except OSError as error:
            self.notify(str(error), title="no picture", severity="error", markup=False)
            return
        self.notify(str(path), title="picture of this screen", markup=False)

    # --------------------------------------------------------------------------------------------------------------- control

    def action_start(self) -> None:
        """Start a run of the selected scenario, or choose one first."""
        path = self.choice.scenario
        if self.current_mode != "plan" or path is None:
            self.notify("choose a scenario and press n", title="new run")
            self.action_go("plan")
            return
        about = "Its first cell is run in a process of its own; windows that are stored already are not computed again."
        self.push_screen(Confirm(f"run {path.name}?", about, "run"), partial(self._launch_if, lambda: control.words(path), self.homes[0]))

    def action_stop(self) -> None:
        """Ask the selected run to stop at its next window."""
        run = self.selected
        if run is None or run.state != "running" or run.remote:
            return

        def stop(yes: bool | None) -> None:
            if yes:
                try:
                    run.record.request_stop()
                except OSError as error:
                    self.notify(str(error), title="cannot ask it to stop", severity="error", markup=False)
                self._wake.set()

        about = "It ends after the window at hand; nothing that is committed is lost, and it can go on from there."
        self.push_screen(Confirm(f"stop {run.record.scenario} {run.cell}?", about, "stop"), stop)

    def action_resume(self) -> None:
        """Go on with the selected run."""
        run = self.selected
        if run is not None:
            about = "The same cell of the same file goes on after its last whole window."
            self.push_screen(
                Confirm(f"go on with {run.record.scenario} {run.cell}?", about, "go on"),
                partial(self._launch_if, lambda: control.again(run), run.project),
            )

    def action_rerun(self) -> None:
        """Run the selected run's scenario with one key changed."""
        run = self.selected
        if run is None:
            return

        def go(change: str | None) -> None:
            if change:
                self._launch_if(lambda: self._changed(run, change), run.project, yes=True)

        self.push_screen(
            Line("run again with one change", "a key and its new value, as in network.rewire: 0.2 (a new file beside the scenario)"), go
        )

    def _changed(self, run: RunView, change: str) -> list[str]:
        path = control.changed(control.scenario_of(run), change)
        variant, seed = run.about.get("variant"), run.about.get("seed")
        return control.words(path, variant=str(variant) if variant else None, seed=seed if isinstance(seed, int) else None)

    def _launch_if(self, arguments: Callable[[], list[str]], home: Path, yes: bool | None) -> None:
        if not yes:
            return
        try:
            launched = control.launch(arguments(), home)
        except (SimflowError, OSError) as error:
            self.notify(f"{error} {getattr(error, 'hint', '') or ''}", title="not started", severity="error", timeout=12, markup=False)
            return
        self.launched.append(launched)
        self.notify(launched.words, title="started", markup=False)
        self.action_go("runs")

    def action_dagster(self) -> None:
        """Open Dagster on this project; start it first if nothing listens."""
        host, port = DAGSTER
        with socket.socket() as probe:
            probe.settimeout(0.2)
            there = probe.connect_ex((host, port)) == 0
        if not there:
            try:
                self.launched.append(control.launch(["dev", "--home", str(self.homes[0])], self.homes[0]))
            except SimflowError as error:
                self.notify(str(error), title="Dagster", severity="error", markup=False)
                return
        self.notify(
            f"http://{host}:{port}" + ("" if there else " (starting: give it a few seconds)"), title="Dagster", timeout=12, markup=False
        )
        self.open_url(f"http://{host}:{port}")

    # --------------------------------------------------------------------------------------------------------------- palette

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: everything that can be done now, as `group: action`."""
        if not isinstance(screen, Page):
            return
        for mode, (letter, name) in NAMES.items():
            yield SystemCommand(f"go: {name.lower()}", f"the screen {name} (key {letter})", partial(self.action_go, mode))
        for name, action, about in (
            ("start", "start", "start a run from a scenario (key n)"),
            ("stop at the next window", "stop", "asks first (key x)"),
            ("resume", "resume", "go on after its last whole window (key u)"),
            ("rerun with one change", "rerun", "writes a new scenario file beside the old one"),
        ):
            if self.check_action(action, ()):
                yield SystemCommand(f"run: {name}", about, partial(self.run_action, action))
        yield SystemCommand("open: Dagster", "the project's assets and runs in a browser", self.action_dagster)
        yield SystemCommand("copy: command", "the command that prints what is on this screen (key y)", self.action_copy)
        if screen.FILTER is not None:
            yield SystemCommand("view: filter", f"{screen.FILTER} (key /)", screen.action_filter)
        yield SystemCommand("view: jump", "letters on the parts of the screen (key ctrl+o)", self.action_jump)
        yield SystemCommand("view: picture", "save this screen as SVG", self.action_picture)
        for deed in screen.deeds():
            yield SystemCommand(deed.name, deed.about, partial(self.run_action, deed.action, screen))
        for theme in THEMES:
            yield SystemCommand(
                f"theme: {theme.name.removeprefix('simflow-')}", "colours (key t)", partial(setattr, self, "theme", theme.name)
            )
        yield SystemCommand("theme: more", "choose among all themes", self.action_change_theme)
        yield SystemCommand("app: help", "what this screen is, and its keys (key F1)", self.action_help)
        yield SystemCommand("app: quit", "leave; runs go on", self.action_quit)


def few_colours() -> bool:
    """Whether the terminal says that it has sixteen colours or fewer."""
    term, more = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    return bool(term) and not more and (term in {"linux", "ansi", "vt100", "vt220", "xterm-16color", "screen", "cygwin"})
