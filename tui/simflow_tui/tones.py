"""Colours by meaning. A tone is a name for what a piece of text is; themes say how it looks.

Nothing is told by colour alone: each state has its own sign and word, each series its own mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from textual.content import Content
from textual.style import Style
from textual.theme import BUILTIN_THEMES, Theme

Span = tuple[str, str]
"""A piece of text and its tone."""

TONES: dict[str, str] = {
    "": "$foreground",
    "dim": "$quiet",
    "faint": "$faint",
    "head": "bold $foreground",
    "label": "$quiet",
    "key": "bold $accent",
    "accent": "$accent",
    "title": "bold $primary",
    "name": "$primary",
    "good": "$success",
    "warn": "$warning",
    "bad": "bold $error",
    "mark": "reverse",
    "gone": "strike $quiet",
    **{f"s{i}": f"$series-{i}" for i in range(8)},
}
SERIES = 8
MARKS = "●◆▲■○◇△□"
"""The sign of each series, so that lines and legends can be told apart without colour."""

_DARK = ("#5fb3b3", "#e5a86b", "#8fa8e0", "#a3c76d", "#d68fb8", "#d9c76a", "#7fc8a9", "#c49bdb")
_LIGHT = ("#0f766e", "#b45309", "#3f51b5", "#4d7c0f", "#a21c6b", "#8a6d00", "#047857", "#7e22ce")
_CONTRAST = ("#00ffff", "#ffb000", "#80b0ff", "#60ff60", "#ff80ff", "#ffff40", "#40ffc0", "#d0a0ff")
_ANSI = (
    "ansi_cyan",
    "ansi_yellow",
    "ansi_blue",
    "ansi_green",
    "ansi_magenta",
    "ansi_bright_red",
    "ansi_bright_cyan",
    "ansi_bright_magenta",
)


def _series(colours: tuple[str, ...]) -> dict[str, str]:
    return {f"series-{i}": c for i, c in enumerate(colours)}


FALLBACK = {**_series(_DARK), "quiet": "#8b95a1", "faint": "#4b5563", "track": "#2b333d"}
"""Variables for themes that do not define them."""

THEMES = (
    Theme(
        name="simflow-dark",
        primary="#7cc4c4",
        secondary="#5c7f9e",
        accent="#e5a86b",
        warning="#e6c068",
        error="#ef7a7a",
        success="#8fc98a",
        foreground="#d5dbe3",
        background="#12171d",
        surface="#171e26",
        panel="#1d2630",
        dark=True,
        variables={
            **_series(_DARK),
            "quiet": "#8793a0",
            "faint": "#4a5663",
            "track": "#26303b",
            "footer-background": "#171e26",
            "footer-key-foreground": "#e5a86b",
            "block-cursor-background": "#2c4450",
            "block-cursor-foreground": "#ffffff",
            "block-cursor-text-style": "bold",
            "border": "#33505c",
            "border-blurred": "#27313c",
            "input-selection-background": "#5fb3b3 35%",
        },
    ),
    Theme(
        name="simflow-light",
        primary="#0f6b6b",
        secondary="#3f6383",
        accent="#a8530c",
        warning="#8a6400",
        error="#b3261e",
        success="#2f7a33",
        foreground="#22272e",
        background="#fbfaf6",
        surface="#f3f1ea",
        panel="#ebe8df",
        dark=False,
        variables={
            **_series(_LIGHT),
            "quiet": "#646c76",
            "faint": "#a9aeb5",
            "track": "#dedacf",
            "footer-background": "#f3f1ea",
            "footer-key-foreground": "#a8530c",
            "block-cursor-background": "#cfe3e1",
            "block-cursor-foreground": "#101418",
            "block-cursor-text-style": "bold",
            "border": "#9fbcbb",
            "border-blurred": "#d8d4c8",
        },
    ),
    Theme(
        name="simflow-contrast",
        primary="#00ffff",
        secondary="#80b0ff",
        accent="#ffff00",
        warning="#ffb000",
        error="#ff6060",
        success="#60ff60",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#101010",
        dark=True,
        variables={
            **_series(_CONTRAST),
            "quiet": "#d0d0d0",
            "faint": "#909090",
            "track": "#404040",
            "footer-background": "#000000",
            "footer-key-foreground": "#ffff00",
            "block-cursor-background": "#ffffff",
            "block-cursor-foreground": "#000000",
            "block-cursor-text-style": "bold",
            "border": "#ffff00",
            "border-blurred": "#909090",
        },
    ),
    Theme(
        name="simflow-ansi",
        primary="ansi_cyan",
        secondary="ansi_blue",
        accent="ansi_yellow",
        warning="ansi_yellow",
        error="ansi_red",
        success="ansi_green",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        dark=True,
        ansi=True,
        variables={
            **BUILTIN_THEMES["ansi-dark"].variables,
            **_series(_ANSI),
            "quiet": "ansi_white",
            "faint": "ansi_bright_black",
            "track": "ansi_bright_black",
            "border": "ansi_cyan",
            "border-blurred": "ansi_bright_black",
            "block-cursor-foreground": "ansi_bright_white",
            "block-cursor-background": "ansi_blue",
            "block-cursor-text-style": "bold",
            "input-cursor-background": "ansi_bright_white",
            "input-cursor-foreground": "ansi_black",
            "scrollbar-background": "ansi_black",
            "scrollbar": "ansi_bright_black",
        },
    ),
)
"""The themes of the house: dark, light, high contrast, and the terminal's own 16 colours."""


def content(*spans: Span) -> Content:
    """Spans as one piece of content; the text is never read as markup."""
    return Content.assemble(*((text, TONES[tone]) for text, tone in spans), strip_control_codes=False)


def lines(*rows: Sequence[Span]) -> Content:
    """Rows of spans, one a line."""
    return Content("\n").join([content(*row) for row in rows])


@lru_cache(maxsize=256)
def parsed(theme: str, tone: str) -> Style:
    """The style of a tone under the theme that is on; `theme` is the key of the cache."""
    del theme
    return Style.parse(TONES[tone])


def series(index: int) -> str:
    """The tone of the n-th series."""
    return f"s{index % SERIES}"


def mark(index: int) -> str:
    """The sign of the n-th series."""
    return MARKS[index % SERIES]
