"""Text in lines of at most a number of terminal cells, wide characters included."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells


def wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words where words fit; a word that is longer than a line is cut where the line ends. In one cell nothing is told."""
    if width <= 1:  # a wide character would never fit
        return []
    lines: list[str] = []
    for part in text.split("\n"):
        line = part[: len(part) - len(part.lstrip(" "))]  # an indented line stays indented
        for word in part.lstrip(" ").split(" "):
            if not line.strip():
                line += word
            elif cell_len(line) + 1 + cell_len(word) <= width:
                line += " " + word
            else:
                lines.append(line)
                line = word
            while cell_len(line) > width:
                head, *rest = chop_cells(line, width)
                lines.append(head)
                line = "".join(rest)
        lines.append(line)
    return lines
