"""Two runs side by side: what differs in what they are, how far they are, what happened, where stances went."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from simflow_tui.comparing import Comparison
from simflow_tui.figures import duration, money, number, percent, plain, rate, short, stance
from simflow_tui.pages.page import Deed, Page, matches
from simflow_tui.tones import Span, mark, series
from simflow_tui.watch import STATES
from simflow_tui.widgets.panel import Panel
from simflow_tui.widgets.plot import Line, plot
from simflow_tui.widgets.rows import Column, Row, Rows


class ComparePage(Page):
    """The selected run against another."""

    MODE = "compare"
    FILTER = "part of the other run's name"
    AUTO_FOCUS = "#others"
    HELP = """\
# Compare

The selected run is **A**; choose **B** on the left. Shared windows are computed once and are the same bytes: what differs, differs
after them. `Δ` is B minus A. `x` makes B the selected run.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "topic", "topic", key_display="]"),
        Binding("x", "swap", "swap A and B"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._topic = 0

    def body(self) -> Iterator[Widget]:
        """Other runs, facts, stances."""
        with Horizontal(id="body"):
            yield Rows(Column("", 1), Column("B", 14, grow=1), id="others", opens="", empty="there is no other run")
            with Vertical(id="both"):
                yield Rows(
                    Column("", 18, grow=4),
                    Column("A", 9, right=True, grow=2),
                    Column("B", 9, right=True, grow=2),
                    Column("Δ", 7, right=True),
                    id="facts_of_both",
                    cursor_sign=False,
                    opens="",
                    empty="choose a run on the left",
                )
                yield Panel("stance", id="both_stances")

    def update(self) -> None:
        """The list, and the comparison when it is there."""
        run = self.desk.selected
        words = self.words()
        others = [r for r in self.desk.snapshot.runs if run is not None and r.key != run.key and matches(words, {"state": r.state}, r.id)]
        if run is not None:
            others.sort(key=lambda r: r.record.scenario != run.record.scenario)
        rows = self.query_one("#others", Rows)
        rows.show(
            [
                Row(r.key, ((STATES[r.state][0], STATES[r.state][1]), ((plain(r.cell), ""), (f"  {plain(r.record.scenario)}", "faint"))))
                for r in others
            ]
        )
        if self.desk.choice.other not in {r.key for r in others}:
            self.desk.choice.other = rows.current.key if rows.current else None
        self.desk.compare()
        made = self.desk.comparison
        facts, panel = self.query_one("#facts_of_both", Rows), self.query_one("#both_stances", Panel)
        if made is None or run is None or (made.left.run.key, made.right.run.key) != (run.key, self.desk.choice.other):
            facts.empty = "reading…" if self.desk.choice.other else "there is no other run"
            facts.show([])
            panel.show(lambda _w, _h: [])
            return
        facts.show(fact_rows(made))
        topics = sorted(set(made.left.lines) | set(made.right.lines))
        if not topics:
            panel.show(lambda _w, _h: [[("no beliefs yet", "dim")]])
            return
        topic = topics[self._topic % len(topics)]
        panel.border_title = f"mean stance: {plain(topic)}"
        panel.border_subtitle = f"{self._topic % len(topics) + 1} of {len(topics)} topics"
        lines = [
            Line(f"A {plain(made.left.run.cell)}", made.left.lines.get(topic, ())),
            Line(f"B {plain(made.right.run.cell)}", made.right.lines.get(topic, ())),
        ]
        end = max(made.left.run.progress.ticks, made.right.run.progress.ticks)
        panel.show(lambda w, h: plot(lines, w, h, end=end), (made, topic, self.size))

    def path(self) -> tuple[list[str], list[Span]]:
        """A and B."""
        run = self.desk.selected
        other = next((r for r in self.desk.snapshot.runs if r.key == self.desk.choice.other), None)
        return ["compare", f"A {run.cell}" if run else "…", f"B {other.cell}" if other else "…"], []

    def command(self) -> str:
        """The same on the command line."""
        run = self.desk.selected
        other = next((r for r in self.desk.snapshot.runs if r.key == self.desk.choice.other), None)
        return f"simflow diff {run.id if run else 'A'} {other.id if other else 'B'}"

    def action_topic(self) -> None:
        """The next topic."""
        self._topic += 1
        self.update()

    def action_swap(self) -> None:
        """Make B the selected run."""
        if self.desk.choice.other:
            before = self.desk.choice.run
            self.desk.choose(self.desk.choice.other)
            self.desk.choice.other = before
            self.news()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Swapping and topics need a comparison."""
        if action in {"swap", "topic"}:
            return self.desk.comparison is not None
        return super().check_action(action, parameters)

    def deeds(self) -> Iterator[Deed]:
        """Swap."""
        yield Deed("compare: swap", "make B the selected run (key x)", "screen.swap")

    @on(Rows.Highlighted, "#others")
    def _highlighted(self, event: Rows.Highlighted) -> None:
        row = event.rows.current
        if row and event.rows.has_focus and row.key != self.desk.choice.other:
            self.desk.choice.other = row.key
            self.news()


def fact_rows(made: Comparison) -> list[Row]:
    """Everything that is compared, as rows: what differs in the scenario first."""
    a, b = made.left, made.right
    rows: list[Row] = []

    def head(text: str) -> None:
        rows.append(Row(f"h{text}", ((text, "title"), "", "", "")))

    def fact(name: str, left: str, right: str, delta: str = "", tone: str = "dim") -> None:
        same = left == right
        rows.append(
            Row(f"f{len(rows)}", ((name, "dim"), (left, "dim" if same else ""), (right, "dim" if same else "accent"), (delta, tone)))
        )

    if made.trouble:
        rows.append(Row("trouble", ((plain(made.trouble), "warn"), "", "", "")))
    head("scenario")
    for key, before, after in made.changes[:40]:
        fact(plain(key), plain(before), plain(after))
    if not made.changes:
        fact("no key differs", "", "")
    head("run")
    pa, pb = a.run.progress, b.run.progress
    fact("state", a.run.state, b.run.state)
    fact("done", percent(a.run.fraction).strip(), percent(b.run.fraction).strip())
    fact("shared windows", str(made.shared), str(made.shared))
    fact("ticks/s", rate(pa.rate), rate(pb.rate))
    fact("elapsed", duration(a.run.elapsed), duration(b.run.elapsed))
    fact("tokens", short(pa.tokens), short(pb.tokens))
    fact("cost", money(pa.cost), money(pb.cost))
    head("episodes")
    for kind in sorted(set(a.kinds) | set(b.kinds)):
        x, y = a.kinds.get(kind, 0), b.kinds.get(kind, 0)
        fact(plain(kind), number(x), number(y), f"{y - x:+d}" if x != y else "")
    head("mean stance at the end")
    for index, (topic, persona) in enumerate(sorted(set(a.stances) | set(b.stances))):
        left, right = a.stances.get((topic, persona)), b.stances.get((topic, persona))
        delta = right - left if left is not None and right is not None else None
        tone = "dim" if delta is None or abs(delta) < 0.01 else "good" if delta > 0 else "bad"
        name = ((f"{mark(index)} ", series(index)), (plain(topic), ""), (f"  {plain(persona)}", "dim"))
        cells = tuple((stance(v) if v is not None else "–", "") for v in (left, right))
        rows.append(Row(f"s{topic}{persona}", (name, *cells, (stance(delta) if delta is not None else "", tone))))
    return rows
