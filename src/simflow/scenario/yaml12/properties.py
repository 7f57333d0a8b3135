"""Anchors and tags: what may stand before a value, and seldom does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simflow.scenario.yaml12.cursor import AFTER, Properties

if TYPE_CHECKING:
    from simflow.scenario.yaml12.cursor import Cursor

_ANCHOR = re.compile(r"&([^ \t\r\n\0\ufeff,\[\]{}]+)")
_URI = r"(?:%[0-9a-fA-F]{2}|[0-9A-Za-z#;/?:@&=+$_.~*'()-])"
_VERBATIM = re.compile(rf"!<((?:{_URI}|[!,\[\]])+)>")
_TAG = re.compile(rf"(![0-9A-Za-z-]*!|!)({_URI}*)")


def read_property(cursor: Cursor, *, flow: bool) -> Properties:
    """The anchor or the tag at the cursor, which goes behind it. `flow`: in brackets."""
    start = cursor.pos
    anchor = tag = None
    if match := _ANCHOR.match(cursor.text, start):
        anchor = match.group(1)
    elif match := _VERBATIM.match(cursor.text, start):
        tag = match.group(1)
    elif match := _TAG.match(cursor.text, start):
        tag = _tag(cursor, match.group(1), match.group(2))
    if match is None:
        cursor.fail("a name after & needs letters or digits", "name it with letters a to z, digits, - and _")
    cursor.pos = match.end()
    if cursor.text[cursor.pos] not in AFTER and not (flow and cursor.text[cursor.pos] in ",]}"):
        cursor.fail("a space must follow an anchor or a tag", "put a space there")
    return Properties(start, cursor.pos, anchor, tag)


def _tag(cursor: Cursor, handle: str, suffix: str) -> str:
    if (handle != "!" and not suffix) or handle not in {"!", "!!"}:
        cursor.fail(f"the tag {handle}{suffix} is not known here", "a scenario is data; leave the tag out", code="SF107")
    if "%" in suffix:
        from urllib.parse import unquote  # noqa: PLC0415 - for tags that nobody writes

        suffix = unquote(suffix)
    return f"tag:yaml.org,2002:{suffix}" if handle == "!!" else f"!{suffix}"
