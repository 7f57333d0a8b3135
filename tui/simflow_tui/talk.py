"""What a society is saying just now: its newest threads, of those that pass a filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simflow_tui.society import Episode, Society
from simflow_tui.threads import Told, threads
from simflow_tui.watch import RunView

MOST = 600
"""Episodes that are listed; the rest is reached by filtering."""


@dataclass(frozen=True)
class Talk:
    """Threads as they were when the society was `of` (run, version), filtered by `words`; `kinds` are those of all that is kept."""

    of: tuple[str, int]
    words: str = ""
    told: tuple[Told, ...] = ()
    kinds: tuple[str, ...] = ()


def talk(society: Society, words: str, run: RunView) -> Talk:
    """The newest threads that pass the filter."""
    version, episodes = society.version, list(society.episodes)
    told = threads(episodes, chooser(society, words, run.about) if words else None)
    return Talk((run.key, version), words, tuple(told[:MOST]), tuple(sorted({e.kind for e in episodes})))


def chooser(society: Society, words: str, about: Mapping[str, Any]) -> Callable[[Episode], bool]:
    """A filter's words as a test of episodes: all must hold."""
    tests = [_test(word, society, about) for word in words.lower().split()]
    return lambda e: all(test(e) for test in tests)


def _test(word: str, society: Society, about: Mapping[str, Any]) -> Callable[[Episode], bool]:
    name, colon, value = word.partition(":")
    if word.startswith("@"):
        agents = {a.agent for a in society.agents.values() if a.id.lower().startswith(word[1:]) or a.name.lower().startswith(word[1:])}
        return lambda e: e.actor in agents or e.target in agents
    if colon and name == "kind":
        return lambda e: e.kind.startswith(value)
    if colon and name == "persona":
        members = {a.agent for a in society.agents.values() if value.replace("_", " ") in a.persona.lower()}
        return lambda e: e.actor in members
    if colon and name == "topic":
        needles = topic_words(about, value.replace("_", " "))
        return lambda e: any(n in (e.text or "").lower() for n in needles)
    return lambda e: word in (e.text or "").lower() or word in (e.event or "").lower()


def topic_words(about: Mapping[str, Any], name: str) -> list[str]:
    """The words of every topic whose name holds `name`, its own name among them."""
    cell = about.get("cell")
    topics = cell.get("topics") if isinstance(cell, Mapping) else None
    found: list[str] = []
    for topic in topics if isinstance(topics, list | tuple) else ():
        if isinstance(topic, Mapping) and name in str(topic.get("name", "")).lower():
            found += [str(topic["name"]).lower(), *(str(w).lower() for w in topic.get("words") or ())]
    return found or [name]
