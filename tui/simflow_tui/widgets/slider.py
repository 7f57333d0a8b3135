"""A value on a line, moved with the keys or the mouse; marks show where something changes."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from simflow_tui.tones import Span, content


class Slider(Widget, can_focus=True):
    """A tick between 0 and `end`."""

    HELP = """\
# As of

The tick whose truth is asked for. left and right move by a hundredth, `,` and `.` to the change before and after, home and end to
the ends; a click goes there. `┃` marks where a belief began or ended.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "earlier", show=False),
        Binding("right", "move(1)", "later", show=False),
        Binding("home", "edge(0)", "begin", show=False),
        Binding("end", "edge(1)", "end", show=False),
    ]
    DEFAULT_CSS = """
    Slider { height: 1; padding: 0 1; }
    Slider:focus { background: $panel; }
    """

    class Moved(Message):
        """The value changed."""

        def __init__(self, value: int) -> None:
            super().__init__()
            self.value = value

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.value = 0
        self.end = 0
        self.marks: tuple[int, ...] = ()

    def show(self, value: int, end: int, marks: tuple[int, ...]) -> None:
        """Set all without telling anybody."""
        if (value, end, marks) != (self.value, self.end, self.marks):
            self.value, self.end, self.marks = value, end, marks
            self.refresh()

    def go(self, value: int) -> None:
        """Set the value and tell."""
        value = max(0, min(self.end, value))
        if value != self.value:
            self.value = value
            self.refresh()
            self.post_message(self.Moved(value))

    def action_move(self, step: int) -> None:
        """A hundredth of the line."""
        self.go(self.value + step * max(1, self.end // 100))

    def action_edge(self, side: int) -> None:
        """To an end."""
        self.go(self.end * side)

    def jump(self, side: int) -> None:
        """To the change before or after."""
        near = [m for m in self.marks if (m < self.value if side < 0 else m > self.value)]
        self.go((max(near) if side < 0 else min(near)) if near else (0 if side < 0 else self.end))

    def on_click(self, event: events.Click) -> None:
        """Go where the click was."""
        room = self._room()
        if self.end and 0 <= event.x - 8 < room:
            self.go(round((event.x - 8) / max(1, room - 1) * self.end))

    def _room(self) -> int:
        return max(4, self.content_size.width - 22)

    def render(self) -> Content:
        """`as of ──┃──●──── tick 412 of 750`."""
        room, end = self._room(), max(1, self.end)
        places = {round(m / end * (room - 1)) for m in self.marks if 0 <= m <= end}
        here = round(self.value / end * (room - 1))
        line: list[Span] = [
            ("●", "accent") if x == here else ("┃", "dim") if x in places else ("━", "name") if x < here else ("─", "faint")
            for x in range(room)
        ]
        return content(("as of  ", "dim"), *line, (f" {self.value:>6}", "head"), (f" / {self.end}", "dim"))
