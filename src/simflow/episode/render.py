"""An episode becomes one sentence: what agents remember, what is embedded, what an extractor reads."""

from __future__ import annotations

from simflow.episode.wording import wording

_SPOKEN = frozenset({"post", "reply", "repost", "quote", "message", "group"})
"""Kinds that are told with their own words; the others with those of what they are about."""


def sentence(
    kind: str,
    actor: str,
    *,
    target: str | None = None,
    text: str | None = None,
    parent_text: str | None = None,
    language: str | None = None,
) -> str:
    """The sentence of one episode in a language that has words for it (None: English); ids are written as `@id`.

    actor, target: readable ids without `@`. text: what was written, kept whole. parent_text: what was reacted to, cut to 80 characters, for
    kinds that have no words of their own; of a search, what was looked for; of words in a group, which.
    """
    words = wording(language)
    forms = words.sentences.get(kind, words.sentences["*"])
    said = text if kind in _SPOKEN or forms is words.sentences["*"] else cut(parent_text) if parent_text else None
    to, worded = bool(target) and "to" in forms, bool(said) and "words" in forms
    form = ("to_words" if worded else "to") if to else "words" if worded else "alone"
    whom = f"@{target.removeprefix('@')}" if target else None
    where = (parent_text or words.say("group.some")) if kind == "group" else None
    return forms[form].format(who=f"@{actor.removeprefix('@')}", whom=whom, words=said, where=where, kind=kind)


def cut(text: str, limit: int = 80) -> str:
    """`text`, or its first words and an ellipsis: at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
