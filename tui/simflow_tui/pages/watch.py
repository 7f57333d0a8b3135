"""One run while it works: progress, windows by stage, stances, throughput, limits, extraction queue, log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from simflow.runs import CheckRecord
from simflow_tui.committed import Committed
from simflow_tui.figures import bar, clip, duration, fit, money, number, percent, plain, rate, short, spark
from simflow_tui.pages.page import Deed, Page, matches
from simflow_tui.society import Stances
from simflow_tui.tones import Span
from simflow_tui.watch import RunView
from simflow_tui.widgets.panel import Panel
from simflow_tui.widgets.plot import Line, plot
from simflow_tui.widgets.rows import Column, Row, Rows

TOPIC = Binding.Group("topic ", compact=True)
STAGES = ("world", "vectors", "edges", "personas", "snapshot")
LEVELS = ("debug", "info", "warning", "error")
LEVEL_TONES = {"debug": "faint", "info": "dim", "warning": "warn", "error": "bad"}


class WatchPage(Page):
    """The run that is selected."""

    MODE = "watch"
    FILTER = "words, level:error, stage:vectors"
    HELP = """\
# Watch

**Windows** shows the seconds of each stage of each window as height; `·` is to come, `▒` is at work, `∘` was reused from an earlier run.
**Stance** shows the mean opinion by kind of resident, as the memory sees it (beliefs in force at the end of each window), never the
world's hidden truth; `[` and `]` change the topic; broken lines are the scenario's events.
**Log**: `l` changes the least level that is shown.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "topic(-1)", "topic", key_display="[", group=TOPIC),
        Binding("right_square_bracket", "topic(1)", "topic", key_display="]", group=TOPIC),
        Binding("l", "level", "log level"),
        Binding("x", "app.stop", "stop"),
        Binding("u", "app.resume", "resume"),
    ]

    level = 1
    _logged: object = None

    def body(self) -> Iterator[Widget]:
        """Progress on top, the log below, the rest between."""
        with Vertical(id="body"):
            yield Panel("progress", id="progress")
            with Horizontal(id="middle"):
                yield Panel("windows", id="windows")
                yield Panel("stance", id="stance")
            with Horizontal(id="facts"):
                yield Panel("throughput", id="throughput")
                yield Panel("limits", id="limits")
                yield Panel("extraction queue", id="queue")
                yield Panel("checks", id="checks")
            yield Rows(
                Column("time", 8),
                Column("level", 7),
                Column("stage", 8, rank=1),
                Column("log", 20, grow=1),
                id="log",
                follow=True,
                cursor_sign=False,
                opens="",
                empty="the log is empty",
            )

    def update(self) -> None:
        """Every panel."""
        run, told = self.desk.selected, self.desk.snapshot
        windows = told.windows if run is not None and told.key == run.key else Committed()
        if run is None:
            for panel in self.query(Panel):
                panel.show(lambda w, h: [[(clip("no run is selected", w), "dim")]][:h])
            return
        self.query_one("#progress", Panel).show(lambda w, h: progress_lines(run, w)[:h], (run, self.size))
        at = (run.progress.stage, run.state, run.progress.windows, windows.stamp, self.size)
        self.query_one("#windows", Panel).show(lambda w, h: grid(run, windows, w, h), at)
        self._stance(run)
        self.query_one("#throughput", Panel).show(lambda w, h: throughput(windows, w, h), (windows.stamp, self.size))
        self.query_one("#limits", Panel).show(lambda w, h: limits(run, w, h), (run, self.size))
        queue = list(told.queue)
        self.query_one("#queue", Panel).show(
            lambda w, h: waiting(run.progress.queue, queue, w)[:h], (run.progress.queue, tuple(queue), self.size)
        )
        self.query_one("#checks", Panel).show(
            lambda w, h: checks(run, told.checks, w)[:h], (run.key, told.checks, id(run.about), self.size)
        )
        log, seen = self.query_one("#log", Rows), (run.key, told.logged, self.words(), self.level)
        if seen != self._logged:
            self._logged = seen
            log.show(list(log_rows(told.log, told.logged, self.words(), self.level)))
            log.empty = f"nothing of level {LEVELS[self.level]} or above" if told.log else "the log is empty"

    def _stance(self, run: RunView) -> None:
        panel, society = self.query_one("#stance", Panel), self.desk.society
        topics = scenario_topics(run.about) or (society.stances.topics() if society else [])
        if not society or not topics:
            panel.border_title = "stance"
            trouble = society.trouble if society else ""
            panel.show(lambda w, h: [[(clip(plain(trouble or "no belief has been distilled yet"), w), "dim")]][:h])
            return
        topic = self.desk.choice.topic if self.desk.choice.topic in topics else topics[0]
        panel.border_title = f"stance: {plain(topic)}"
        panel.border_subtitle = f"{topics.index(topic) + 1} of {len(topics)} topics"
        lines, events, scale = stance_lines(society.stances, topic), scenario_events(run.about), topic_scale(run.about, topic)
        end = run.progress.ticks or (society.stances.ticks[-1] if society.stances.ticks else 1)
        panel.show(
            lambda w, h: plot(lines, w, h, end=end, events=events, scale=scale), (topic, id(society), society.version, self.size, end)
        )

    def action_topic(self, step: int) -> None:
        """The next or the previous topic."""
        run, society = self.desk.selected, self.desk.society
        topics = (scenario_topics(run.about) if run else []) or (society.stances.topics() if society else [])
        if topics:
            at = topics.index(self.desk.choice.topic) if self.desk.choice.topic in topics else 0
            self.desk.choice.topic = topics[(at + step) % len(topics)]
            self.update()

    def action_level(self) -> None:
        """The next least level of the log."""
        self.level = (self.level + 1) % len(LEVELS)
        self.update()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A topic can be changed where there are two."""
        if action == "topic":
            run = self.desk.selected
            return run is not None and len(scenario_topics(run.about)) > 1
        return super().check_action(action, parameters)

    def command(self) -> str:
        """The run's record."""
        return f"simflow runs {self.desk.selected.id}" if self.desk.selected else "simflow runs"

    def deeds(self) -> Iterator[Deed]:
        """Levels of the log and topics."""
        for i, name in enumerate(LEVELS):
            yield Deed(f"log: {name}", f"show {name} and above", f"screen.set_level({i})")
        yield Deed("stance: next topic", "plot the next topic (key ])", "screen.topic(1)")

    def action_set_level(self, level: int) -> None:
        """One least level of the log."""
        self.level = level
        self.update()


