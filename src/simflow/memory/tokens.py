"""Token counts from a real vocabulary (o200k), offline: what the caps of a memory block are counted in."""

from __future__ import annotations

from functools import lru_cache

import toktok

VOCABULARY = "o200k_base"


@lru_cache(maxsize=4096)
def count(text: str) -> int:
    """Tokens of a text."""
    return int(toktok.batch_count([_clean(text)], VOCABULARY, threads=1)[0])


def counts(texts: list[str]) -> list[int]:
    """Tokens of each text."""
    return [int(n) for n in toktok.batch_count([_clean(t) for t in texts], VOCABULARY, threads=1)]


def cut(text: str, limit: int) -> str:
    """The longest beginning of a text with at most `limit` tokens; whole characters only."""
    if limit <= 0:
        return ""
    kept: str = toktok.truncate(_clean(text), limit, VOCABULARY)[0]
    while kept and count(kept) > limit:  # a cut inside a word can be counted anew as more tokens than it was cut from
        kept = kept[:-1]
    return kept


def _clean(text: str) -> str:
    # Lone surrogates cannot be encoded; they count as the character that replaces them.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
