"""How numbers, times and foreign text are shown: fixed widths, so that nothing jumps while a run is live."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, set_cell_size

_BIDI = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
# Escape sequences, bells and the like become visible pictures; line breaks and tabs become spaces.
_PLAIN = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    **dict.fromkeys(range(0x7F, 0xA0), "�"),
    **_BIDI,
    **dict.fromkeys([0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029], " "),
}


def plain(text: object) -> str:
    """Text from agents, files and models, made harmless for a terminal: one line, no control codes, no hidden reordering."""
    return str(text).translate(_PLAIN)


def plain_lines(text: object) -> str:
    """As `plain`, with line breaks kept."""
    return "\n".join(plain(line) for line in str(text).splitlines())


def clip(text: str, width: int) -> str:
    """At most `width` terminal cells; what is cut ends in an ellipsis."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    cut = set_cell_size(text, width - 1)
    while cut and unicodedata.category(cut[-1]) == "Zs":
        cut = cut[:-1]
    return cut + "…"


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` terminal cells."""
    cut = clip(text, width)
    pad = " " * max(0, width - cell_len(cut))
    return pad + cut if right else cut + pad


def number(value: float) -> str:
    """A whole number with thin groups: `12 345`."""
    return f"{round(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def short(value: float) -> str:
    """A count in at most five cells: `999`, `12.3k`, `4.1M`, `7.0G`."""
    if abs(value) < 1000:
        return f"{value:.0f}"
    for unit in ("k", "M", "G", "T"):
        value /= 1000
        if abs(value) < 999.5:
            return f"{value:.1f}{unit}" if abs(value) < 99.95 else f"{value:.0f}{unit}"
    return f"{value:.0f}P"


def money(value: float) -> str:
    """US dollars, at most seven cells: `$0.00`, `$12.34`, `$1.2k`."""
    return f"${value:.2f}" if value < 1000 else f"${short(value)}"


def duration(seconds: float | None) -> str:
    """At most seven cells: `0:07`, `12:34`, `3:07:12`, `5d 04h`; a dash if unknown."""
    if seconds is None or seconds != seconds or seconds in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
        return "–"
    whole = max(0, round(seconds))
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, secs = divmod(rest, 60)
    if days > 99:
        return f"{days}d"
    if days:
        return f"{days}d {hours:02}h"
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


def ago(seconds: float) -> str:
    """An age in at most four cells: `now`, `12s`, `5m`, `3h`, `12d`."""
    if seconds < 2:
        return "now"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def rate(value: float) -> str:
    """Ticks a second, at most five cells."""
    return f"{value:.1f}" if value < 99.95 else short(value)


def percent(fraction: float) -> str:
    """Four cells: ` 52%`, `100%`; 100 only when nothing is left."""
    return f"{min(99, int(fraction * 100)) if fraction < 1 else 100:>3}%"


def bar(fraction: float, width: int) -> tuple[str, str]:
    """The filled and the empty part of a bar of exactly `width` cells, in half cells; told apart without colour too."""
    full, half = divmod(round(max(0.0, min(1.0, fraction)) * width * 2), 2)
    filled = "━" * full + "╸" * half
    return filled, "─" * (width - len(filled))


def spark(values: list[float], width: int) -> str:
    """The last `width` values as block heights, scaled to the highest; exactly `width` cells."""
    shown = values[-width:]
    top = max(shown, default=0.0)
    marks = "".join("▁▂▃▄▅▆▇█"[min(7, int(v / top * 7.999))] if top > 0 else "▁" for v in shown)
    return " " * (width - len(marks)) + marks


def stance(value: float) -> str:
    """Five cells with a sign: `+0.42`, `−0.10`."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")
