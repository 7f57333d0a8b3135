"""The list that every screen uses: any number of rows, only the visible ones drawn, columns that give way when it gets narrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, overload

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from simflow_tui.figures import clip
from simflow_tui.tones import Span, parsed

Cell = str | Span | Sequence[Span] | Callable[[int], Sequence[Span]]
"""Text, text with a tone, several of these, or what makes them for a width in terminal cells."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of at least `width` cells. `grow` is its share of spare width; of too many, those with the highest `rank` go first."""

    name: str
    width: int
    right: bool = False
    grow: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row with as many cells as the list has columns. `key` is its identity: the cursor stays on it when rows change."""

    key: str
    cells: tuple[Cell, ...]


class LazyRows(Sequence[Row]):
    """Rows that are made when they are drawn. `keys`: their identities, in order; `make` makes the n-th."""

    def __init__(self, keys: Sequence[str], make: Callable[[int], Row]) -> None:
        self.keys = keys
        self._make = make
        self._made: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        if at not in self._made:
            self._made[at] = self._make(at)
        return self._made[at]


def keys_of(rows: Sequence[Row]) -> Iterable[str]:
    """The identities of rows, without making any."""
    return rows.keys if isinstance(rows, LazyRows) else (row.key for row in rows)


class Rows(ScrollView, can_focus=True):
    """A list of rows with a cursor."""

    HELP = """\
# A list

