"""The memory block: what an agent is given for a turn, as text within its caps and as data with its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simflow.episode import label, wording
from simflow.memory import tokens
from simflow.memory.budget import Dropped, Line, choose

SECTIONS = ("persona", "relation", "episode", "scan")


@dataclass(frozen=True, slots=True)
class Block:
    """text: what the agent reads, `tokens` long, never more than `total`. lines: what is in it; dropped: what is not, and why.

    reading: how the situation was understood (agents, topics, time). caps, used: tokens by kind.
    """

    agent: int
    tick: int
    about: str
    text: str
    tokens: int
    total: int
    lines: tuple[Line, ...]
    dropped: tuple[Dropped, ...]
    caps: Mapping[str, int]
    used: Mapping[str, int]
    reading: Mapping[str, object]

    def __str__(self) -> str:
        return self.text

    @property
    def episodes(self) -> tuple[int, ...]:
        """Episodes that are in the block as lines, in its order."""
        return tuple(line.episode for line in self.lines if line.episode is not None)

    @property
    def edges(self) -> tuple[int, ...]:
        """Edges that are in the block as lines, in its order."""
        return tuple(line.edge for line in self.lines if line.edge is not None)

    def plain(self) -> dict[str, Any]:
        """As JSON values; episode and edge ids as their labels."""
        return {
            "agent": self.agent,
            "tick": self.tick,
            "about": self.about,
            "reading": dict(self.reading),
            "text": self.text,
            "tokens": self.tokens,
            "total": self.total,
            "caps": dict(self.caps),
            "used": dict(self.used),
            "lines": [_plain(line) for line in self.lines],
            "dropped": [{**_plain(d.line), "why": d.why} for d in self.dropped],
        }


def build(
    lines: Sequence[Line],
    caps: Mapping[str, int],
    *,
    agent: int,
    tick: int,
    about: str,
    reading: Mapping[str, object],
    total: int | None = None,
    language: str | None = None,
) -> Block:
    """Choose among `lines`, render, and measure the rendered text; lines of the least value go until it fits.

    language: of the headings, as `simflow.episode.wording` has them.
    """
    room = sum(caps.values()) if total is None else total
    overhead = {kind: tokens.count(f"## {heading(kind, language)}\n\n") for kind in SECTIONS}
    chosen = choose(lines, caps, overhead, total=room)
    kept, dropped = list(chosen.lines), list(chosen.dropped)
    text = render(kept, dropped, language)
    while kept and (size := tokens.count(text)) > room:
        worst = min(kept, key=lambda line: (line.kind == "persona", line.value / max(line.tokens, 1)))
        kept.remove(worst)
        dropped.append(Dropped(worst, f"the whole block had {size} tokens, more than its {room}"))
        text = render(kept, dropped, language)
    return Block(
        agent=agent,
        tick=tick,
        about=about,
        text=text,
        tokens=tokens.count(text),
        total=room,
        lines=tuple(kept),
        dropped=tuple(dropped),
        caps=dict(caps),
        used={kind: tokens.count(section(kept, kind, language)) for kind in caps},
        reading=reading,
    )


def render(lines: Sequence[Line], dropped: Sequence[Dropped] = (), language: str | None = None) -> str:
    """The block as Markdown: one section for each kind that has lines; a last line counts what was left out."""
    parts = [text for kind in SECTIONS if (text := section(lines, kind, language))]
    if dropped and parts:
        parts.append(wording(language).count("block.left_out", len(dropped)) + "\n")
    return "\n".join(parts)


def section(lines: Sequence[Line], kind: str, language: str | None = None) -> str:
    """One section with its heading; empty if there are no lines of the kind."""
    said = [line.text for line in lines if line.kind == kind]
    if not said:
        return ""
    body = said if kind == "persona" else [f"- {text}" for text in said]
    return "\n".join([f"## {heading(kind, language)}", *body, ""])


def heading(kind: str, language: str | None = None) -> str:
    """What stands above a section."""
    return wording(language).say(f"block.{kind}")


def _plain(line: Line) -> dict[str, Any]:
    return {
        "kind": line.kind,
        "text": line.text,
        "value": round(line.value, 6),
        "tokens": line.tokens,
        "tick": line.tick,
        "episode": None if line.episode is None else label(line.episode),
        "edge": None if line.edge is None else label(line.edge),
        "refs": [label(r) for r in line.refs],
    }
