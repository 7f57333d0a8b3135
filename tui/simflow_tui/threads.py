"""Episodes as threads: who answered whom, what was reacted to, newest conversation first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simflow_tui.society import Episode

SIGNS = {
    "post": "",
    "reply": "↳",
    "repost": "⟳",
    "quote": "❝",
    "message": "✉",
    "group": "⌂",
    "like": "♥",
    "dislike": "✕",
    "follow": "→",
    "unfollow": "⇥",
    "mute": "⌀",
    "report": "!",
    "hidden": "⊘",
    "search": "?",
    "trend": "↗",
    "join": "+",
    "leave": "-",
}
"""A sign for each kind; others are shown by their name."""

STRUCTURE = frozenset({"like", "dislike", "report", "hidden", "follow", "unfollow", "mute", "unmute", "search", "trend", "join", "leave"})
"""Kinds without words: counted at what they are about, listed only when asked for."""


@dataclass(frozen=True, slots=True)
class Told:
    """An episode in its thread. `depth` of the answer, 0 for the first; `reactions` by kind."""

    episode: Episode
    depth: int
    reactions: tuple[tuple[str, int], ...] = ()


def threads(episodes: Iterable[Episode], wanted: Callable[[Episode], bool] | None = None) -> list[Told]:
    """Threads by their newest episode, newest first; within one, answers below what they answer, in order of time.

    wanted: which episodes are asked for; the others go, and those left keep their depth. An answer whose parent is not at hand
    begins its own thread.
    """
    spoken: dict[int, Episode] = {}
    loose: list[Episode] = []
    reactions: dict[int, Counter[str]] = {}
    for episode in episodes:
        if episode.kind in STRUCTURE:
            if episode.parent is not None:
                reactions.setdefault(episode.parent, Counter())[episode.kind] += 1
            if wanted is not None and wanted(episode):
                loose.append(episode)
        else:
            spoken[episode.episode] = episode
    answers: dict[int, list[Episode]] = {}
    roots: list[Episode] = []
    for episode in spoken.values():
        if episode.parent is not None and episode.parent in spoken and episode.parent != episode.episode:
            answers.setdefault(episode.parent, []).append(episode)
        else:
            roots.append(episode)
    found: list[tuple[tuple[int, int], list[Told]]] = []
    for root in roots:
        told, newest = _walk(root, answers, reactions, wanted)
        if told:
            found.append((newest, told))
    found += [((e.tick, e.ordinal), [Told(e, 0)]) for e in loose]
    found.sort(key=lambda item: item[0], reverse=True)
    return [told for _, thread in found for told in thread]


def _walk(
    root: Episode, answers: dict[int, list[Episode]], reactions: dict[int, Counter[str]], wanted: Callable[[Episode], bool] | None
) -> tuple[list[Told], tuple[int, int]]:
    told: list[Told] = []
    newest = (root.tick, root.ordinal)
    todo: list[tuple[Episode, int]] = [(root, 0)]
    seen: set[int] = set()
    while todo:
        episode, depth = todo.pop()
        if episode.episode in seen:
            continue
        seen.add(episode.episode)
        newest = max(newest, (episode.tick, episode.ordinal))
        if wanted is None or wanted(episode):
            told.append(Told(episode, depth, tuple(sorted(reactions.get(episode.episode, {}).items()))))
        below = sorted(answers.get(episode.episode, []), key=lambda e: (e.tick, e.ordinal), reverse=True)
        todo += [(answer, depth + 1) for answer in below]
    return told, newest
