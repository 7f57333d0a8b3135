"""What each engine can do, by name, so that a scenario is refused before any work when it asks for more.

Kept apart from the engines because a scenario is checked without importing numpy; a test compares each list with its engine.
Third-party engines are asked through their `features` attribute at plan time.
"""

from __future__ import annotations

BUILTIN = frozenset(
    {
        *(f"action:{a}" for a in ("post", "reply", "repost", "quote", "like", "dislike", "follow", "unfollow", "mute")),
        *(f"action:{a}" for a in ("report", "group", "message", "search", "trend")),
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

ENGINES: dict[str, frozenset[str]] = {"builtin": BUILTIN, "llm": BUILTIN, "replay": frozenset({"topic_by"})}
"""Features of the engines in this package, by entry point name."""

KINDS = (
    "post",
    "reply",
    "repost",
    "quote",
    "message",
    "group",
    "like",
    "dislike",
    "follow",
    "unfollow",
    "mute",
    "unmute",
    "report",
    "hidden",
    "search",
    "trend",
    "join",
    "leave",
)
"""Kinds of episode that some engine writes."""

TABLES = ("agents", "episodes", "exposures", "turns", "claims", "edges", "personas", "measures")
"""Tables of a run that `outputs` may name."""

BY_PERSONA = ("mean", "variance", "people")
"""Measures that are also taken for each persona."""

MEASURES = (
    *("mean", "variance", "people", "bimodality", "esteban_ray", "spread", "dispersion", "coverage", "camps", "stance_entropy"),
    *("drift", "divergence", "consensus", "cluster_polarization", "size_parity", "flips", "flips_per_1000"),
    *("share_against", "share_undecided", "share_for", *(f"share_class_{k}" for k in range(5))),
    *("assortativity", "ei_sides", "ei_personas", "modularity_sides", "controversy"),
    *("exposure_diversity", "cross_cutting", "narrative_reach", "influence", "influence_gini", "influence_top10"),
    *("events", "exposures", "participation", "silent_share", "posting_gini", "posting_top10", "engagement_gini", "engagement_top10"),
    *(
        "distinct_texts",
        "feed_fill",
        "cascades",
        "virality_mean",
        *(f"cascade_{n}_{m}" for n in ("size", "depth", "breadth") for m in ("mean", "max")),
    ),
    *(f"events_{k}" for k in KINDS),
)
"""Names of the measures of a window, for `checks` and `patterns`."""
