"""Persona states: a short text per agent, made again every `memory.refresh` ticks from what the agent did and what is believed of it.

Derived twice: from edges, which are derived from episodes. Each state names the episodes that it rests on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from simflow.episode import PERSONAS, Wording, wording
from simflow.memory import beliefs, tokens
from simflow.memory.beliefs import Edge
from simflow.memory.relations import past_of, verbs_of
from simflow.plan import Cell

_WARM = frozenset({"like", "repost", "follow", "unmute"})
_COLD = frozenset({"dislike", "report", "unfollow", "mute"})
_SPOKE = frozenset({"post", "reply", "quote", "message", "group"})
_PEOPLE = 4
_CITED = 3


class Line(NamedTuple):
    """One sentence of a state and the episodes behind it."""

    text: str
    evidence: tuple[int, ...] = ()


def personas(
    cell: Cell,
    *,
    agents: pa.Table,
    episodes: pa.Table,
    edges: pa.Table,
    start: int,
    stop: int,
    previous: pa.Table,
) -> pa.Table:
    """States at each multiple of `memory.refresh` in (start, stop]; in a run's first window at least at its end, so that there is one.

    episodes: all with tick < stop. edges: all rows learnt by `stop`. previous: states committed before. A state at tick T uses nothing that
    happened at or after T, and nothing learnt after T.
    """
    refresh = cell.memory.refresh
    due = list(range((start // refresh + 1) * refresh, stop + 1, refresh))
    if not due and start == 0 and not previous.num_rows:
        due = [stop]
    parts = [_states(cell, agents, episodes, edges, tick) for tick in due]
    return pa.concat_tables(parts) if parts else PERSONAS.empty_table()


def _states(cell: Cell, agents: pa.Table, episodes: pa.Table, edges: pa.Table, tick: int) -> pa.Table:
    refresh = cell.memory.refresh
    recent = episodes.filter(pc.and_(pc.less(episodes["tick"], tick), pc.greater_equal(episodes["tick"], tick - refresh)))
    present = beliefs.present(edges, tick)
    wanted = present.filter(pc.and_(pc.is_in(present["kind"], pa.array(["opinion", "attitude"])), pc.greater(present["count"], 0)))
    holds: dict[int, list[Edge]] = {}
    for edge in beliefs.rows(wanted):
        holds.setdefault(edge.of, []).append(edge)
    acts: dict[int, list[dict[str, Any]]] = {}
    for row in recent.select(["episode", "tick", "ordinal", "actor", "kind", "text"]).to_pylist():
        acts.setdefault(row["actor"], []).append(row)
    ids = dict(zip(agents["agent"].to_pylist(), agents["id"].to_pylist(), strict=True))
    goals = {p.name: p.goals for p in cell.personas}
    who, drafts = [], []
    for row in agents.select(["agent", "id", "name", "persona", "is_voice", "joined", "about"]).to_pylist():
        if row["joined"] < tick and not row["is_voice"]:
            who.append(row["agent"])
            drafts.append(list(_lines(row, holds.get(row["agent"], []), acts.get(row["agent"], []), goals, cell, ids, tick - 1)))
    fitted = fit(drafts, cell.memory.persona_tokens - _heading(cell))
    return pa.Table.from_arrays(
        [
            pa.array(who, pa.int32()),
            pa.array([tick] * len(who), pa.int32()),
            pa.array([text for text, _, _ in fitted], pa.string()),
            pa.array([size for _, size, _ in fitted], pa.int32()),
            pa.array([list(evidence) for _, _, evidence in fitted], pa.list_(pa.int64())),
        ],
        schema=PERSONAS,
    )


def _heading(cell: Cell) -> int:
    # A block counts its heading and the line's own marks as part of the cap. States in English fill all of it, as they always have.
    words = wording(cell.language.code)
    return 0 if words.id is None else sum(tokens.counts([f"## {words.say('block.persona')}\n\n", "- ", "\n"]))


def _lines(
    agent: Mapping[str, Any],
    edges: list[Edge],
    acts: list[dict[str, Any]],
    goals: Mapping[str, tuple[str, ...]],
    cell: Cell,
    ids: Mapping[int, str],
    as_of: int,
) -> Iterator[Line]:
    # Most telling first: what does not fit is dropped from the end.
    kind = f", {agent['persona']}" if agent["persona"] else ""
    about = f" {agent['about'].rstrip('.')}." if agent["about"] else ""
    yield Line(f"{agent['name']} (@{agent['id']}){kind}.{about}")
    words = wording(cell.language.code)
    for topic in cell.topics:
        line = _stance(
            words, topic.name, verbs_of(cell, topic.name), [e for e in edges if e.kind == "opinion" and e.on_topic == topic.name], as_of
        )
        if line:
            yield line
    yield _mood(words, acts)
    wishes = goals.get(agent["persona"] or "", ())
    if wishes:
        yield Line(words.say("persona.wants", goals="; ".join(wishes)))
    towards = [e for e in edges if e.kind == "attitude" and e.on_agent is not None and e.holds(as_of)]
    for sign, key in ((1, "persona.sides"), (-1, "persona.odds")):
        strongest = sorted((e for e in towards if e.label == sign), key=lambda e: (-e.weight, e.edge))
        people: dict[int, Edge] = {}
        for edge in strongest:
            if edge.on_agent is not None and len(people) < _PEOPLE:
                people.setdefault(edge.on_agent, edge)
        if people:
            names = ", ".join(f"@{ids.get(a, a)}" for a in people)
            yield Line(words.say(key, people=names), tuple(e for edge in people.values() for e in edge.evidence[-1:]))
    said = [a for a in acts if a["kind"] in _SPOKE and a["text"]]
    if said:
        last = max(said, key=lambda a: (a["tick"], a["ordinal"]))
        yield Line(words.say("persona.last", tick=last["tick"], words=tokens.cut(last["text"], 40)), (last["episode"],))


def _stance(words: Wording, name: str, verbs: Sequence[str], edges: list[Edge], as_of: int) -> Line | None:
    now = next((e for e in edges if e.holds(as_of)), None)
    if now is None:
        return None
    verb, topic = verbs[now.label + 1], words.say("topic", topic=name)
    once = now.count == 1
    said = words.say("persona.once", last=now.last_seen) if once else words.count("persona.times", now.count, last=now.last_seen)
    before = max(
        (e for e in edges if e.valid_to is not None and e.valid_from < e.valid_to <= now.valid_from),
        key=lambda e: e.valid_from,
        default=None,
    )
    cited, past = now.evidence[-_CITED:], ""
    if before is not None:
        was = past_of(verbs[before.label + 1], words.code)
        past = words.say("persona.before", was=was, topic=topic, start=before.valid_from)
        cited = before.evidence[-1:] + cited
    text = words.say("persona.stance", verb=f"{verb[:1].upper()}{verb[1:]}", topic=topic, since=now.valid_from, said=said, before=past)
    return Line(text, cited)


def _mood(words: Wording, acts: list[dict[str, Any]]) -> Line:
    if not acts:
        return Line(words.say("persona.quiet"))
    kinds = Counter(a["kind"] for a in acts)
    warm, cold = sum(kinds[k] for k in _WARM), sum(kinds[k] for k in _COLD)
    spoke = sum(kinds[k] for k in _SPOKE)
    if warm + cold < 3:
        mood = "talkative" if spoke >= 3 else "calm"
    else:
        share = cold / (warm + cold)
        mood = "irritated" if share > 0.5 else "tense" if share > 0.25 else "friendly"
    telling = sorted((a for a in acts if a["kind"] in _WARM | _COLD), key=lambda a: (a["tick"], a["ordinal"]))[-2:]
    counts = {"texts": spoke, "warm": warm, "cold": cold}
    told = {name: words.count(f"persona.{name}", count) for name, count in counts.items()}
    return Line(words.say("persona.mood", mood=words.say(f"persona.{mood}"), **told), tuple(a["episode"] for a in telling))


def fit(drafts: Iterable[list[Line]], cap: int) -> list[tuple[str, int, tuple[int, ...]]]:
    """(text, tokens, evidence) of each draft: as many of its first lines as stay within `cap` tokens of the final text."""
    work = [list(lines) for lines in drafts]
    sizes = tokens.counts([_text(lines) for lines in work])
    for at, size in enumerate(sizes):
        now = size
        while now > cap and len(work[at]) > 1:
            work[at].pop()
            now = tokens.count(_text(work[at]))
        if now > cap:
            work[at] = [Line(tokens.cut(work[at][0].text, cap), work[at][0].evidence)]
            now = tokens.count(_text(work[at]))
        sizes[at] = now
    return [
        (_text(lines), size, tuple(dict.fromkeys(e for line in lines for e in line.evidence)))
        for lines, size in zip(work, sizes, strict=True)
    ]


def _text(lines: list[Line]) -> str:
    return " ".join(line.text for line in lines)
