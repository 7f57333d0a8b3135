"""The application: modes on letters, what is selected, the threads that read, and what can be done."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.worker import get_current_worker

from simflow.runs import WindowRecord
from simflow_tui.asking import Answer, Asker, Beliefs, Question
from simflow_tui.pages.page import Page
from simflow_tui.society import Society, newest
from simflow_tui.story import Story, story
from simflow_tui.tones import FALLBACK, THEMES, parsed
from simflow_tui.watch import Clock, LogTail, RunView, Watch
from simflow_tui.widgets.bar import MODES, Bar


@dataclass(frozen=True)
class Snapshot:
    """What the ledger said at one moment: all runs; of the selected one its windows, extraction queue and newest log lines."""

    runs: Sequence[RunView] = ()
    key: str | None = None
    windows: tuple[WindowRecord, ...] = ()
    queue: Sequence[float] = ()
    log: tuple[dict[str, Any], ...] = ()


class News(Message):
    """The ledger was read."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


@dataclass
class Choice:
    """What is selected, over all screens."""

    run: str | None = None
    other: str | None = None
    agent: int | None = None
    tick: int | None = None
    topic: str | None = None
    situation: str = ""
    scenario: Path | None = None
    back: list[str] = field(default_factory=list)


class SimflowApp(App[None]):
    """simflow in the terminal. `homes`: state folders of projects. `live=False` reads only when told to, for tests."""

    TITLE = "simflow"
    CSS_PATH = "simflow.tcss"
    ENABLE_COMMAND_PALETTE = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]  # noqa: RUF012 - Textual declares the type
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high"), (48, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(letter, f"go('{mode}')", f"go to {name}", show=False) for mode, (letter, name) in MODES.items()),
        Binding("escape", "back", "back"),
        Binding("f1,question_mark", "help", "help", key_display="F1"),
        Binding("y", "copy", "copy command", show=False),
        Binding("t", "next_theme", "next theme", show=False),
        Binding("q", "quit", "quit"),
    ]

    def __init__(
        self, homes: Sequence[Path], *, clock: Clock = time.time, period: float = 0.5, live: bool = True, theme: str | None = None
    ) -> None:
        super().__init__()
        self.homes = tuple(homes)
        self.watch_ledger = Watch(self.homes, clock)
        self.clock = clock
        self.period = period
        self.live = live
        self.choice = Choice()
        self.snapshot = Snapshot()
        self.society: Society | None = None
        self.story: Story | None = None
        self.asker = Asker()
        self.answer: Answer | None = None
        self.beliefs: Beliefs | None = None
        self.said: dict[str, list[tuple[int, str, str]]] = {}
        self._said_for: dict[str, int] = {}
        self._tail: LogTail | None = None
        self._wake = threading.Event()
        self._closing = False
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme or os.environ.get("SIMFLOW_THEME") or "simflow-dark"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our variables, for themes that are not ours."""
        return {**FALLBACK}

    def watch_theme(self) -> None:
        """Tones follow the theme."""
        parsed.cache_clear()

    # --------------------------------------------------------------------------------------------------------------- reading

    def get_default_screen(self) -> Screen[Any]:
        """The list of runs."""
        return page("runs")

    def on_mount(self) -> None:
        """Begin with the list of runs."""
        for mode in MODES:
            self.add_mode(mode, partial(page, mode))
        self.switch_mode("runs")
        if self.live:
            self.call_after_refresh(self.follow)

    def on_unmount(self) -> None:
        """Let the reading thread end."""
        self._closing = True
        self._wake.set()

    @work(thread=True, exclusive=True, group="ledger")
    def follow(self) -> None:
        """Read the ledger again and again, more slowly where reading is slow."""
        worker = get_current_worker()
        while not (worker.is_cancelled or self._closing):
            began = time.perf_counter()
            snapshot = self.read()
            if not self._closing:
                self.post_message(News(snapshot))
            self._wake.wait(max(self.period, 10 * (time.perf_counter() - began)))
            self._wake.clear()

    def read(self) -> Snapshot:
        """One look at the ledger; safe in any thread."""
        runs = self.watch_ledger.runs()
        key = self.choice.run if any(r.key == self.choice.run for r in runs) else None
        chosen = next((r for r in runs if r.key == key), runs[0] if runs else None)
        if chosen is None:
            return Snapshot(runs)
        if self._tail is None or self._tail.path.parent != chosen.record.path:
            self._tail = LogTail(chosen.record.path / "log.jsonl")
        self._tail.poll()
        windows = self.watch_ledger.windows(chosen.record)
        queue = self.watch_ledger.queue(chosen.record, chosen.project, windows)
        return Snapshot(runs, chosen.key, windows, queue, tuple(self._tail.lines))

    def on_news(self, event: News) -> None:
        """Pass on what was read."""
        self.take(event.snapshot)

    def take(self, snapshot: Snapshot) -> None:
        """Show a snapshot on the screen that is on."""
        self.snapshot = snapshot
        if self.choice.run is None and snapshot.runs:
            self.choice.run = snapshot.runs[0].key
        if self.live and self.behind():
            self.listen()
        self.tell()

    def behind(self) -> bool:
        """Whether the screen that is on shows less than has been committed."""
        run, windows = self.selected, self.snapshot.windows
        if run is None or self.snapshot.key != run.key:
            return False
        if self.current_mode == "runs":
            return self._said_for.get(run.key) != len(windows)
        known = self.society is not None and self.society.record.path == run.record.path
        if not known or self.society is None or self.society.done != [w.key for w in windows]:
            return True
        told = self.story
        return self.current_mode == "agent" and (told is None or (told.agent, told.windows) != (self.choice.agent, len(windows)))

    def tell(self) -> None:
        """Have the screen that is on show what is known."""
        if isinstance(self.screen, Page):
            self.screen.news()

    @work(thread=True, exclusive=True, group="data")
    def listen(self) -> None:
        """Read what the selected run has committed since, as far as the screen that is on shows it."""
        self.gather()
        self.call_from_thread(self.tell)

    def gather(self) -> None:
        """What the screen that is on needs; safe in any thread."""
        if self.current_mode == "runs":
            self.hear()
        else:
            self.study()

    def study(self) -> None:
        """Bring the society of the selected run up to date; safe in any thread."""
        run, windows, key = self.selected, self.snapshot.windows, self.snapshot.key
        if run is None or key != run.key:
            return
        if self.society is None or self.society.record.path != run.record.path:
            self.society = Society(run.project, run.record)
        self.society.advance(windows, stop=lambda: self._closing)
        if self.current_mode == "society":
            self.society.count_exposures(windows)
        if self.current_mode == "agent" and (agent := self._agent()) is not None:
            told = self.story
            if told is None or (told.agent, told.windows) != (agent, len(windows)):
                self.story = story(
                    run.project, run.record, windows, agent, stop=lambda: self._closing or self.choice.agent not in {None, agent}
                )

    def _agent(self) -> int | None:
        if self.choice.agent is None and self.society and self.society.agents:
            self.choice.agent = min(self.society.agents)
        return self.choice.agent

    def question(self, question: Question) -> None:
        """Put a question to the memory of the selected run; the answer comes with the next news."""
        if self.answer is None or self.answer.question != question:
            self.ask(question)

    @work(thread=True, exclusive=True, group="ask")
    def ask(self, question: Question) -> None:
        """Recall, and show it."""
        run = self.selected
        if run is not None and run.key == question.run:
            self.answer = self.asker.recall(run.project, run.record, question)
            self.call_from_thread(self.tell)

    @work(thread=True, exclusive=True, group="ask")
    def wonder(self, question: Question) -> None:
        """Walk beliefs back, and show them."""
        run = self.selected
        if run is not None and run.key == question.run:
            self.beliefs = self.asker.beliefs(run.project, run.record, question)
            self.call_from_thread(self.tell)

    def choose_agent(self, agent: int) -> None:
        """Select an agent of the selected run."""
        if agent != self.choice.agent:
            self.choice.agent = agent
            if self.live:
                self.listen()

    def hear(self) -> None:
        """The newest sentences of the selected run; safe in any thread."""
        run, windows, key = self.selected, self.snapshot.windows, self.snapshot.key
        if run is None or key != run.key:
            return
        self._said_for[key] = len(windows)
        self.said = {**dict(list(self.said.items())[-20:]), key: newest(run.project, windows) if windows else []}

    # ------------------------------------------------------------------------------------------------------------- selection

    @property
    def selected(self) -> RunView | None:
        """The selected run; one that was deleted meanwhile is shown as gone, as long as it is selected."""
        return next((r for r in self.snapshot.runs if r.key == self.choice.run), None)

    def choose(self, key: str) -> None:
        """Select a run."""
        if key != self.choice.run:
            self.choice.run = key
            self._wake.set()

    # --------------------------------------------------------------------------------------------------------------- actions

    def on_bar_chosen(self, event: Bar.Chosen) -> None:
        """A mode in the bar was clicked."""
        self.action_go(event.mode)

    def action_go(self, mode: str) -> None:
        """Go to a screen."""
        if mode != self.current_mode and isinstance(self.screen, Page):
            self.choice.back.append(self.current_mode)
            self.switch_mode(mode)

    async def action_back(self) -> None:
        """Go back to where one came from."""
        if self.choice.back:
            self.switch_mode(self.choice.back.pop())
        elif self.current_mode != "runs":
            self.switch_mode("runs")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing are not shown."""
        if action == "back":
            return bool(self.choice.back) or self.current_mode != "runs"
        if action == "go":
            return isinstance(self.screen, Page)
        return super().check_action(action, parameters)

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
            self.notify(command, title="copied", timeout=4)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: everything that can be done now, as `group: action`."""
        for mode, (letter, name) in MODES.items():
            yield SystemCommand(f"go: {name.lower()}", f"the screen {name} (key {letter})", partial(self.action_go, mode))
        for theme in THEMES:
            yield SystemCommand(f"theme: {theme.name.removeprefix('simflow-')}", "colours", partial(setattr, self, "theme", theme.name))
        yield SystemCommand("theme: more", "choose among all themes", self.action_change_theme)
        yield SystemCommand("copy: command", "copy the command that prints what is on the screen (key y)", self.action_copy)
        if isinstance(screen, Page):
            for deed in screen.deeds():
                yield SystemCommand(deed.name, deed.about, partial(self.run_action, deed.action, screen))
        yield SystemCommand("app: quit", "leave; runs go on", self.action_quit)


def page(mode: str) -> Page:
    """The screen of a mode, imported when it is first shown."""
    from importlib import import_module  # noqa: PLC0415 - used here alone

    module = import_module(f"simflow_tui.pages.{mode}")
    made: Page = getattr(module, f"{mode.capitalize()}Page")()
    return made
