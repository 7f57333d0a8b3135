"""A scenario file: everything that is wrong with it, or what a run of it would compute; read again whenever it is saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget

from simflow_tui.figures import plain
from simflow_tui.pages.page import Deed, Page, matches
from simflow_tui.scenarios import Verdict, scenario_files, stamp
from simflow_tui.tones import Span
from simflow_tui.widgets.rows import Column, Row, Rows
from simflow_tui.wrap import wrapped


class PlanPage(Page):
    """Scenario files and what they come to."""

    MODE = "plan"
    FILTER = "part of a file's name"
    AUTO_FOCUS = "#files"
    HELP = """\
# Plan

Choose a scenario on the left. On the right stand all its problems, each with its line and what to do, or what `simflow plan` says of
it. Save the file in your editor and the right side follows. `n` starts a run of it.
"""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("n", "app.start", "run it")]

    def __init__(self) -> None:
        super().__init__()
        self._files: list[Path] = []
        self._round = 0
        self._followed: Path | None = None

    def body(self) -> Iterator[Widget]:
        """Files on the left, words on the right."""
        with Horizontal(id="body"):
            yield Rows(Column("", 1), Column("scenario", 14, grow=1), id="files", opens="", empty="no scenarios/*.yaml here")
            yield Rows(Column("", 40, grow=1), id="words", header=False, cursor_sign=False, opens="", empty="reading…")

    def update(self) -> None:
        """The list, and the file under the cursor if it was saved since."""
        if not self._files or self._round % 8 == 0:
            self._files = scenario_files(self.desk.homes)
        self._round += 1
        words = self.words()
        shown = [f for f in self._files if matches(words, {}, str(f))]
        files = self.query_one("#files", Rows)
        several = len({f.parent.parent for f in shown}) > 1
        files.show([self._row(f, several=several) for f in shown])
        chosen = self.desk.choice.scenario
        if chosen is None and files.current:
            self.desk.choice.scenario = chosen = self._followed = Path(files.current.key)
        elif chosen is not None and chosen != self._followed and files.select(str(chosen)):  # chosen elsewhere
            self._followed = chosen
        if chosen is not None:
            known = self.desk.verdicts.get(chosen)
            if known is None or known.stamp != stamp(chosen):
                self.desk.examine(chosen)
            self.words_of(known)

    def _row(self, path: Path, *, several: bool) -> Row:
        known = self.desk.verdicts.get(path)
        sign, tone = ("·", "faint") if known is None else ("✓", "good") if known.ok else ("✗", "bad")
        name = path.name if path.parent.name == "scenarios" else f"{path.parent.name}/{path.name}"
        return Row(str(path), ((sign, tone), plain(f"{path.parent.parent.name}: {name}" if several else name)))

    def words_of(self, verdict: Verdict | None) -> None:
        """What is known of a file."""
        words = self.query_one("#words", Rows)
        if verdict is None:
            words.show([])
            return
        lines: list[list[Span]] = [
            [
                (
                    plain(verdict.summary or verdict.trouble),
                    "good" if verdict.ok and not verdict.problems else "warn" if verdict.ok else "bad",
                )
            ],
            [],
        ]
        for severity, _, told in verdict.problems:
            lines += problem_lines(severity, told)
        if verdict.ok:
            lines += [plan_line(line) for line in verdict.plan] if verdict.plan is not None else [[("planning…", "dim")]]
        room = max(20, words.size.width - 2)
        words.show([Row(str(i), (tuple(line) or "",)) for i, line in enumerate(folded(lines, room))])

    def path(self) -> tuple[list[str], list[Span]]:
        """The file and its verdict."""
        chosen = self.desk.choice.scenario
        known = self.desk.verdicts.get(chosen) if chosen else None
        right: list[Span] = [] if known is None else [("usable" if known.ok else "not usable", "good" if known.ok else "bad")]
        return ["plan", str(chosen.parent.name), chosen.name] if chosen else ["plan"], right

    def command(self) -> str:
        """Plan it on the command line."""
        from shlex import quote  # noqa: PLC0415 - used here alone

        chosen = self.desk.choice.scenario
        return f"simflow plan {quote(str(chosen))}" if chosen else "simflow plan SCENARIO"

    def deeds(self) -> Iterator[Deed]:
        """Run it."""
        if self.desk.choice.scenario:
            yield Deed("plan: run this scenario", "start a run of the file under the cursor (key n)", "app.start")

    @on(Rows.Highlighted, "#files")
    def _highlighted(self, event: Rows.Highlighted) -> None:
        row = event.rows.current
        if row and event.rows.has_focus and Path(row.key) != self.desk.choice.scenario:
            self.desk.choice.scenario = self._followed = Path(row.key)
            self.news()


def folded(lines: Iterable[list[Span]], width: int) -> Iterator[list[Span]]:
    """Lines that are too long, cut at words, what is cut off standing under its text."""
    for line in lines:
        *head, (text, tone) = line or [("", "")]
        if head and head[-1][0].endswith("|"):  # source and caret keep their places
            yield line
            continue
        indent = sum(cell_len(t) for t, _ in head)
        first, *rest = wrapped(text, max(10, width - indent))
        yield [*head, (first, tone)]
        yield from ([(" " * indent, ""), (part, tone)] for part in rest)


def problem_lines(severity: str, told: tuple[str, ...]) -> list[list[Span]]:
    """A problem as its report has it, the parts told apart."""
    tone = "bad" if severity == "error" else "warn"
    lines: list[list[Span]] = []
    for i, line in enumerate(told):
        text = plain(line)
        head, bar, rest = text.partition("|")
        if i == 0:
            lines.append([(text, tone)])
        elif "-->" in head:
            lines.append([(text, "name")])
        elif bar and (not head.strip() or head.strip().isdigit()):
            lines.append([(head + bar, "faint"), (rest, tone if rest.strip() and set(rest.strip()) == {"^"} else "")])
        elif "= hint:" in text:
            lines.append([(text, "good")])
        else:
            lines.append([(text, "dim")])
    return [*lines, []]


def plan_line(line: str) -> list[Span]:
    """A line of the plan, its name set apart from what it says."""
    text = plain(line)
    if text.startswith("  ") and not text.startswith("   ") and len(text) > 13:
        return [(text[:13], "dim"), (text[13:], "")]
    return [(text, "head" if text and not text.startswith(" ") else "")]