| key | does |
|---|---|
| up, down, k, j | move |
| page up, page down, home, end | move far |
| enter, double click | open |
| / | filter |
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "leap(-1)", "page up", show=False),
        Binding("pagedown", "leap(1)", "page down", show=False),
        Binding("home,g", "edge(-1)", "first", show=False),
        Binding("end,G", "edge(1)", "last", show=False),
        Binding("enter", "open", "open"),
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor", "rows--cursor-blurred", "rows--header", "rows--empty"}

    DEFAULT_CSS = """
    Rows {
        height: 1fr;
        background: $background;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        & .rows--cursor { background: $block-cursor-background; color: $block-cursor-foreground; text-style: $block-cursor-text-style; }
        & .rows--cursor-blurred { background: $track; }
        & .rows--header { color: $quiet; text-style: underline; }
        & .rows--empty { color: $quiet; }
        &:ansi .rows--cursor-blurred { background: ansi_default; text-style: bold; }
    }
    """

    cursor: reactive[int] = reactive(0, repaint=False)
    empty: reactive[str] = reactive("nothing here yet")

    class Highlighted(Message):
        """The cursor is on another row."""

        def __init__(self, rows: Rows, row: Row | None) -> None:
            super().__init__()
            self.rows = rows
            self.row = row

        @property
        def control(self) -> Rows:
            """The list."""
            return self.rows

    class Opened(Highlighted):
        """A row was opened: enter, or a click on the row under the cursor."""

    def __init__(
        self,
        *columns: Column,
        header: bool = True,
        empty: str = "nothing here yet",
        follow: bool = False,
        cursor_sign: bool = True,
        opens: str = "open",
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.columns = columns
        self.header = header and any(c.name for c in columns)
        self.set_reactive(Rows.empty, empty)
        self.follow = follow
        self.cursor_sign = cursor_sign
        self.opens = opens
        self.rows: Sequence[Row] = []

    # ------------------------------------------------------------------------------------------------------------------ rows

    def show(self, rows: Sequence[Row]) -> None:
        """Replace the rows: the cursor stays on its key, only lines that changed are drawn again."""
        old, before = self.rows, self.current
        at_end = self.follow and (not old or self.cursor >= len(old) - 1)
        self.rows = rows
        place = len(self.rows) - 1 if at_end else self._place(before)
        size = Size(self.size.width, len(self.rows) + self.header)
        if size != self.virtual_size:
            self.virtual_size = size
            self.refresh()
        else:
            top = round(self.scroll_y)
            for index in range(top, min(top + self.size.height, len(rows))):
                if index >= len(old) or old[index] != rows[index]:
                    self._redraw(index)
        self.cursor = max(0, place)
        now_at = self.current
        if (before.key if before else None) != (now_at.key if now_at else None):
            self.post_message(self.Highlighted(self, now_at))
        if at_end:
            self.call_after_refresh(self._reveal)

    def _place(self, before: Row | None) -> int:
        if before is None or (self.cursor == 0 and not self.follow and self.rows and not self.has_focus):
            return 0
        for index, key in enumerate(keys_of(self.rows)):
            if key == before.key:
                return index
        return min(self.cursor, len(self.rows) - 1)

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    def select(self, key: str) -> bool:
        """Put the cursor on a key; False if it is not there."""
        for index, other in enumerate(keys_of(self.rows)):
            if other == key:
                self._go(index)
                return True
        return False

    # ------------------------------------------------------------------------------------------------------------------ keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Opening needs a row."""
        del parameters
        return bool(self.rows and self.opens) if action == "open" else True

    def action_move(self, step: int) -> None:
        """One row up or down."""
        self._go(self.cursor + step)

    def action_leap(self, pages: int) -> None:
        """A page up or down."""
        self._go(self.cursor + pages * max(1, self.size.height - self.header - 1))

    def action_edge(self, side: int) -> None:
        """To the first or the last row."""
        self._go(0 if side < 0 else len(self.rows) - 1)

    def action_open(self) -> None:
        """Open the row under the cursor."""
        if self.current and self.opens:
            self.post_message(self.Opened(self, self.current))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a click on the cursor opens."""
        index = event.y - self.header + self.scroll_offset.y
        if event.y < int(self.header) or not 0 <= index < len(self.rows):
            return
        if index == self.cursor and event.chain > 1:
            self.action_open()
        else:
            self._go(index)

    def _go(self, index: int) -> None:
        index = max(0, min(index, len(self.rows) - 1))
        if index == self.cursor or not self.rows:
            return
        old, self.cursor = self.cursor, index
        self._redraw(old)
        self._redraw(index)
        self._reveal()
        self.post_message(self.Highlighted(self, self.current))

    def _reveal(self) -> None:
        top, room = round(self.scroll_y), max(1, self.size.height - self.header)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + room:
            self.scroll_to(y=self.cursor - room + 1, animate=False, force=True)

    def on_focus(self) -> None:
        """The cursor shows where the keys go."""
        self._redraw(self.cursor)

    def on_blur(self) -> None:
        """And that they go elsewhere now."""
        self._redraw(self.cursor)

    def on_resize(self) -> None:
        """Columns follow the width."""
        self.virtual_size = Size(self.size.width, len(self.rows) + self.header)
        self.refresh()

    def _redraw(self, index: int) -> None:
        y = index + self.header - round(self.scroll_y)
        if self.header <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    # --------------------------------------------------------------------------------------------------------------- drawing

    def widths(self, room: int) -> list[int]:
        """The width of each column within `room` cells; 0 for one that gave way."""
        keep = set(range(len(self.columns)))

        def need() -> int:
            return sum(self.columns[i].width for i in keep) + 2 * (len(keep) - 1)

        for index in sorted(keep, key=lambda i: -self.columns[i].rank):
            if need() <= room or self.columns[index].rank == 0:
                break
            keep.discard(index)
        spare, shares = max(0, room - need()), sum(self.columns[i].grow for i in keep)
        found = [0] * len(self.columns)
        for index in sorted(keep):
            column = self.columns[index]
            extra = spare * column.grow // shares if shares else 0
            found[index] = column.width + extra
            spare, shares = spare - extra, shares - column.grow
        return found

    def render_line(self, y: int) -> Strip:
        """One line of the visible part."""
        width = self.size.width
        base = self.rich_style
        # One cell is left to the scroll bar whether it shows or not, so that columns do not move when it comes.
        widths = self.widths(width - 1 - 2 * int(self.cursor_sign))
        if self.header and y == 0:
            style = base + self.get_component_rich_style("rows--header", partial=True)
            gap = Segment(" " * 2, base)
            parts: list[Segment] = [gap] if self.cursor_sign else []
            for column, size in zip(self.columns, widths, strict=True):
                if size:
                    name = clip(column.name, size)
                    pad = Segment(" " * (size - cell_len(name)), base)
                    parts += [pad, Segment(name, style), gap] if column.right else [Segment(name, style), pad, gap]
            return Strip(parts).adjust_cell_length(width, base).crop(0, width)
        index = y - self.header + round(self.scroll_y)
        if not self.rows and y == self.header + 1:
            return Strip([Segment("  " + clip(self.empty, width - 2), base + self.get_component_rich_style("rows--empty", partial=True))])
        if index >= len(self.rows):
            return Strip.blank(width, base)
        return self._line(self.rows[index], widths, on=index == self.cursor).adjust_cell_length(width, base)

    def _line(self, row: Row, widths: list[int], *, on: bool) -> Strip:
        base, over = self.rich_style, RichStyle()
        if on:
            over = self.get_component_rich_style("rows--cursor" if self.has_focus else "rows--cursor-blurred", partial=True)
        parts = [Segment("▸ " if on else "  ", base + over)] if self.cursor_sign else []
        for column, size, cell in zip(self.columns, widths, row.cells, strict=True):
            if size:
                parts += self._cell(cell, size, base, over, right=column.right)
                parts.append(Segment("  ", base + over))
        line = Strip(parts)
        return line.extend_cell_length(self.size.width, base + over).crop(0, self.size.width)

    def _cell(self, cell: Cell, size: int, base: RichStyle, over: RichStyle, *, right: bool) -> list[Segment]:
        theme = self.app.theme
        found: list[Segment] = []
        left = size
        for text, tone in spans(cell, size):
            cut = clip(text, left)
            if cut:
                style = base + parsed(theme, tone).rich_style
                # The cursor's own colours must stay readable on any tone, so only its background is laid under a coloured word.
                plain = tone in {"", "dim", "faint", "label"}
                found.append(Segment(cut, style + (over if plain else RichStyle(bgcolor=over.bgcolor, bold=over.bold))))
                left -= cell_len(cut)
            if cut != text:
                break
        pad = Segment(" " * max(0, left), base + over)
        return [pad, *found] if right else [*found, pad]


def spans(cell: Cell, width: int) -> Sequence[Span]:
    """A cell as spans, for a width."""
    if callable(cell):
        return cell(width)
    if isinstance(cell, str):
        return ((cell, ""),)
    if len(cell) == 2 and isinstance(cell[0], str):
        return (cell,)  # type: ignore[return-value]
    return cell  # type: ignore[return-value]
