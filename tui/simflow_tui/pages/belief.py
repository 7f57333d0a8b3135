"""The belief explorer: from what memory believes of an agent, to edges in force and superseded, to statements, to raw events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget

from simflow_tui.asking import Beliefs, Question
from simflow_tui.figures import plain, stance
from simflow_tui.pages.page import Deed, Page
from simflow_tui.tones import Span
from simflow_tui.widgets.panel import Panel
from simflow_tui.widgets.rows import Column, Row, Rows
from simflow_tui.widgets.slider import Slider
from simflow_tui.wrap import wrapped

if TYPE_CHECKING:
    from simflow.memory.explain import Explanation, Held, Source

SIGNS = {"in force": ("●", "good"), "superseded": ("○", "dim"), "later": ("◌", "faint"), "retracted": ("✗", "bad")}


class BeliefPage(Page):
    """Why memory believes what it believes."""

    MODE = "belief"
    FILTER = "words of a belief"
    AUTO_FOCUS = "#tree"
    HELP = """\
# Belief

| sign | an edge that is |
|---|---|
| ● | in force at the tick on the line above |
| ○ | superseded: kept, with what replaced it and when |
| ◌ | later than that tick |
| ✗ | retracted |

Enter opens and closes. Below an edge stand the statements that it rests on, with how they were read and what they weigh by now,
and the raw event of each. `,` and `.` go to the change before and after; `left` and `right` on the line move the tick.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("comma", "jump(-1)", "change before", key_display=","),
        Binding("full_stop", "jump(1)", "after", key_display="."),
        Binding("d", "all", "open all"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._open: set[str] = {"b0", "b0/e0"}
        self._tick: int | None = None
        self._asked: Question | None = None
        self._facts: dict[str, list[list[Span]]] = {}

    def body(self) -> Iterator[Widget]:
        """The line of time, the tree, the whole of what is under the cursor."""
        with Vertical(id="body"):
            yield Slider(id="as_of")
            yield Rows(
                Column("", 24, grow=1),
                Column("value", 5, right=True),
                Column("weight", 6, right=True, rank=1),
                Column("from", 6, right=True, rank=2),
                Column("to", 6, right=True, rank=3),
                id="tree",
                opens="open/close",
                empty="no belief about this agent yet",
            )
            yield Panel(id="raw")

    def update(self) -> None:
        """Ask if something else is selected, show what is known."""
        run, agent = self.desk.selected, self.desk.choice.agent
        tree = self.query_one("#tree", Rows)
        if run is None or self.desk.society is None or agent is None or not self.desk.snapshot.windows.total:
            tree.empty = (
                "no agent is selected: press a"
                if run is not None and self.desk.snapshot.windows.total
                else "nothing has been committed yet"
            )
            tree.show([])
            return
        asked = Question(run.key, self.desk.snapshot.windows.total, agent, self._tick)
        if asked != self._asked:
            if self._asked is not None and (self._asked.run, self._asked.agent) != (asked.run, asked.agent):
                self._tick = None
                asked = Question(asked.run, asked.windows, asked.agent, None)
            if self._asked is None or replace(self._asked, windows=asked.windows) != asked or self.desk.ask_again():
                self._asked = asked
                self.desk.ask("beliefs", asked)
        self.show(self.desk.beliefs)

    def show(self, beliefs: Beliefs | None) -> None:
        """Draw the tree."""
        tree = self.query_one("#tree", Rows)
        if beliefs is None or self._asked is None or (beliefs.question.run, beliefs.question.agent) != (self._asked.run, self._asked.agent):
            tree.empty = "reading…"
            tree.show([])
            return
        if beliefs.trouble:
            tree.empty = plain(beliefs.trouble)
            tree.show([])
            return
        self.query_one("#as_of", Slider).show(beliefs.end if self._tick is None else self._tick, beliefs.end, beliefs.changes)
        words = self.words().lower().split()
        self._facts = {}
        found: list[Row] = []
        tree.empty = "no belief about this agent yet" if not words else "nothing passes the filter"
        for number, explanation in enumerate(beliefs.found):
            if all(w in explanation.belief.lower() for w in words):
                found += self._belief(f"b{number}", explanation)
        tree.show(found)
        self.raw()

    def _belief(self, key: str, e: Explanation) -> Iterator[Row]:
        opened = key in self._open
        now = e.in_force
        tone = "dim" if now is None else ""
        about = f" about {e.about}" if e.about else ""
        says = f"{now.says} {e.on}{about}" if now else f"nothing in force on {e.on}{about}"
        spans: tuple[Span, ...] = ((("▾ " if opened else "▸ "), "accent"), (plain(e.kind) + "  ", "dim"), (plain(says), tone or "head"))
        self._facts[key] = [
            [(plain(e.belief), "")],
            [(f"{len(e.edges)} edges, {len(e.outvoted)} outvoted statements, {e.waiting} episodes wait for extraction", "dim")],
        ]
        yield Row(key, (spans, *_numbers(now)))
        if opened:
            for number, held in enumerate(e.edges):
                yield from self._edge(f"{key}/e{number}", held)
            for number, source in enumerate(e.outvoted):
                yield from self._source(f"{key}/o{number}", source, "outvoted  ")

    def _edge(self, key: str, held: Held) -> Iterator[Row]:
        opened = key in self._open
        sign, tone = SIGNS.get(held.status, ("?", "warn"))
        by = f" by {held.superseded_by}" if held.superseded_by else ""
        spans: tuple[Span, ...] = (
            ("  ▾ " if opened else "  ▸ ", "accent"),
            (f"{sign} {held.status}{by}  ", tone),
            (plain(held.says), "gone" if held.status in {"superseded", "retracted"} else ""),
            (f"  {held.count} statement{'s' * (held.count != 1)}", "dim"),
        )
        facts = f"edge {held.edge} version {held.version}, learnt at tick {held.learnt}, last seen at tick {held.last_seen}, {held.count} statements"
        self._facts[key] = [[(plain(facts), "")]]
        yield Row(key, (spans, *_numbers(held)))
        if opened:
            for number, source in enumerate(held.evidence):
                yield from self._source(f"{key}/s{number}", source, "")

    def _source(self, key: str, source: Source, note: str) -> Iterator[Row]:
        episode = source.episode
        sentence = plain(episode.get("sentence") or "the episode is not in this run")
        raw = {
            k: episode.get(k)
            for k in ("episode", "kind", "event", "source", "ts", "parent", "root", "target", "lang")
            if episode.get(k) is not None
        }
        self._facts[key] = [
            [(sentence, "")],
            [
                (f"read as {stance(source.value)} with confidence {source.confidence:.2f} by {plain(source.extractor)}", "dim"),
                (f", on the words “{plain(source.quote)}”" if source.quote else "", "dim"),
            ],
            [(f"in answer to: {plain(source.parent.get('sentence'))}", "dim")] if source.parent else [],
            [("raw: " + plain(", ".join(f"{k} {v}" for k, v in raw.items())), "dim")],
        ]
        spans: tuple[Span, ...] = ((f"      {note}", "dim"), (sentence, ""))
        yield Row(
            key,
            (
                spans,
                (stance(source.value), _tone(source.value)),
                (f"{source.weight:.2f}", "dim"),
                (str(episode.get("tick", "")), "faint"),
                "",
            ),
        )

    def raw(self) -> None:
        """The whole of what is under the cursor."""
        panel, current = self.query_one("#raw", Panel), self.query_one("#tree", Rows).current
        facts = self._facts.get(current.key, []) if current else []

        def draw(width: int, height: int) -> list[list[Span]]:
            lines: list[list[Span]] = []
            for row in facts:
                text, tone = "".join(t for t, _ in row), row[0][1] if row else ""
                lines += [[(line, tone)] for line in wrapped(text, width)] if text else []
            return lines[:height]

        panel.border_title = "" if not current else {0: "belief", 1: "edge"}.get(current.key.count("/"), "statement and raw event")
        panel.show(draw, (current.key if current else "", str(facts), self.size))

    def path(self) -> tuple[list[str], list[Span]]:
        """The run and whose beliefs."""
        parts, right = super().path()
        society, chosen = self.desk.society, self.desk.choice.agent
        return [*parts, society.who(chosen) if society and chosen is not None else "…", "beliefs"], right

    def command(self) -> str:
        """The same on the command line."""
        run, society, chosen = self.desk.selected, self.desk.society, self.desk.choice.agent
        if run is None or society is None or chosen is None:
            return "simflow explain latest AGENT"
        from shlex import quote  # noqa: PLC0415 - used here alone

        words = ["simflow explain", quote(run.id), quote(society.who(chosen))]
        current = self.query_one("#tree", Rows).current
        beliefs = self.desk.beliefs
        if current and beliefs and beliefs.found:
            e = beliefs.found[min(int(current.key.split("/")[0][1:]), len(beliefs.found) - 1)]
            words += ["--kind", quote(e.kind)]
            words += ["--towards", quote(e.on)] if e.on.startswith("@") else ["--topic", quote(e.on)]
            words += ["--topic", quote(e.about)] if e.about else []
        words += ["--tick", str(self._tick)] if self._tick is not None else []
        return " ".join(words)

    @on(Rows.Highlighted, "#tree")
    def _highlighted(self) -> None:
        self.raw()

    @on(Rows.Opened, "#tree")
    def _opened(self, event: Rows.Opened) -> None:
        if event.row and event.row.key.count("/") <= 1:
            self._open ^= {event.row.key}
            self.show(self.desk.beliefs)

    def on_slider_moved(self, event: Slider.Moved) -> None:
        """Another tick."""
        self._tick = event.value
        self.news()

    def action_jump(self, side: int) -> None:
        """To the change before or after."""
        self.query_one("#as_of", Slider).jump(side)

    def action_all(self) -> None:
        """Open everything, or close it."""
        beliefs = self.desk.beliefs
        every = {f"b{i}" for i in range(len(beliefs.found))} if beliefs else set()
        every |= {f"b{i}/e{j}" for i, e in enumerate(beliefs.found) for j in range(len(e.edges))} if beliefs else set()
        self._open = set() if every <= self._open else every
        self.show(beliefs)

    def deeds(self) -> Iterator[Deed]:
        """Movements in time."""
        yield Deed("belief: change before", "the tick before at which a belief changed (key ,)", "screen.jump(-1)")
        yield Deed("belief: change after", "the tick after at which a belief changed (key .)", "screen.jump(1)")
        yield Deed("belief: open all", "or close all (key d)", "screen.all")


def _numbers(held: Held | None) -> tuple[Span, Span, Span, Span]:
    if held is None:
        return ("", ""), ("", ""), ("", ""), ("", "")
    until = "" if held.valid_to is None else str(held.valid_to)
    return (stance(held.value), _tone(held.value)), (f"{held.weight:.2f}", "dim"), (str(held.valid_from), "faint"), (until, "faint")


def _tone(value: float) -> str:
    return "good" if value > 0.15 else "bad" if value < -0.15 else "dim"
