"""What each engine can do, by name, so that a scenario is refused before any work when it asks for more.

Kept apart from the engines because a scenario is checked without importing numpy; a test compares each list with its engine.
Third-party engines are asked through their `features` attribute at plan time.
"""

from __future__ import annotations

BUILTIN = frozenset(
    {
        *(f"action:{a}" for a in ("post", "reply", "repost", "quote", "like", "dislike", "follow", "unfollow", "mute")),
        *(f"dynamics:{d}" for d in ("bounded_confidence", "social_judgement", "degroot", "friedkin_johnsen")),
        *(f"event:{e}" for e in ("post", "broadcast", "nudge", "mute", "ban", "join", "leave", "feed", "agenda")),
        *(f"feed:{f}" for f in ("mix", "chronological", "hot", "interest", "follow_first")),
        *(f"language:{c}" for c in ("en", "pt", "es", "uk")),
        *(f"network:{n}" for n in ("small_world", "preferential", "blocks", "configuration", "file")),
        "people",
        "trigger",
    }
)

TRIGGER_MEASURES = ("mean", "variance", "spread", "support", "opposition", "undecided", "posts")
"""What `events.when.measure` may name in the built-in world."""

ENGINES: dict[str, frozenset[str]] = {"builtin": BUILTIN, "llm": BUILTIN, "replay": frozenset()}
"""Features of the engines in this package, by entry point name."""
