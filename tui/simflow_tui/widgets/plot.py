"""Lines over time in braille dots: eight dots a cell, one tone a series, each line ending in its own sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from simflow_tui.figures import clip, fit, stance
from simflow_tui.tones import Span, mark, series

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


@dataclass(frozen=True, slots=True)
class Line:
    """A series: (x, y) points in order; y in -1..1, None where there is no value."""

    name: str
    points: tuple[tuple[int, float | None], ...]

    @property
    def last(self) -> float | None:
        """The newest value."""
        return next((y for _, y in reversed(self.points) if y is not None), None)


def plot(
    lines: Sequence[Line], width: int, height: int, *, end: int, events: Mapping[int, str] | None = None, scale: Sequence[str] = ()
) -> list[list[Span]]:
    """Stance over time as `height` rows of `width` cells: axis, curves, event marks, and a legend on the right where there is room.

    end: the last x. events: x -> name, drawn as broken lines. scale: words for -1, 0 and +1.
    """
    legend = max([*(len(line.name) + 9 for line in lines), *(len(f"{name} {x}") + 2 for x, name in (events or {}).items()), 9])
    legend = min(legend, 26) if width >= 60 else 0
    axis = 5
    across, down = width - axis - (legend + 2 if legend else 0), height - 1
    if across < 8 or down < 3:
        return legend_lines(lines, width, height)
    canvas = _Canvas(across, down, end)
    for x in events or ():
        canvas.stroke(x)
    for index, line in enumerate(lines):
        canvas.draw(line, index)
    rows: list[list[Span]] = []
    for y in range(down):
        name = "+1" if y == 0 else " 0" if y == (down - 1) // 2 else "−1" if y == down - 1 else "  "
        edge = "┤" if name.strip() else "│"
        rows.append([(f" {name} ", "dim"), (edge, "faint"), *canvas.row(y)])
    foot = f"{0:<{across // 2}}{end:>{across - across // 2}}"
    rows.append([(" " * axis, ""), (foot, "dim")])
    if legend:
        side = legend_lines(lines, legend, down)
        marks = [[(clip(f"┊ {name} {x}", legend), "dim")] for x, name in sorted((events or {}).items())]
        words = [[(clip(f"+1 {scale[2]}, −1 {scale[0]}", legend), "faint")]] if len(scale) == 3 else []
        side = [*side, *([[]] if marks else []), *marks, *words][:height]
        for row, beside in zip(rows, side, strict=False):
            row += [("  ", ""), *beside]
    return rows


def legend_lines(lines: Sequence[Line], width: int, height: int) -> list[list[Span]]:
    """Sign, name and newest value of each series."""
    found: list[list[Span]] = []
    for index, line in enumerate(lines[:height]):
        value = stance(line.last) if line.last is not None else "  –  "
        found.append([(f"{mark(index)} ", series(index)), (fit(line.name, max(1, width - 8)), ""), (f" {value}", series(index))])
    return found


class _Canvas:
    """Dots of a grid of cells; the last series to touch a cell gives it its tone."""

    def __init__(self, across: int, down: int, end: int) -> None:
        self.across, self.down, self.end = across, down, max(1, end)
        self.dots = [[0] * across for _ in range(down)]
        self.tones = [["faint"] * across for _ in range(down)]
        self.signs: dict[tuple[int, int], tuple[str, str]] = {}
        middle = (down - 1) // 2
        for x in range(across):
            self.signs[middle, x] = ("╌", "faint")

    def _x(self, tick: int) -> int:
        return min(self.across * 2 - 1, max(0, round(tick / self.end * (self.across * 2 - 1))))

    def _y(self, value: float) -> int:
        top = self.down * 4 - 1
        return min(top, max(0, round((1 - value) / 2 * top)))

    def stroke(self, tick: int) -> None:
        """A broken vertical line."""
        x = self._x(tick) // 2
        for y in range(self.down):
            self.signs[y, x] = ("┊", "faint")

    def draw(self, line: Line, index: int) -> None:
        """A curve through the points, its sign at the end."""
        tone = series(index)
        known = [(self._x(x), self._y(y)) for x, y in line.points if y is not None]
        for (x0, y0), (x1, y1) in pairwise(known):
            steps = max(abs(x1 - x0), abs(y1 - y0), 1)
            for i in range(steps + 1):
                self._dot(x0 + (x1 - x0) * i // steps, y0 + round((y1 - y0) * i / steps), tone)
        if known:
            x, y = known[-1]
            self._dot(x, y, tone)
            self.signs[y // 4, x // 2] = (mark(index), tone)

    def _dot(self, x: int, y: int, tone: str) -> None:
        row, column = y // 4, x // 2
        self.dots[row][column] |= DOTS[y % 4][x % 2]
        self.tones[row][column] = tone

    def row(self, y: int) -> list[Span]:
        """One row of cells as spans of equal tone."""
        spans: list[Span] = []
        for x in range(self.across):
            sign = self.signs.get((y, x))
            if sign and (sign[1] != "faint" or not self.dots[y][x]):
                text, tone = sign
            elif self.dots[y][x]:
                text, tone = chr(0x2800 + self.dots[y][x]), self.tones[y][x]
            else:
                text, tone = " ", ""
            if spans and spans[-1][1] == tone:
                spans[-1] = (spans[-1][0] + text, tone)
            else:
                spans.append((text, tone))
        return spans