def progress_lines(run: RunView, width: int) -> list[list[Span]]:
    """How far, how fast, how long still."""
    p = run.progress
    tone = {"running": "good", "done": "name", "failed": "bad"}.get(run.state, "warn")
    full, rest = bar(run.fraction, max(4, width - 20))
    left = duration(p.eta) if run.live else "–"
    first: list[Span] = [(full, tone), (rest, "faint"), (f" {percent(run.fraction)}", "head"), ("  left ", "dim"), (fit(left, 7), "")]
    facts = [
        ("window", f"{min(p.window + run.live, p.windows)} of {p.windows}"),
        ("tick", f"{number(p.tick)} of {number(p.ticks)}"),
        ("ticks/s", rate(p.rate)),
        ("cost", money(p.cost)),
        ("elapsed", duration(run.elapsed)),
        ("now", plain(p.stage) if run.live and p.stage else run.state),
        ("episodes", number(p.episodes)),
        ("beliefs", number(p.edges)),
    ]
    second: list[Span] = []
    used = 0
    for name, value in facts:
        size = len(name) + len(value) + 4
        if used + size > width + 3:
            break
        second += [(f"{name} ", "dim"), (f"{value}   ", "")]
        used += size
    if p.reason:
        return [first, [(clip(plain(p.reason), width), "bad" if run.state == "failed" else "accent")], second]
    return [first, second]


