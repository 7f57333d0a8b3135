"""The two lines on top of every screen: where one can go, where one is, and how all runs are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from simflow_tui.figures import clip, plain
from simflow_tui.tones import Span, content
from simflow_tui.watch import STATES, RunView

MODES: dict[str, tuple[str, str]] = {
    "runs": ("r", "Runs"),
    "watch": ("w", "Watch"),
    "society": ("s", "Society"),
    "agent": ("a", "Agent"),
    "memory": ("m", "Memory"),
    "belief": ("b", "Belief"),
    "plan": ("p", "Plan"),
    "compare": ("c", "Compare"),
}
"""Mode -> (its letter, its name): each is a screen."""

LOGO = len(" simflow  ")


class Bar(Widget):
    """Modes on the left, runs by state on the right."""

    DEFAULT_CSS: ClassVar[str] = """
    Bar { height: 1; background: $panel; padding: 0 1; }
    """

    class Chosen(Message):
        """A mode was clicked."""

        def __init__(self, mode: str) -> None:
            super().__init__()
            self.mode = mode

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode
        self.counts: Counter[str] = Counter()

    def show(self, runs: Sequence[RunView]) -> None:
        """Count runs by state."""
        counts = Counter(run.state for run in runs)
        if counts != self.counts:
            self.counts = counts
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click on a mode goes there."""
        at = event.x - 1 - LOGO
        for mode, (_, name) in MODES.items():
            if 0 <= at < len(name) + 2:
                self.post_message(Bar.Chosen(mode))
                return
            at -= len(name) + 2

    def render(self) -> Content:
        """One line, exactly as wide as the screen."""
        left: list[Content] = [content((" simflow  ", "title"))]
        for mode, (_, name) in MODES.items():
            here = mode == self.mode
            ends = "[]" if here else "  "
            left.append(content((ends[0], "accent"), (name[0], "key"), (name[1:], "head" if here else "label"), (ends[1], "accent")))
        shown = [(f" {STATES[s][0]} {self.counts[s]}", STATES[s][1]) for s in STATES if self.counts[s] and s not in {"gone", "starting"}]
        line, right = Content.assemble(*left), content(*shown)
        room = self.content_size.width - line.cell_length - right.cell_length
        return Content.assemble(line, " " * room, right) if room >= 1 else line


class Crumbs(Widget):
    """Where one is, from the whole to the part; state and words of warning on the right."""

    DEFAULT_CSS: ClassVar[str] = """
    Crumbs { height: 1; padding: 0 2; margin-bottom: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.parts: tuple[str, ...] = ()
        self.right: tuple[Span, ...] = ()

    def show(self, parts: Sequence[str], right: Sequence[Span] = ()) -> None:
        """Set the path and what stands on the right."""
        new = (tuple(parts), tuple(right))
        if new != (self.parts, self.right):
            self.parts, self.right = new
            self.refresh()

    def render(self) -> Content:
        """One line; the path gives way before the right does."""
        right = content(*self.right)
        room = max(0, self.content_size.width - right.cell_length - 1)
        words = [plain(p) for p in self.parts]
        while len(words) > 1 and cell_len(" › ".join(words)) > room:
            words = ["…", *words[2:]] if words[0] == "…" else ["…", *words[1:]]
        words = [clip(w, room) for w in words] or [""]
        left: list[Span] = []
        for i, word in enumerate(words):
            left += [(word, "head" if i == len(words) - 1 else "dim"), *([(" › ", "faint")] if i < len(words) - 1 else [])]
        line = content(*left)
        return Content.assemble(line, " " * max(1, self.content_size.width - line.cell_length - right.cell_length), right)
