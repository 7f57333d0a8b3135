"""A titled box for a few lines that are replaced whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.content import Content
from textual.widget import Widget

from simflow_tui.tones import Span, lines

Draw = Callable[[int, int], Sequence[Sequence[Span]]]
"""Makes lines of spans for a width and a height in cells."""

Lines = tuple[tuple[Span, ...], ...]


class Panel(Widget):
    """Draws what it is given for the room that it has; never changes its own size."""

    DEFAULT_CSS: ClassVar[str] = """
    Panel {
        height: auto;
        border: round $border-blurred;
        border-title-color: $quiet;
        border-subtitle-color: $quiet;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, title: str = "", *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.border_title = title
        self._draw: Draw = _nothing
        self._seen: object = None
        self._lines: Lines = ()

    def show(self, draw: Draw, seen: object = None) -> None:
        """Draw with `draw` from now on. Painted only where the lines are others; not even asked for if `seen` equals that of the last call."""
        if seen is not None and seen == self._seen:
            return
        self._draw, self._seen = draw, seen
        if self._drawn() != self._lines:
            self.refresh()

    def _drawn(self) -> Lines:
        width, height = self.content_size
        return tuple(map(tuple, self._draw(width, height)))[:height] if width > 0 and height > 0 else ()

    def render(self) -> Content:
        """The lines, as many as there is room for."""
        self._lines = self._drawn()
        return lines(*self._lines)


def _nothing(width: int, height: int) -> Sequence[Sequence[Span]]:
    del width, height
    return ()
