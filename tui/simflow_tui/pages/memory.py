"""The recall playground: an agent, a tick, a situation; the block that it would be given, its budgets, scores, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input

from simflow_tui.asking import MODES, SCOPES, Answer, Question
from simflow_tui.figures import bar, clip, fit, plain, plain_lines
from simflow_tui.pages.page import Deed, Page
from simflow_tui.tones import Span
from simflow_tui.widgets.panel import Panel
from simflow_tui.widgets.rows import Column, Row, Rows
from simflow_tui.wrap import wrapped

if TYPE_CHECKING:
    from simflow.memory.block import Block
    from simflow.memory.budget import Line

ARMS = {"persona": "persona", "relation": "relations", "episode": "episodes", "scan": "being said"}
TONE = {"persona": "s3", "relation": "s1", "episode": "s0", "scan": "s2"}


class Field(Input):
    """One field of the question."""

    HELP = """\
# The question

**Agent**: `@rosa14`, its index or the beginning of its id. **Tick**: when it is about to act; empty is the end of what is committed.
**Situation**: the post to answer, or any question. Enter asks; escape goes back to the answer.
"""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "to the answer"), Binding("enter", "submit", "recall")]

    DEFAULT_CSS = """
    Field, Field:focus { height: 1; border: none; padding: 0 1; background: $surface; }
    Field:focus { background: $panel; }
    """

    def action_leave(self) -> None:
        """To the list below."""
        self.screen.query_one("#lines", Rows).focus()


class MemoryPage(Page):
    """Asks an agent's memory."""

    MODE = "memory"
    AUTO_FOCUS = "#lines"
    HELP = """\
# Memory

What an agent would be given for a turn: its **persona** state, **relations** from the graph, **episodes** by similarity and recency,
and what is **being said** on the topics now. Each kind has a hard cap in tokens; what did not fit stands below, with the reason.

`i` writes a situation, `e` changes the mode (hybrid, graph, vectors), `z` the scope (witnessed, world).
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "write", "write situation"),
        Binding("e", "mode", "mode"),
        Binding("z", "scope", "scope"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.mode: str | None = None
        self.scope: str | None = None
        self._asked: Question | None = None
        self._filled: object = None

    def body(self) -> Iterator[Widget]:
        """Question, budgets, lines."""
        with Vertical(id="body"):
            with Horizontal(id="question"):
                yield Field(placeholder="@agent", id="who", compact=True)
                yield Field(placeholder="tick: the end", id="tick", compact=True, restrict=r"[0-9]*")
                yield Field(placeholder="situation: the post to answer, or a question", id="situation", compact=True)
            yield Panel("budget", id="budget")
            with Horizontal(id="answer"):
                yield Rows(
                    Column("from", 12),
                    Column("worth", 6, right=True, rank=1),
                    Column("tokens", 6, right=True, rank=2),
                    Column("tick", 6, right=True, rank=3),
                    Column("line", 24, grow=3),
                    id="lines",
                    opens="",
                    empty="press i, write a situation, press enter",
                )
                yield Panel("the block, as the agent reads it", id="block")

    def update(self) -> None:
        """Fields from what is selected, the answer from the last question."""
        choice, society = self.desk.choice, self.desk.society
        wanted = (choice.run, choice.agent, choice.tick, choice.situation)
        if society is not None and wanted != self._filled and not isinstance(self.focused, Field):
            self._filled = wanted
            self.query_one("#who", Field).value = plain(society.who(choice.agent)) if choice.agent is not None else ""
            self.query_one("#tick", Field).value = "" if choice.tick is None else str(choice.tick)
            if choice.situation:
                self.query_one("#situation", Field).value = choice.situation
                self.ask()
        self.answer(self.desk.answer)

    def answer(self, answer: Answer | None) -> None:
        """Show an answer."""
        lines, budget, block = self.query_one("#lines", Rows), self.query_one("#budget", Panel), self.query_one("#block", Panel)
        if answer is None or answer.question != self._asked:
            waits = self._asked is not None
            budget.show(lambda w, _h: [[(clip("recalling…" if waits else "no question has been asked yet", w), "dim")]])
            block.show(lambda _w, _h: [])
            lines.empty = "recalling…" if waits else "press i, write a situation, press enter"
            lines.show([])
            return
        made = answer.block
        if made is None:
            budget.show(lambda w, h: [[(line, "bad")] for line in wrapped(plain(answer.trouble), w)][:h])
            lines.empty = "no answer"
            lines.show([])
            return
        read = self._reading(made)
        budget.show(lambda w, h: budget_lines(made, read, w)[:h], (made.text, self.size))
        lines.show([*kept_rows(made), *dropped_rows(made)])
        block.show(lambda w, h: block_lines(made, w)[:h], (made.text, self.size))

    def _reading(self, block: Block) -> str:
        read = block.reading
        parts = [
            f"{key.replace('_', ' ')}: {', '.join(map(str, value)) if isinstance(value, list | tuple) else value}"
            for key, value in read.items()
            if value
        ]
        return plain("   ".join(parts))

    def path(self) -> tuple[list[str], list[Span]]:
        """The run, mode and scope."""
        parts, right = super().path()
        cell = self.desk.selected.about.get("cell") if self.desk.selected else None
        own = cell.get("memory", {}) if isinstance(cell, dict) else {}
        mode, scope = self.mode or own.get("mode", "hybrid"), self.scope or own.get("scope", "witnessed")
        return [*parts, "memory"], [
            ("mode ", "faint"),
            (plain(mode), "accent"),
            ("  scope ", "faint"),
            (plain(scope), "accent"),
            ("   ", ""),
            *right,
        ]

    def command(self) -> str:
        """The same question on the command line."""
        run, asked, society = self.desk.selected, self._asked, self.desk.society
        if run is None or asked is None or society is None:
            return "simflow recall latest AGENT --about '…'"
        from shlex import quote  # noqa: PLC0415 - used here alone

        words = ["simflow recall", quote(run.id), quote(society.who(asked.agent)), "--about", quote(asked.about)]
        words += ["--tick", str(asked.tick)] if asked.tick is not None else []
        words += ["--mode", asked.mode] if asked.mode else []
        words += ["--scope", asked.scope] if asked.scope else []
        return " ".join(words)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.query_one(self.ask() or "#lines").focus()

    def ask(self) -> str | None:
        """Put the question. The field that has to be filled in before, if one is missing."""
        run, society = self.desk.selected, self.desk.society
        situation = self.query_one("#situation", Field).value.strip()
        who = society.find(self.query_one("#who", Field).value) if society else None
        if run is None or society is None or not situation:
            return "#situation"
        if who is None:
            named = plain(self.query_one("#who", Field).value)
            self.notify(f"no agent '{named}', or several" if named else "name an agent: an id, a name", title="who?", severity="warning")
            return "#who"
        tick = self.query_one("#tick", Field).value
        self.desk.choose_agent(who.agent)
        self.desk.choice.situation = situation
        self.desk.choice.tick = int(tick) if tick.isdigit() else None
        self._filled = (self.desk.choice.run, who.agent, self.desk.choice.tick, situation)
        windows = self.desk.snapshot.windows.total
        self._asked = Question(run.key, windows, who.agent, self.desk.choice.tick, situation, self.mode, self.scope)
        if self.desk.answer is None or self.desk.answer.question != self._asked:
            self.desk.ask("recall", self._asked)
        self.answer(self.desk.answer)
        return None

    def action_write(self) -> None:
        """Write a situation."""
        self.query_one("#situation", Field).focus()

    def action_mode(self) -> None:
        """The next mode, and the same question again."""
        self.set_mode(MODES[(MODES.index(self.mode) + 1) % len(MODES) if self.mode in MODES else 1])

    def set_mode(self, mode: str) -> None:
        """One mode, and the same question again."""
        self.mode = mode
        self.ask()
        self.news()

    def action_scope(self) -> None:
        """The other scope, and the same question again."""
        self.scope = SCOPES[1] if self.scope in {None, SCOPES[0]} else SCOPES[0]
        self.ask()
        self.news()

    def action_set_mode(self, mode: str) -> None:
        """One mode by its name."""
        self.set_mode(mode)

    def deeds(self) -> Iterator[Deed]:
        """Modes and scopes by name."""
        yield Deed("memory: write a situation", "put a question to the agent (key i)", "screen.write")
        for mode in MODES:
            yield Deed(f"memory: mode {mode}", "and ask again", f"screen.set_mode('{mode}')")
        yield Deed("memory: change the scope", "what it witnessed, or all that happened (key z)", "screen.scope")


def budget_lines(block: Block, reading: str, width: int) -> list[list[Span]]:
    """One bar for each kind, and one for the whole."""
    rows: list[list[Span]] = []
    room = max(6, width - 27)
    for kind, cap in block.caps.items():
        used = block.used.get(kind, 0)
        full, rest = bar(used / cap if cap else 0.0, room)
        tone = TONE.get(kind, "dim")
        rows.append(
            [(fit(ARMS.get(kind, plain(kind)), 11), "dim"), (full, tone), (rest, "faint"), (f"{used:>6}", ""), (f" / {cap:<5}", "dim")]
        )
    full, rest = bar(block.tokens / block.total if block.total else 0.0, room)
    rows.append(
        [(fit("all", 11), "head"), (full, "head"), (rest, "faint"), (f"{block.tokens:>6}", "head"), (f" / {block.total:<5}", "dim")]
    )
    rows.append([(clip(reading, width), "dim")])
    return rows


def kept_rows(block: Block) -> list[Row]:
    """Lines that the agent gets."""
    return [_row(f"k{i}", line, "") for i, line in enumerate(block.lines)]


def dropped_rows(block: Block) -> list[Row]:
    """Lines that did not fit, and why."""
    return [_row(f"d{i}", dropped.line, dropped.why) for i, dropped in enumerate(block.dropped)]


def _row(key: str, line: Line, why: str) -> Row:
    from simflow.episode import label  # noqa: PLC0415 - brings pyarrow, which is here where there is an answer

    source = label(line.edge) if line.edge is not None else label(line.episode) if line.episode is not None else ""
    return Row(
        f"{key}{source}",
        (
            (("× " if why else "  ", "bad"), (ARMS.get(line.kind, plain(line.kind)), "faint" if why else TONE.get(line.kind, ""))),
            (f"{line.value:.3f}", "dim"),
            (str(line.tokens), "dim"),
            (str(line.tick) if line.tick is not None else "", "faint"),
            ((f"left out: {plain(why)}  ", "warn"), (plain(line.text), "dim")) if why else plain(line.text),
        ),
    )


def block_lines(block: Block, width: int) -> list[list[Span]]:
    """The block's text, headings marked."""
    return [[(line, "title" if line.startswith("##") else "")] for line in wrapped(plain_lines(block.text), width)]
