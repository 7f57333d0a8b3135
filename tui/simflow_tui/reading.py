"""What is selected, what has been read, and the threads that read it. Nothing in here draws."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual import work
from textual.app import App
from textual.message import Message
from textual.worker import get_current_worker

from simflow.runs import WindowRecord
from simflow_tui.asking import Answer, Asker, Beliefs, Question
from simflow_tui.comparing import Comparison, compare
from simflow_tui.scenarios import Verdict, examine, outlook
from simflow_tui.society import Society, newest
from simflow_tui.story import Story, Storyteller
from simflow_tui.watch import Clock, LogTail, RunView, Watch


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


class ReadingApp(App[None]):
    """An application that follows the ledger. `live=False` reads only when told to, for tests."""

    def __init__(self, homes: Sequence[Path], *, clock: Clock = time.time, period: float = 0.5, live: bool = True) -> None:
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
        self._teller: Storyteller | None = None
        self._told_of = ""
        self.asker = Asker()
        self.answer: Answer | None = None
        self.beliefs: Beliefs | None = None
        self.verdicts: dict[Path, Verdict] = {}
        self.comparison: Comparison | None = None
        self.said: dict[str, list[tuple[int, str, str]]] = {}
        self._said_for: dict[str, int] = {}
        self._compared: tuple[str, str, int] | None = None
        self._last: RunView | None = None
        self._tail: LogTail | None = None
        self._wake = threading.Event()
        self._one = threading.Lock()  # a thread that was told to stop may still be reading
        self.closing = False

    # ------------------------------------------------------------------------------------------------------------ the ledger

    def on_unmount(self) -> None:
        """Let the reading threads end."""
        self.closing = True
        self._wake.set()

    @work(thread=True, exclusive=True, group="ledger")
    def follow(self) -> None:
        """Read the ledger again and again, more slowly where reading is slow; only the newest news waits to be shown."""
        worker = get_current_worker()
        shown = threading.Event()
        shown.set()
        while not (worker.is_cancelled or self.closing):
            began = time.perf_counter()
            snapshot = self.read()
            if not self.closing and shown.is_set():
                shown.clear()
                self.call_later(self._pass_on, snapshot, shown)
            self._wake.wait(max(self.period, 10 * (time.perf_counter() - began)))
            self._wake.clear()

    def _pass_on(self, snapshot: Snapshot, shown: threading.Event) -> None:
        shown.set()
        if not self.closing:
            self.take(snapshot)

    def read(self) -> Snapshot:
        """One look at the ledger; safe in any thread."""
        runs = self.watch_ledger.runs()
        chosen = next((r for r in runs if r.key == self.choice.run), None)
        if chosen is None and self.choice.run is None and runs:
            chosen = runs[0]
        if chosen is None and self._last is not None and self._last.key == self.choice.run:
            gone = self.watch_ledger.view(self._last.record, self._last.project)
            runs = [*runs, RunView(gone.record, gone.project, self._last.progress, self._last.about, "gone")]
            return Snapshot(runs, self.choice.run, self.snapshot.windows, self.snapshot.queue, self.snapshot.log)
        if chosen is None:
            return Snapshot(runs)
        self._last = chosen
        if self._tail is None or self._tail.path.parent != chosen.record.path:
            self._tail = LogTail(chosen.record.path / "log.jsonl")
        self._tail.poll()
        windows = self.watch_ledger.windows(chosen.record)
        queue = self.watch_ledger.queue(chosen.project, windows) if self.current_mode == "watch" else ()
        return Snapshot(runs, chosen.key, windows, queue, tuple(self._tail.lines))

    def take(self, snapshot: Snapshot) -> None:
        """Show a snapshot on the screen that is on."""
        self.snapshot = snapshot
        if self.choice.run is None and snapshot.runs:
            self.choice.run = snapshot.runs[0].key
        self.tell()
        if self.live and self.behind():
            self.call_after_refresh(self.listen)  # what is known already is painted first

    def tell(self) -> None:
        """Have the screen that is on show what is known."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------------------------- the data

    def behind(self) -> bool:
        """Whether the screen that is on shows less than has been committed."""
        run, windows = self.selected, self.snapshot.windows
        if run is None or self.snapshot.key != run.key or run.state == "gone":
            return False
        if self.current_mode == "runs":
            return self._said_for.get(run.key) != len(windows)
        if self.current_mode in {"plan", "compare"}:
            return False
        if self.society is None or self.society.record.path != run.record.path or self.society.done != [w.key for w in windows]:
            return True
        told = self.story
        return self.current_mode == "agent" and (told is None or (told.agent, told.windows) != (self.choice.agent, len(windows)))

    @work(thread=True, exclusive=True, group="data")
    def listen(self) -> None:
        """Read what the selected run has committed since, as far as the screen that is on shows it."""
        self.gather()
        if not self.closing:
            self.call_from_thread(self.tell)

    def gather(self) -> None:
        """What the screen that is on needs; safe in any thread."""
        with self._one:
            if self.current_mode == "runs":
                self.hear()
            elif self.current_mode not in {"plan", "compare"}:
                self.study()

    def hear(self) -> None:
        """The newest sentences of the selected run; safe in any thread."""
        run, windows, key = self.selected, self.snapshot.windows, self.snapshot.key
        if run is None or key != run.key:
            return
        self._said_for[key] = len(windows)
        self.said = {**dict(list(self.said.items())[-20:]), key: newest(run.project, windows, 40) if windows else []}

    def study(self) -> None:
        """Bring the society of the selected run up to date; safe in any thread."""
        run, windows, key = self.selected, self.snapshot.windows, self.snapshot.key
        if run is None or key != run.key:
            return
        if self.society is None or self.society.record.path != run.record.path:
            self.society = Society(run.project, run.record)
        self.society.advance(windows, stop=lambda: self.closing)
        if self.current_mode == "society":
            self.society.count_exposures(windows)
        if self.current_mode == "agent" and (agent := self._agent()) is not None:
            teller = self._teller
            if teller is None or teller.story.agent != agent or self._told_of != run.key:
                teller = self._teller = Storyteller(run.project, agent)
                self._told_of = run.key
            self.story = teller.advance(windows, stop=lambda: self.closing or self.choice.agent not in {None, agent})

    def _agent(self) -> int | None:
        if self.choice.agent is None and self.society and self.society.agents:
            self.choice.agent = min(self.society.agents)
        return self.choice.agent

    # --------------------------------------------------------------------------------------------------------------- questions

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

    @work(thread=True, exclusive=True, group="examine")
    def examine(self, path: Path) -> None:
        """Read a scenario file, and if it is fine, what a run of it would compute."""
        verdict = examine(path)
        self.verdicts[path] = verdict
        self.call_from_thread(self.tell)
        if verdict.ok:
            lines = outlook(path, self.homes[0])
            self.verdicts[path] = Verdict(path, verdict.stamp, verdict.ok, verdict.problems, verdict.summary, lines)
            self.call_from_thread(self.tell)

    def compare(self) -> None:
        """Read the selected run and the other one, if that has not been done."""
        left = self.selected
        right = next((r for r in self.snapshot.runs if r.key == self.choice.other), None)
        if left is None or right is None:
            return
        wanted = (left.key, right.key, left.progress.window + right.progress.window)
        if wanted != self._compared:
            self._compared = wanted
            self._compare(left, right)

    @work(thread=True, exclusive=True, group="compare")
    def _compare(self, left: RunView, right: RunView) -> None:
        self.comparison = compare(left, right, Watch(self.homes, self.clock), stop=lambda: self.closing)
        self.call_from_thread(self.tell)

    # ------------------------------------------------------------------------------------------------------------- selection

    @property
    def selected(self) -> RunView | None:
        """The selected run; one that was deleted meanwhile is shown as gone, as long as it is selected."""
        return next((r for r in self.snapshot.runs if r.key == self.choice.run), None)

    def choose(self, key: str) -> None:
        """Select a run; what was selected in another one is forgotten."""
        if key != self.choice.run:
            self.choice.run = key
            self.choice.agent = self.choice.tick = None
            self._wake.set()

    def choose_agent(self, agent: int) -> None:
        """Select an agent of the selected run."""
        if agent != self.choice.agent:
            self.choice.agent = agent
            if self.live:
                self.listen()
