"""All runs: state, progress, rate, money, time left, health; the newest words of the one under the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget

from simflow_tui.figures import ago, bar, clip, duration, money, number, percent, plain, rate, short
from simflow_tui.pages.page import Deed, Page, matches
from simflow_tui.tones import Span
from simflow_tui.watch import STATES, RunView
from simflow_tui.widgets.panel import Panel
from simflow_tui.widgets.rows import Column, Row, Rows

SORTS = ("newest", "state", "scenario", "progress", "cost", "name")


class RunsPage(Page):
    """The list of runs."""

    MODE = "runs"
    FILTER = "words, state:failed, scenario:water"
    HELP = """\
# Runs

Every run of the project, those at work first. The lower part shows the run under the cursor and the newest things said in it.

| sign | state |
|---|---|
| ● running | a process is at work and gave a sign of life within 15 seconds |
| ◐ stopping | it was asked to stop at its next window |
| ◌ silent | it says it runs, but gave no sign of life: killed, suspended, or its machine is gone |
| ✓ done, ✗ failed, ■ stopped | it ended, in this way |
| ? | its files cannot be read, by this version at least |
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "sort", "order"),
        Binding("x", "app.stop", "stop"),
        Binding("u", "app.resume", "resume"),
        Binding("n", "app.start", "new run"),
    ]

    order = 0

    def body(self) -> Iterator[Widget]:
        """List and detail."""
        with Vertical(id="body"):
            yield Rows(
                Column("", 1),
                Column("scenario", 12, grow=2),
                Column("cell", 10, grow=4),
                Column("window", 7, right=True, rank=3),
                Column("progress", 12, grow=1),
                Column("ticks/s", 7, right=True, rank=5),
                Column("left", 7, right=True, rank=1),
                Column("episodes", 8, right=True, rank=6),
                Column("tokens", 6, right=True, rank=7),
                Column("cost", 6, right=True, rank=2),
                Column("health", 11, rank=1),
                Column("seen", 4, right=True, rank=8),
                id="runs",
                empty="no runs yet · press n to start one, or: simflow run scenarios/hello.yaml",
            )
            yield Panel(id="about")

    def update(self) -> None:
        """Rows and the panel below."""
        runs = self.shown()
        several = len({r.project for r in self.desk.snapshot.runs}) > 1
        self.query_one("#runs", Rows).show([row(run, several=several) for run in runs])
        self.detail()

    def shown(self) -> list[RunView]:
        """The runs that pass the filter, in order."""
        words = self.words()
        runs = [
            run
            for run in self.desk.snapshot.runs
            if matches(
                words, {"state": run.state, "scenario": run.record.scenario, "cell": run.cell}, f"{run.id} {run.state} {run.health[0]}"
            )
        ]
        states = list(STATES)
        match SORTS[self.order]:
            case "state":
                runs.sort(key=lambda r: states.index(r.state))
            case "scenario":
                runs.sort(key=lambda r: r.record.scenario)
            case "progress":
                runs.sort(key=lambda r: -r.fraction)
            case "cost":
                runs.sort(key=lambda r: (-r.progress.cost, -r.progress.tokens))
            case "name":
                runs.sort(key=lambda r: r.id)
            case _:
                pass
        return runs

    def path(self) -> tuple[list[str], list[Span]]:
        """The project, and how the list is ordered."""
        homes = self.desk.homes
        name = (homes[0].parent if homes[0].name == ".simflow" else homes[0]).name if len(homes) == 1 else f"{len(homes)} projects"
        shown, every = len(self.shown()), len(self.desk.snapshot.runs)
        count = f"{shown} of {every} runs" if shown != every else f"{every} run{'s' * (every != 1)}"
        return [name], [(count, "dim"), ("   order ", "faint"), (SORTS[self.order], "dim")]

    def command(self) -> str:
        """The list, or the run under the cursor."""
        return f"simflow runs {self.desk.selected.id}" if self.desk.selected else "simflow runs"

    def action_sort(self) -> None:
        """The next order."""
        self.order = (self.order + 1) % len(SORTS)
        self.news()

    def deeds(self) -> Iterator[Deed]:
        """Orders by name."""
        for i, name in enumerate(SORTS):
            yield Deed(f"order: {name}", f"order runs by {name}", f"screen.order({i})")

    def action_order(self, index: int) -> None:
        """One order by its number."""
        self.order = index
        self.news()

    @on(Rows.Highlighted, "#runs")
    def _highlighted(self, event: Rows.Highlighted) -> None:
        if row := event.rows.current:
            self.desk.choose(row.key)
        self.detail()

    @on(Rows.Opened, "#runs")
    def _opened(self, event: Rows.Opened) -> None:
        if event.row:
            self.desk.choose(event.row.key)
            self.desk.action_go("watch")

    def detail(self) -> None:
        """The run under the cursor."""
        panel, run = self.query_one("#about", Panel), self.desk.selected
        if run is None:
            panel.border_title = ""
            panel.show(lambda w, h: [[(clip("simflow watches what simflow runs: nothing has run here yet.", w), "dim")]][:h])
            return
        panel.border_title = plain(f"{run.record.scenario} › {run.cell}")
        said = self.desk.said.get(run.key, [])
        panel.show(lambda w, h: summary(run, said, w, h), (run, tuple(said), panel.size))


