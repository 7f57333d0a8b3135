"""An episode becomes one sentence: what agents remember, what is embedded, what an extractor reads."""

from __future__ import annotations

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


def sentence(kind: str, actor: str, *, target: str | None = None, text: str | None = None, parent_text: str | None = None) -> str:
    """The sentence of one episode; ids are written as `@id`.

    actor, target: readable ids without `@`. text: what was written, kept whole. parent_text: what was reacted to, cut to 80 characters, for
    kinds that have no words of their own; of a search, what was looked for.
    """
    who = f"@{actor.removeprefix('@')}"
    whom = f"@{target.removeprefix('@')}" if target else None
    said = f': "{text}"' if text else "."
    match kind:
        case "post":
            return f"{who} wrote{said}"
        case "reply":
            return f"{who} replied to {whom}{said}" if whom else f"{who} replied{said}"
        case "repost":
            return f"{who} shared {whom}'s post{said}" if whom else f"{who} shared a post{said}"
        case "quote":
            return f"{who} quoted {whom}{said}" if whom else f"{who} quoted a post{said}"
        case "message":
            return f"{who} told {whom}{said}" if whom else f"{who} said{said}"
        case "group":
            return f"{who} answered {whom} in a group{said}" if whom else f"{who} wrote in a group{said}"
        case "search":
            return f'{who} searched for "{parent_text}".' if parent_text else f"{who} searched."
        case "trend":
            return f"{who} looked at what is trending."
        case "hidden":
            return (
                f'{who} had a post hidden after reports: "{_cut(parent_text)}"'
                if parent_text
                else f"{who} had a post hidden after reports."
            )
        case _ if kind in _PLAIN:
            what = f"{whom}'s post" if whom else "a post"
            return f'{who} {_PLAIN[kind]} {what}: "{_cut(parent_text)}"' if parent_text else f"{who} {_PLAIN[kind]} {what}."
        case _ if kind in _TOWARDS:
            return f"{who} {_TOWARDS[kind]} {whom}." if whom else f"{who} {_TOWARDS[kind]} somebody."
        case "join":
            return f"{who} joined."
        case "leave":
            return f"{who} left."
        case _:
            return f"{who} did: {kind}{f' towards {whom}' if whom else ''}{said}"


def _cut(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
