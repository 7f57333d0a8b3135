"""The society before the first tick: residents, voices, follow graph."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from simflow.errors import BadInput
from simflow.plan import Cell, Voice
from simflow.world import groups, names, network, population
from simflow.world.draws import Draws, Ints, name_key
from simflow.world.population import NEVER, VOICE, Residents, Roster
from simflow.world.posts import Posts
from simflow.world.settings import Settings
from simflow.world.society import SPARE, Society, authority, place

NEWSROOM = "newsroom"
"""The voice of posts that name no author; there from its first post on."""
LARGEST = 1 << 26
"""Most agents: the agent is part of an episode's key."""


def found(cell: Cell, settings: Settings) -> Society:
    """The society of a cell at tick 0. Raises BadInput for a cell that no world can be made of."""
    if not cell.topics:
        raise BadInput("a world needs a topic", hint="name at least one under `topics:`")
    persona, person = population.roll(cell)
    count, voices = len(persona), len(cell.voices)
    if not count:
        raise BadInput("a world needs residents", hint="set `population.agents` and a persona")
    if count + voices >= LARGEST:
        raise BadInput(f"{count:,} agents are more than a world can hold", hint=f"at most {LARGEST:,}")
    draws = Draws([cell.seed])
    agents = np.arange(count)
    residents = population.draw(cell, settings, draws, agents, persona, person)
    table = _follow_table(cell, draws, persona, person)
    heard = [population.followers(draws, voice.name, voice.followers, agents) for voice in cell.voices]
    table = np.pad(table, ((0, voices), (0, voices)), constant_values=-1)
    for k, who in enumerate(heard):
        table[who, (table[who] < 0).argmax(axis=1)] = count + k
    society = _empty(len(cell.topics), table.shape[1], settings.recent)
    society.limit = np.array([table.shape[1]], np.int64)
    society.add(residents, np.zeros(count))
    for voice in cell.voices:
        society.add_voice(name_key(voice.name), 0, 1.0)
    society.follows = table.astype(np.int32)
    society.member = np.pad(
        groups.found(cell, draws, persona, table[:count], lambda ids, what: _named(cell, draws, person, ids, what)),
        ((0, voices), (0, 0)),
        constant_values=-1,
    )
    society.authority = authority(society.follows, society.count)
    return society


def roster(cell: Cell, society: Society) -> Roster:
    """Rows of the agents table for everybody so far, by agent."""
    rows = population.roster(cell, Draws([cell.seed]), np.arange(society.count), society.persona, society.person, society.joined)
    voices = {name_key(voice.name): voice for voice in (*cell.voices, Voice(NEWSROOM, about="Where posts come from that name no author."))}
    for at in np.flatnonzero(society.persona < 0).tolist():
        voice = voices[int(society.voice[at])]
        rows.id[at], rows.name[at] = names.handle(voice.name), voice.name
        rows.is_voice[at] = True
        rows.about[at] = voice.about or None
    if len(set(rows.id)) < len(rows.id):
        double = next(one for one in rows.id if rows.id.count(one) > 1)
        raise BadInput(f"two agents are called '{double}'", hint="ids of people and names of voices must differ")
    return rows


def _follow_table(cell: Cell, draws: Draws, persona: Ints, person: Ints) -> Ints:
    count = len(persona)
    agents = np.arange(count)
    groups = population.groups(cell, draws, agents, persona, person)
    edges = _from_file(cell, draws, person) if cell.network.shape == "file" else network.build(cell.network, draws, count, groups)
    added = [
        (who, target)
        for who in np.flatnonzero(person >= 0).tolist()
        for target in _named(cell, draws, person, cell.people[person[who]].follows, f"person '{cell.people[person[who]].id}' follows")
    ]
    if added:
        more = np.array(added, np.int64)
        edges = network.tidy(np.concatenate([edges[0], more[:, 0]]), np.concatenate([edges[1], more[:, 1]]), count)
    most = int(np.bincount(edges[0], minlength=count).max(initial=0)) if cell.network.shape == "file" else _most_links(cell)
    return place(edges, count, most + SPARE)


def _most_links(cell: Cell) -> int:
    """The most accounts that anybody follows at the start, whatever the seed."""
    links = cell.network.links
    return links + (links // 2 if cell.network.shape == "configuration" else 0) + max((len(p.follows) for p in cell.people), default=0)


def _from_file(cell: Cell, draws: Draws, person: Ints) -> network.Edges:
    followers = _named(cell, draws, person, tuple(a for a, _ in cell.network.edges), "an edge starts at")
    followees = _named(cell, draws, person, tuple(b for _, b in cell.network.edges), "an edge ends at")
    return network.tidy(np.array(followers, np.int64), np.array(followees, np.int64), len(person))


def _named(cell: Cell, draws: Draws, person: Ints, wanted: tuple[str, ...], where: str) -> list[int]:
    if not wanted:
        return []
    ids, _ = names.names(draws, np.arange(len(person)), cell.language.code)
    known = {name: k for k, name in enumerate(ids) if person[k] < 0} | {
        cell.people[p].id: k for k, p in enumerate(person.tolist()) if p >= 0
    }
    found = []
    for name in wanted:
        if name in known:
            found.append(known[name])
        elif name.isdecimal() and int(name) < len(person):
            found.append(int(name))
        else:
            raise BadInput(f"{where} '{name}', who does not exist", hint="use ids of the people file, or the index of a resident")
    return found


def _empty(topics: int, cap: int, recent: int) -> Society:
    blank = Residents(
        persona=np.full(0, VOICE, np.int16),
        person=np.empty(0, np.int32),
        stance=np.empty((0, topics), np.int64),
        susceptibility=np.empty((0, topics)),
        stubbornness=np.empty((0, topics)),
        confidence=np.empty(0),
        rejection=np.empty(0),
        contrarian=np.empty(0, np.int8),
        activity=np.empty(0),
        propensity=np.empty(0),
        talk=np.empty(0),
        interests=np.empty((0, topics)),
        phase=np.empty(0, np.int8),
        joined=np.empty(0, np.int32),
        left=np.full(0, NEVER, np.int32),
    )
    same = {f.name: getattr(blank, f.name) for f in fields(blank) if f.name != "stance"}
    return Society(
        **same,
        voice=np.empty(0, np.int64),
        x=blank.stance,
        x0=blank.stance,
        authority=np.empty(0),
        seen=np.empty(0, np.int32),
        said=np.empty(0, np.int32),
        follows=np.empty((0, cap), np.int32),
        last=np.full((1, recent), -1, np.int64),
        mutes=np.empty(0, np.int64),
        fired=np.empty((0, 3), np.int64),
        limit=np.zeros(1, np.int64),
        member=np.empty((0, 0), np.int32),
        shown=np.empty(0, np.int64),
        pulse=np.empty((0, 2), np.int64),
        posts=Posts(),
    )