@dataclass(frozen=True, slots=True)
class Done:
    """How far a run is, as a bar of the column's width."""

    fraction: float
    tone: str
    quiet: str

    def __call__(self, width: int) -> list[Span]:
        """Bar and percentage."""
        full, rest = bar(self.fraction, max(3, width - 5))
        return [(full, self.tone), (rest, "faint"), (f" {percent(self.fraction)}", self.quiet)]


def row(run: RunView, *, several: bool) -> Row:
    """One run as a row."""
    p = run.progress
    sign, tone = STATES[run.state]
    quiet = "" if run.live else "dim"
    word, how = run.health
    name = plain(f"{run.project.parent.name}: {run.record.scenario}" if several else run.record.scenario)

    return Row(
        run.key,
        (
            (sign, tone),
            (name, "" if run.live or run.state in {"failed", "silent"} else "dim"),
            (plain(run.cell), "dim"),
            (f"{p.window}/{p.windows}" if p.windows else "–", quiet),
            Done(run.fraction, tone if run.state != "done" else "faint", quiet),
            (rate(p.rate) if p.rate else "–", quiet),
            (duration(p.eta if run.live else None), quiet),
            (short(p.episodes), quiet),
            (short(p.tokens) if p.tokens else "–", quiet),
            (money(p.cost), quiet if p.cost else "faint"),
            (word, how),
            (ago(run.age) if p.heartbeat else "–", "dim"),
        ),
    )


def summary(run: RunView, said: list[tuple[int, str, str]], width: int, height: int) -> list[list[Span]]:
    """A run in a few lines, and what was said last."""
    p = run.progress
    facts: list[Span] = []
    for value, name in (
        (f"{number(p.tick)} of {number(p.ticks)}", "ticks"),
        (number(p.episodes), "episodes"),
        (number(p.edges), "beliefs"),
        (f"{p.reused}", "window reused" if p.reused == 1 else "windows reused"),
        (duration(run.elapsed), "elapsed"),
        (str(run.about.get("file") or ""), ""),
    ):
        if value:
            facts += [(plain(value), "" if name else "dim"), (f" {name}   ", "dim")]
    about = plain(run.about.get("about") or "")
    found: list[list[Span]] = [facts]
    if p.reason:
        found.append([(clip(plain(p.reason), width), "bad" if run.state == "failed" else "accent")])
    if about:
        found.append([(clip(about, width), "dim")])
    found.append([])
    if not said:
        found.append([("nothing has been said in a committed window yet", "faint")])
    for tick, _, sentence in said:
        found.append(said_line(tick, sentence, width))
    return found[:height]


def said_line(tick: int, sentence: str, width: int) -> list[Span]:
    """A remembered sentence: when, who, what."""
    who, space, rest = plain(sentence).partition(" ")
    room = max(0, width - 8 - len(who))
    return [(f"{tick:>6}  ", "faint"), (clip(who, max(0, width - 8)), "name"), (clip(space + rest, room), "")]
