"""What structure says without reading: likes, shares, follows and their opposites become claims by rule.

The confidences are how often such an act means what it is taken for, chosen by hand; `simflow eval memory` shows what they are worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simflow.ports import Finding


class Rule(NamedTuple):
    """What an act says about the actor's attitude towards its target, and whether it shows that the target moved the actor."""

    value: float
    confidence: float
    influence: float


RULES: dict[str, Rule] = {
    "like": Rule(0.6, 0.85, 0.5),
    "repost": Rule(0.8, 0.9, 0.8),
    "follow": Rule(0.7, 0.9, 0.0),
    "dislike": Rule(-0.6, 0.85, 0.0),
    "report": Rule(-0.9, 0.9, 0.0),
    "unfollow": Rule(-0.7, 0.9, 0.0),
    "mute": Rule(-0.9, 0.9, 0.0),
    "unmute": Rule(0.3, 0.5, 0.0),
}
"""By episode kind. Other structured kinds (join, leave, ...) say nothing about relations."""


def read(kind: str, episode: int, actor: int, target: int | None, topic: str | None, declared: frozenset[str]) -> list[Finding]:
    """Findings of one structured episode; none if it has no target, aims at its own actor, or says nothing.

    topic: what the liked or shared post is about, None if unknown or if there is no post. declared: relation kinds that the scenario wants.
    """
    rule = RULES.get(kind)
    if rule is None or target is None or target == actor:
        return []
    found = []
    if "attitude" in declared:
        found.append(Finding(episode, "attitude", actor, target, None, topic, rule.value, rule.confidence))
    if "influence" in declared and rule.influence and topic is not None:
        found.append(influence(episode, actor, target, topic, rule.influence, rule.confidence))
    return found


def follow_up(findings: Sequence[Finding], declared: frozenset[str]) -> list[Finding]:
    """Influence that read attitudes show: who answers in agreement was reached. None where the extractor says influence itself."""
    if "influence" not in declared:
        return []
    said = {f.episode for f in findings if f.kind == "influence"}
    return [
        influence(f.episode, f.of, f.on_agent, f.about, f.value, f.confidence)
        for f in findings
        if f.kind == "attitude" and f.value > 0 and f.on_agent is not None and f.about is not None and f.episode not in said
    ]


def influence(episode: int, moved: int, by: int, topic: str, value: float, confidence: float) -> Finding:
    """That `by` moved `moved`: held by the one who moves, on the one who is moved."""
    return Finding(episode, "influence", by, moved, None, topic, value, confidence)
