"""Phrases by other hands (`hands/<language>-<number>.toml`): paraphrase tables as the built-in world has them, each written by an author who had not seen the others.

An author finds many ways to say a thing and still repeats himself: books by one hand know that hand's phrases, not those of people. What is learnt
from several, each read beside what only the others know, holds for strangers. Hand 1 of a language is learnt from nowhere; it tells how strangers fare.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from simflow.world.language import tables

HALF, UNSEEN = 0, 1
"""The built-in world's training half, a hand like others; and the one that nothing is learnt from."""
ASIDE = "aside"
"""A hand's table of what says nothing on the matter. Texts open and close with it."""
HEADINGS = {
    **{f"{table}.{level}": heading for table in ("stance", "negated") for level, heading in zip(tables.LEVELS, ("against", "against", "neutral", "for", "for"), strict=True)},
    **{f"{table}.{side}": side for table in ("reply", "quote") for side in ("agree", "mixed", "disagree")},
    "pro": "reason for", "con": "reason against", "open": "reason open", "sarcasm": "against",
    "openers": "aside", "closers": "aside", "frames": "aside", ASIDE: "aside",
}  # fmt: skip
"""Tables of the grammar, and the headings under which the books of the extractor keep such phrases."""
_GAP = re.compile(r"\{(\w+)\}")
_FOLDER = "hands"


@cache
def learnt(code: str) -> tuple[int, ...]:
    """Numbers of the hands of one language that may be learnt from."""
    names = sorted(file.name for file in (resources.files(__package__) / _FOLDER).iterdir())
    return (HALF, *(n for name in names if name.startswith(f"{code}-") and (n := int(name[3:-5])) != UNSEEN))


@cache
def hand(code: str, number: int) -> tables.Tables:
    """What one hand writes with: its own phrases of stance and answer, its asides, and the training half of everything else."""
    half = tables.load(code, "train")
    own = dict(_read(code, number))
    if asides := own.pop(ASIDE, ()):
        own |= {"openers": asides[::2], "closers": asides[1::2]}
    return dataclasses.replace(half, phrases={**half.phrases, **own})


def said(code: str, number: int) -> list[tuple[str, str]]:
    """(heading, phrase) of one hand, for a book. A pronoun fills its gaps, in its case and with its preposition: a side may stand in nothing else."""
    forms = tables.load(code, "train").again
    found = []
    for name, table in _read(code, number).items():
        heading = HEADINGS.get(name, HEADINGS.get(name.split(".")[0]))
        if heading is not None:
            found += [(heading, _GAP.sub(lambda gap: forms.get(gap[1], ""), phrase)) for phrase in table]
    return found


@cache
def _read(code: str, number: int) -> Mapping[str, tuple[str, ...]]:
    if number == HALF:
        return tables.load(code, "train").phrases
    text = (resources.files(__package__) / _FOLDER / f"{code}-{number}.toml").read_text("utf-8")
    return dict(_flat(tomllib.loads(text)))


def _flat(node: Mapping[str, Any], prefix: str = "") -> list[tuple[str, tuple[str, ...]]]:
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, value in node.items():
        found += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, tuple(value))]
    return found
