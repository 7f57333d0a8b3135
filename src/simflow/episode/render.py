"""An episode becomes one sentence: what agents remember, what is embedded, what an extractor reads."""

from __future__ import annotations

_SAID = {
    "post": ("wrote", None, "wrote"),
    "reply": ("replied to ", "", "replied"),
    "repost": ("shared ", "'s post", "shared a post"),
    "quote": ("quoted ", "", "quoted a post"),
    "message": ("told ", "", "said"),
    "group": ("answered ", " in ", "wrote in "),
}
"""What stands before words: around whom they are for, and where they are for nobody."""
_PLAIN = {
    "like": "liked",
    "dislike": "disliked",
    "report": "reported",
}
_TOWARDS = {
    "follow": "followed",
    "unfollow": "unfollowed",
    "mute": "muted",
    "unmute": "unmuted",
}
_ALONE = {
    "search": ("searched for", "searched"),
    "trend": ("looked at what is trending:", "looked at what is trending"),
    "hidden": ("had a post hidden after reports:", "had a post hidden after reports"),
    "join": ("joined", "joined"),
    "leave": ("left", "left"),
}
"""What somebody does alone, with something that it is about and without."""


def sentence(kind: str, actor: str, *, target: str | None = None, text: str | None = None, parent_text: str | None = None) -> str:
    """The sentence of one episode; ids are written as `@id`.

    actor, target: readable ids without `@`. text: what was written, kept whole. parent_text: what was reacted to, cut to 80 characters, for
    kinds that have no words of their own; of a search, what was looked for; of words in a group, which.
    """
    who = f"@{actor.removeprefix('@')}"
    whom = f"@{target.removeprefix('@')}" if target else None
    said = f': "{text}"' if text else "."
    if kind in _SAID:
        before, after, alone = _SAID[kind]
        where = parent_text or "a group" if kind == "group" else ""
        return f"{who} {before}{whom}{after}{where}{said}" if whom and after is not None else f"{who} {alone}{where}{said}"
    about = f'"{cut(parent_text)}"' if parent_text else None
    if kind in _PLAIN:
        what = f"{whom}'s post" if whom else "a post"
        return f"{who} {_PLAIN[kind]} {what}: {about}" if about else f"{who} {_PLAIN[kind]} {what}."
    if kind in _TOWARDS:
        return f"{who} {_TOWARDS[kind]} {whom or 'somebody'}."
    if kind in _ALONE:
        on, alone = _ALONE[kind]
        return f"{who} {on} {about}." if about else f"{who} {alone}."
    return f"{who} did: {kind}{f' towards {whom}' if whom else ''}{said}"


def cut(text: str, limit: int = 80) -> str:
    """`text`, or its first words and an ellipsis: at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
