"""The paraphrase tables of a language, read from its TOML file and cut into the half that an extractor may be tuned on and the rest."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from simflow.errors import BadInput

CODES = ("en", "pt", "es", "uk")
ASPECTS = ("cost", "fairness", "trust", "evidence", "future", "practice", "urgency", "voice")
"""What an argument is about; its place is the argument's index."""
LEVELS = ("strong_con", "con", "neutral", "pro", "strong_pro")
NEUTRAL, STRONG = 0.15, 0.55
"""Up to the first distance from 0 a stance is written as undecided; from the second on as strong."""

Half = Literal["train", "held_out"]
Split = Literal["all", "train", "held_out"]
Forms = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tables:
    """One split of one language.

    `phrases` maps a table's name to its clauses; `subjects` and `pronouns` hold case forms by slot, `again` those of the third
    mention and later ones.
    """

    code: str
    phrases: Mapping[str, tuple[str, ...]]
    subjects: tuple[Forms, ...]
    pronouns: tuple[Forms, ...]
    again: Forms
    articles: tuple[str, ...]
    quotes: tuple[str, str]
    donor: str


def level(stance: float) -> int:
    """Index into `LEVELS` of a stance in -1..1."""
    if abs(stance) < NEUTRAL:
        return 2
    return (4 if stance > 0 else 0) if abs(stance) >= STRONG else (3 if stance > 0 else 1)


@functools.cache
def load(code: str, split: Split = "all") -> Tables:
    """The tables of `code`. Raises BadInput for a language that has none."""
    raw = _read(code)
    halves: tuple[Half, ...] = ("train", "held_out") if split == "all" else (split,)
    joined = {name: tuple(phrase for half in halves for phrase in table[half]) for name, table in _flat(raw)}
    subjects, pronouns = joined.pop("subjects"), joined.pop("pronouns")
    left, right = raw["quotes"]
    return Tables(code, joined, subjects, pronouns, raw["again"], tuple(raw["articles"]), (left, right), raw["donor"])


def phrases(code: str, half: Half) -> dict[str, tuple[str, ...]]:
    """Every paraphrase of one half by table, subjects and pronouns in their base form: what an extractor was, or was not, tuned on."""
    tables = load(code, half)
    base = {"subjects": tables.subjects, "pronouns": tables.pronouns}
    return {**tables.phrases, **{name: tuple(forms["t"] for forms in table) for name, table in base.items()}}


@functools.cache
def _read(code: str) -> dict[str, Any]:
    if code not in CODES:
        raise BadInput(f"the built-in world writes no '{code}'", hint=f"language is one of {', '.join(CODES)}")
    return tomllib.loads((resources.files(__package__) / f"{code}.toml").read_text(encoding="utf-8"))


def _flat(node: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Mapping[str, Any]]]:
    found: list[tuple[str, Mapping[str, Any]]] = []
    for name, value in node.items():
        if isinstance(value, dict):
            found += [(prefix + name, value)] if "train" in value else _flat(value, f"{prefix}{name}.")
    return found
