"""Which agents a text names: by handle, by name, by an unmistakable part of a name. Homonyms are kept apart."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from simflow.errors import BadInput, NotFound
from simflow.memory.topics import words

_HANDLE = re.compile(r"@([\w][\w.\-]*\w|\w)")


@dataclass(frozen=True, slots=True)
class Links:
    """agents: named without doubt, in order of appearance. ambiguous: words that mean more than one agent, and which ones."""

    agents: tuple[int, ...]
    ambiguous: Mapping[str, tuple[int, ...]]


class Names:
    """Ids, names and aliases of a run's agents. An alias is one word of a name of several words; it counts where it is capitalised."""

    def __init__(self, agents: pa.Table) -> None:
        self.index: list[int] = agents["agent"].to_pylist()
        self.ids: dict[int, str] = dict(zip(self.index, agents["id"].to_pylist(), strict=True))
        self.names: dict[int, str] = dict(zip(self.index, agents["name"].to_pylist(), strict=True))
        self._handles = {identity.casefold().removeprefix("@"): agent for agent, identity in self.ids.items()}
        self._full: dict[tuple[str, ...], list[int]] = {}
        self._alias: dict[str, list[int]] = {}
        for agent, name in self.names.items():
            key = tuple(w for w, _, _ in words(name))
            if not key:
                continue
            self._full.setdefault(key, []).append(agent)
            if len(key) > 1 and name[:1].isupper():
                for word in dict.fromkeys(key):
                    if len(word) > 2:
                        self._alias.setdefault(word, []).append(agent)
        self._longest = max(map(len, self._full), default=0)

    def link(self, text: str) -> Links:
        """Agents named in a text. A handle always decides; a name that several share is ambiguous unless one of them has its handle there."""
        found: dict[int, int] = {}
        taken: list[tuple[int, int]] = []
        for match in _HANDLE.finditer(text):
            taken.append(match.span())
            agent = self._handles.get(match.group(1).casefold())
            if agent is not None:
                found.setdefault(agent, match.start())
        unclear: dict[str, tuple[int, ...]] = {}
        tokens = [t for t in words(text) if not any(low <= t[1] < high for low, high in taken)]
        at = 0
        while at < len(tokens):
            size, who = self._at(tokens, at, text)
            if who:
                said, begin = text[tokens[at][1] : tokens[at + size - 1][2]], tokens[at][1]
                known = [a for a in who if a in found]
                if len(who) == 1:
                    found.setdefault(who[0], begin)
                elif not known:
                    unclear[said] = tuple(who)
            at += max(size, 1)
        unclear = {said: who for said, who in unclear.items() if not any(a in found for a in who)}
        return Links(tuple(sorted(found, key=lambda a: (found[a], a))), unclear)

    def _at(self, tokens: list[tuple[str, int, int]], at: int, text: str) -> tuple[int, list[int]]:
        for size in range(min(self._longest, len(tokens) - at), 0, -1):
            who = self._full.get(tuple(w for w, _, _ in tokens[at : at + size]))
            # A name of one word may be an ordinary word: there it has to be written as a name is.
            if who and (size > 1 or text[tokens[at][1]].isupper() or not self.names[who[0]][:1].isupper()):
                return size, who
        word, begin, _ = tokens[at]
        if text[begin].isupper() and (who := self._alias.get(word)):
            return 1, who
        return 0, []

    def find(self, name: str) -> int:
        """The agent that a person means: its index, id, @id, or name. Raises NotFound, or BadInput with the candidates of a homonym."""
        wanted = name.strip()
        if wanted.isdigit() and int(wanted) in self.ids:
            return int(wanted)
        handle = wanted.removeprefix("@").casefold()
        if handle in self._handles:
            return self._handles[handle]
        key = tuple(w for w, _, _ in words(wanted))
        who = self._full.get(key) or (self._alias.get(key[0]) if len(key) == 1 else None) or []
        if len(who) == 1:
            return who[0]
        if who:
            candidates = ", ".join(f"@{self.ids[a]} ({self.names[a]})" for a in who[:8]) + (
                f" and {len(who) - 8} more" if len(who) > 8 else ""
            )
            raise BadInput(f"'{name}' is the name of {len(who)} agents", hint=f"say which by id: {candidates}")
        close = difflib.get_close_matches(handle, self._handles, 3) or list(self._handles)[:3]
        raise NotFound(f"there is no agent '{name}'", hint=f"an index, an id or a name, such as {', '.join('@' + c for c in close)}")

    def show(self, agent: int) -> str:
        """`@id`."""
        return f"@{self.ids.get(agent, agent)}"
