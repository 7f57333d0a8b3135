"""What stands in one cell: list literals, numbers, texts. Nothing is evaluated."""

from __future__ import annotations

import ast
import json
import warnings
from typing import Any

LONGEST_TRAIT = 160
_NOTHING = frozenset({"", "nan", "none", "null", "n/a"})


def items(value: Any) -> list[Any]:
    """A list: as it is, or from a JSON or Python literal in text; text that is no literal is one item; nothing is no items."""
    if isinstance(value, list):
        return value
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return []
    if not isinstance(value, str):
        return [value]
    text = value.strip()
    if text.lower() in _NOTHING:
        return []
    if text[0] in "[(" and text[-1] in "])":
        found = _literal(text)
        if isinstance(found, list | tuple):
            return list(found)
        return [i.strip().strip("'\"") for i in text[1:-1].split(",") if i.strip()]
    separator = ";" if ";" in text else "," if "," in text else None
    return [i.strip() for i in text.split(separator) if i.strip()] if separator else [text]


def texts(value: Any) -> list[str]:
    """Like `items`, but a plain text is one item whatever signs it holds."""
    if isinstance(value, str) and not (value.strip().startswith("[") and value.strip().endswith("]")):
        return [clean(value)] if value.strip() else []
    return [clean(str(i)) for i in items(value) if i is not None and str(i)]


def _literal(text: str) -> Any:
    # `ast.literal_eval` parses constants, lists and tuples and runs nothing; a name or a call is a ValueError.
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash in somebody's tweet is no reason to speak
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def clean(text: str) -> str:
    """Text without NUL and lone surrogates, which no file downstream can hold."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def trait(value: Any) -> str | float | None:
    """A value as a trait: a number, or a short text; None if it is neither."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e15 and value == value else None  # noqa: PLR0124 - NaN
    if isinstance(value, list) and value and all(isinstance(i, str | int | float) for i in value):
        value = ", ".join(str(i) for i in value)
    if not isinstance(value, str) or value.strip().lower() in _NOTHING:
        return None
    text = clean(value).strip()
    if len(text) > LONGEST_TRAIT:
        return None
    try:
        return float(text) if len(text) < 16 and text[-1].isdigit() and "_" not in text else text
    except ValueError:
        return text
