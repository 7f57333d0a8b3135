"""What is selected, what has been read, and the threads that read it. Nothing in here draws."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import work
from textual.app import App
from textual.worker import get_current_worker

from simflow.errors import SimflowError
from simflow.runs import CheckRecord, is_remote
from simflow_tui.committed import Committed
from simflow_tui.watch import Clock, LogTail, RunView, Watch

if TYPE_CHECKING:  # what reads data is imported in the threads that read: the list of runs is painted before
    from simflow_tui.asking import Answer, Answerer, Beliefs, Question
    from simflow_tui.comparing import Comparison
    from simflow_tui.scenarios import Verdict
    from simflow_tui.society import Society
    from simflow_tui.story import Story, Storyteller
    from simflow_tui.talk import Talk

BATCH = 48
"""Windows that are taken in before what is known is shown."""

REMOTE = 3.0
"""Seconds at least between two looks at an object store."""

REST = 1.0
"""Seconds at least between two readings of what a run commits."""


@dataclass(frozen=True)
class Snapshot:
    """What the ledger said at one moment: all runs; of the selected one its windows, extraction queue, checks and newest log lines.

    `logged`: lines of the log that have been read so far, the last of which are in `log`. `trouble`: why this is an older moment.
    """

    runs: Sequence[RunView] = ()
    key: str | None = None
    windows: Committed = field(default_factory=Committed)
    queue: Sequence[float] = ()
    checks: tuple[CheckRecord, ...] = ()
    log: tuple[dict[str, Any], ...] = ()
    logged: int = 0
    trouble: str = ""


@dataclass
class Choice:
    """What is selected, over all screens."""

    run: str | None = None
    other: str | None = None
    agent: int | None = None
    tick: int | None = None
    topic: str | None = None
    situation: str = ""
    words: str = ""
    scenario: Path | None = None
    back: list[str] = field(default_factory=list)


class ReadingApp(App[None]):
    """An application that follows the ledger. `live=False` reads only when told to, for tests. `asker` answers questions to memory."""

    def __init__(
        self,
        homes: Sequence[Path],
        *,
        clock: Clock = time.time,
        period: float = 0.5,
        live: bool = True,
        asker: Answerer | None = None,
    ) -> None:
        super().__init__()
        self.homes = tuple(homes)
        self.watch_ledger = Watch(self.homes, clock)
        self.clock = clock
        self.period = max(period, REMOTE) if any(map(is_remote, homes)) else period
        self.live = live
        self.choice = Choice()
        self.snapshot = Snapshot()
        self.society: Society | None = None
        self.talk: Talk | None = None
        self.story: Story | None = None
        self._teller: Storyteller | None = None
        self._asker = asker
        self.answer: Answer | None = None
        self.beliefs: Beliefs | None = None
        self.verdicts: dict[Path, Verdict] = {}
        self.comparison: Comparison | None = None
        self.said: dict[str, list[tuple[int, str, str]]] = {}
        self._said_for: dict[str, tuple[int, int, str]] = {}
        self._compared: tuple[str, str, int] | None = None
        self._compare_due = 0.0
        self._sides: dict[str, Society] = {}
        self._two = threading.Lock()
        self._last: RunView | None = None
        self._tail: LogTail | None = None
        self._wake = threading.Event()
        self._one = threading.Lock()  # a thread that was told to stop may still be reading
        self._listening = False
        self._due = 0.0
        self._questions: dict[str, Question] = {}
        self._asking = False
        self._ask_due = 0.0
        self.closing = False

    # ------------------------------------------------------------------------------------------------------------ the ledger

    def on_unmount(self) -> None:
        """Let the reading threads end."""
        self.closing = True
        self._wake.set()
        if self._asker is not None:
            self._asker.close()

    @property
    def asker(self) -> Answerer:
        """Who answers questions to memory: a process of its own, unless another was given."""
        if self._asker is None:
            from simflow_tui.oracle import Oracle  # noqa: PLC0415 - when somebody asks, not before

            self._asker = Oracle()
        return self._asker

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
        """One look at the ledger; safe in any thread. Where it cannot be had, what was known stays, and `trouble` says why."""
        try:
            runs = self.watch_ledger.runs()
        except SimflowError as error:
            return dataclasses.replace(self.snapshot, trouble=str(error))
        chosen = next((r for r in runs if r.key == self.choice.run), None)
        if chosen is None and self.choice.run is None and runs:
            chosen = runs[0]
        if chosen is None and self._last is not None and self._last.key == self.choice.run:
            runs = [*runs, dataclasses.replace(self._last, state="gone", age=0.0)]
            return dataclasses.replace(self.snapshot, runs=runs, key=self.choice.run)
        if chosen is None:
            return Snapshot(runs)
        self._last = chosen
        if self._tail is None or self._tail.path.parent != chosen.record.path:
            self._tail = LogTail(chosen.record.path / "log.jsonl")
        self._tail.poll()
        windows = self.watch_ledger.windows(chosen.record)
        queue = self.watch_ledger.queue(chosen.project, windows) if self.current_mode == "watch" else ()
        checks = self.watch_ledger.checks(chosen.record)
        return Snapshot(runs, chosen.key, windows, queue, checks, tuple(self._tail.lines), self._tail.read)

    def take(self, snapshot: Snapshot) -> None:
        """Show a snapshot on the screen that is on."""
        self.snapshot = snapshot
        if self.choice.run is None and snapshot.runs:
            self.choice.run = snapshot.runs[0].key
        self.tell()
        if self.live and time.monotonic() >= self._due:
            self.call_after_refresh(self.attend)  # what is known already is painted first
        if self._asker is not None and not self._asking:
            self._asker.rest()

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
            return self._said_for.get(run.key) != windows.stamp
        if self.current_mode in {"plan", "compare"}:
            return False
        society = self.society
        if society is None or society.record.path != run.record.path or society.behind(windows):
            return True
        if self.current_mode == "society":
            return self.talk is None or (self.talk.of, self.talk.words) != ((run.key, society.version), self.choice.words)
        teller = self._teller
        return (
            self.current_mode == "agent"
            and bool(society.agents)
            and (teller is None or (teller.run, teller.story.agent) != (run.key, self.choice.agent) or teller.behind(windows))
        )

    def attend(self) -> None:
        """Have what is missing read, unless that is being done already."""
        if self.live and not self._listening and not self.closing and self.behind():
            self._listening = True
            self.listen()

    @work(thread=True, group="data")
    def listen(self) -> None:
        """Read what the selected run has committed since, as far as the screen that is on shows it; what is read is shown by and by."""
        began = time.thread_time()
        try:
            while not self.closing and self.behind():
                self.gather(most=BATCH)
                if not self.closing:
                    self.call_from_thread(self.tell)
        finally:
            self._listening = False
            # A run that writes without end gets a tenth of a core, however much there is to read.
            self._due = time.monotonic() + max(REST, 9 * (time.thread_time() - began))

    def gather(self, most: int | None = None) -> None:
        """What the screen that is on needs, at most `most` windows of it; safe in any thread."""
        with self._one:
            if self.current_mode == "runs":
                self.hear()
            elif self.current_mode not in {"plan", "compare"}:
                self.study(most)

    def hear(self) -> None:
        """The newest sentences of the selected run; safe in any thread."""
        run, windows, key = self.selected, self.snapshot.windows, self.snapshot.key
        if run is None or key != run.key:
            return
        from simflow_tui.society import newest  # noqa: PLC0415 - see above

        said = newest(run.project, windows, 40) if windows.total else []
        self._said_for = {**dict(list(self._said_for.items())[-20:]), key: windows.stamp}
        self.said = {**dict(list(self.said.items())[-20:]), key: said}

    def study(self, most: int | None = None) -> None:
        """Bring the society of the selected run up to date; safe in any thread."""
        run, windows, key = self.selected, self.snapshot.windows, self.snapshot.key
        if run is None or key != run.key:
            return
        from simflow_tui.society import Society  # noqa: PLC0415 - see above
        from simflow_tui.story import Storyteller  # noqa: PLC0415
        from simflow_tui.talk import talk  # noqa: PLC0415

        if self.society is None or self.society.record.path != run.record.path:
            self.society = Society(run.project, run.record)
        self.society.advance(windows, most=most, stop=lambda: self.closing)
        if self.current_mode == "society":
            self.society.count_exposures(windows)
            self.talk = talk(self.society, self.choice.words, run)
        if self.current_mode == "agent" and (agent := self._agent()) is not None:
            teller = self._teller
            if teller is None or (teller.run, teller.story.agent) != (run.key, agent):
                teller = self._teller = Storyteller(run.project, agent, run.key)
            self.story = teller.advance(windows, most=most, stop=lambda: self.closing or self.choice.agent not in {None, agent})

    def _agent(self) -> int | None:
        if self.choice.agent is None and self.society and self.society.agents:
            self.choice.agent = min(self.society.agents)
        return self.choice.agent

    # --------------------------------------------------------------------------------------------------------------- questions

    def ask(self, what: str, question: Question) -> None:
        """Put a question to the memory of the selected run, `recall` or `beliefs`; of several that wait only the newest is answered."""
        self._questions[what] = question
        if not self._asking:
            self._asking = True
            self._answer()

    def ask_again(self) -> bool:
        """Whether it is time to ask the same once more because more has been committed: answering takes a tenth of the time at most."""
        return not self.live or (not self._asking and time.monotonic() >= self._ask_due)

    @work(thread=True, group="ask")
    def _answer(self) -> None:
        try:
            while self._questions and not self.closing:
                began = time.monotonic()
                what, question = self._questions.popitem()
                run = self.selected
                if run is None or run.key != question.run:
                    continue
                if what == "recall":
                    self.answer = self.asker.recall(run.project, run.record, question)
                else:
                    self.beliefs = self.asker.beliefs(run.project, run.record, question)
                self._ask_due = time.monotonic() + max(5.0, 9 * (time.monotonic() - began))
                if not self.closing:
                    self.call_from_thread(self.tell)
        finally:
            self._asking = False

    @work(thread=True, exclusive=True, group="examine")
    def examine(self, path: Path) -> None:
        """Read a scenario file, and if it is fine, what a run of it would compute."""
        from simflow_tui.scenarios import Verdict, examine, outlook  # noqa: PLC0415 - see above

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
        known = self._compared
        if wanted != known and (known is None or wanted[:2] != known[:2] or time.monotonic() >= self._compare_due):
            self._compared = wanted
            self._compare(left, right)

    @work(thread=True, exclusive=True, group="compare")
    def _compare(self, left: RunView, right: RunView) -> None:
        from simflow_tui.comparing import compare  # noqa: PLC0415 - see above
        from simflow_tui.society import Society  # noqa: PLC0415

        began = time.thread_time()
        with self._two:
            self._sides = {run.key: self._sides.get(run.key) or Society(run.project, run.record, keep=1) for run in (left, right)}
            self.comparison = compare(left, right, self.watch_ledger, self._sides, stop=lambda: self.closing)
        self._compare_due = time.monotonic() + max(REST, 19 * (time.thread_time() - began))
        if not self.closing:
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
            self.attend()