def grid(run: RunView, windows: Committed, width: int, height: int) -> list[list[Span]]:
    """Seconds by stage and window as block heights."""
    total, room = max(run.progress.windows, windows.total), max(4, width - 19)
    each = max(1, min(4, room // max(1, total)))
    room = room // each * each
    first = max(0, min(windows.total + 1, total) - room // each)
    shown = range(first, min(total, first + room // each))
    top = max((s for w in windows.recent for s in w.seconds.values()), default=0.0)
    stages = [*STAGES, *sorted(set(windows.seconds) - set(STAGES))]
    head = f"{f'from window {first + 1}' if first else ''}"
    found: list[list[Span]] = []
    for stage in stages:
        row: list[Span] = [(fit(plain(stage), 9), "accent" if stage == run.progress.stage and run.live else "dim")]
        for text, tone in (_cell(run, windows, stage, n, stages, top) for n in shown):
            row.append((text * each if text != "·" else text + " " * (each - 1), tone))
        spent = windows.seconds.get(stage, 0.0)
        row += [
            (" " * (room - len(shown) * each), ""),
            (fit(f"{spent:.1f}s" if spent < 1000 else f"{short(spent)}s", 9, right=True), "dim"),
        ]
        found.append(_merge(row))
    foot: list[Span] = [
        (fit(head or f"{windows.total} of {total} committed", width - 12), "dim"),
        (fit(f"{windows.reused} reused", 12, right=True), "dim"),
    ]
    return [*found[: max(1, height - 1)], foot]


def _cell(run: RunView, windows: Committed, stage: str, n: int, stages: Sequence[str], top: float) -> Span:
    if (window := windows.window(n)) is not None:
        seconds = window.seconds.get(stage)
        if window.reused and not seconds:
            return "∘", "name"
        if not seconds:
            return "▁", "faint"
        return "▁▂▃▄▅▆▇█"[min(7, int(seconds / top * 7.999))], "good" if not window.reused else "name"
    if n == windows.total and run.state in {"running", "stopping", "silent", "failed"} and run.progress.stage in stages:
        at = stages.index(run.progress.stage)
        tone = "accent" if run.live else "bad" if run.state == "failed" else "warn"
        return ("▒", tone) if stages.index(stage) == at else ("▁", "dim") if stages.index(stage) < at else ("·", "faint")
    return "·", "faint"


def _merge(row: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for text, tone in row:
        if merged and merged[-1][1] == tone:
            merged[-1] = (merged[-1][0] + text, tone)
        else:
            merged.append((text, tone))
    return merged


def throughput(windows: Committed, width: int, height: int) -> list[list[Span]]:
    """Ticks a second by window, and what the last window gave; `best` is of the windows of late."""
    worked = [(w.stop - w.start) / s for w in windows.recent if (s := sum(w.seconds.values())) > 0]
    if not worked:
        return [[(clip("no window has been computed yet", width), "dim")]]
    last = windows.recent[-1]
    rows: list[list[Span]] = [
        [(spark(worked, width), "name")],
        [("now ", "dim"), (fit(f"{rate(worked[-1])}/s", 8), ""), (" best ", "dim"), (f"{rate(max(worked))}/s", "")],
        [("last window ", "dim"), (f"{short(last.rows.get('episodes', 0))} episodes", "")],
    ]
    kinds = sorted(last.kinds.items(), key=lambda kv: -kv[1])
    rows += [[(clip("  ".join(f"{plain(k)} {short(v)}" for k, v in kinds), width), "dim")]]
    return rows[:height]


def limits(run: RunView, width: int, height: int) -> list[list[Span]]:
    """What is used, against the scenario's limits."""
    used = run.used()
    rows: list[list[Span]] = []
    shown = {"tokens": short(run.progress.tokens), "cost": money(run.progress.cost), "hours": duration(run.elapsed)}
    for name, value in shown.items():
        if name in used:
            share = used[name][0] / used[name][1]
            tone = "bad" if share >= 1 else "warn" if share >= 0.8 else "good"
            full, rest = bar(share, max(3, width - 22))
            top = {"tokens": short, "cost": money}.get(name, lambda v: f"{v:g} h")(used[name][1])
            rows.append(
                [(fit(name, 7), "dim"), (full, tone), (rest, "faint"), (fit(value, 7, right=True), ""), (fit(f" /{top}", 8), "dim")]
            )
        else:
            rows.append([(fit(name, 7), "dim"), (fit(value, 7, right=True), ""), ("  no limit", "faint")])
    return rows[:height]


def waiting(now: int, history: list[float], width: int) -> list[list[Span]]:
    """Episodes that wait for extraction."""
    return [
        [(spark(history, width), "accent")],
        [("waiting ", "dim"), (number(now), "")],
        [("highest ", "dim"), (number(max([*history, now])), "")],
    ]


def checks(run: RunView, found: Sequence[CheckRecord], width: int) -> list[list[Span]]:
    """What the checks found: those that failed first, with where and why; before that, what the scenario demands at its end."""
    if not found:
        demands = [
            f"{check.get('kind', '')} {args.get('topic', '') if isinstance(args := check.get('args'), Mapping) else ''}"
            for check in _list(run.about, "checks")
        ]
        rows: list[list[Span]] = [[("· ", "dim"), (clip(plain(words), max(0, width - 2)), "")] for words in demands]
        return rows or [[(clip("no check has judged a window yet", width), "dim")]]
    failed = [c for c in found if c.failed]
    held = len(found) - len(failed)
    rows = [
        [("✗ ", "bad" if c.blocking else "warn"), (clip(check_words(c), max(0, width - 2)), "bad" if c.blocking else "")] for c in failed
    ]
    own = [c for c in found if not c.failed and c.own]
    rows += [[("✓ ", "good"), (clip(plain(c.check.removeprefix("check_").replace("_", " ")), max(0, width - 2)), "")] for c in own]
    return [[(f"{held} hold", "good" if not failed else ""), (f"   {len(failed)} do not" if failed else "", "bad")], *rows]


def check_words(found: CheckRecord) -> str:
    """A check that failed: its name, in which windows, why."""
    where = f"window {found.failed[-1] + 1}" if len(found.failed) == 1 else f"{len(found.failed)} windows"
    return plain(f"{found.check.replace('_', ' ')}, {where}: {found.words}")


def log_rows(log: Sequence[Mapping[str, Any]], read: int, words: str, level: int) -> Iterator[Row]:
    """Lines of the log that pass; `read`: lines that have been read so far, the last of which these are."""
    for at, line in enumerate(log, read - len(log)):
        how = str(line.get("level", "info"))
        if how in LEVELS and LEVELS.index(how) < level:
            continue
        message, stage, when = plain(line.get("message", "")), plain(line.get("stage", "")), str(line.get("time", ""))
        if not matches(words, {"level": how, "stage": stage}, f"{message} {stage} {how}"):
            continue
        tone = LEVEL_TONES.get(how, "dim")
        clock = when[11:19] if len(when) >= 19 else when
        yield Row(str(at), ((plain(clock), "faint"), (plain(how), tone), (stage, "dim"), (message, tone if tone == "bad" else "")))


def scenario_topics(about: Mapping[str, Any]) -> list[str]:
    """Names of the topics in run.yaml."""
    return [str(t["name"]) for t in _list(about, "topics") if "name" in t]


def topic_scale(about: Mapping[str, Any], topic: str) -> list[str]:
    """The words for -1, 0, +1 of a topic."""
    found = next((t.get("scale") for t in _list(about, "topics") if t.get("name") == topic), None)
    return [plain(word) for word in found] if isinstance(found, list | tuple) else []


def scenario_events(about: Mapping[str, Any]) -> dict[int, str]:
    """Tick -> name of the scenario's events."""
    return {int(e["at"]): plain(e.get("name", "")) for e in _list(about, "events") if isinstance(e.get("at"), int)}


def _list(about: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    cell = about.get("cell")
    given = cell.get(name) if isinstance(cell, Mapping) else None
    return [item for item in given if isinstance(item, Mapping)] if isinstance(given, list | tuple) else []


def stance_lines(stances: Stances, topic: str) -> list[Line]:
    """One line for each kind of resident."""
    return [
        Line(plain(persona), tuple(zip(stances.ticks, means, strict=True)))
        for (about, persona), means in stances.means.items()
        if about == topic
    ]
