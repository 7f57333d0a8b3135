"""What the society is saying: newest threads first, reactions and how often each was shown, filtered by agent, topic, kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget

from simflow.episode import label
from simflow_tui.figures import clip, number, plain, short
from simflow_tui.pages.page import Deed, Page
from simflow_tui.pages.watch import scenario_topics
from simflow_tui.society import Episode, Society
from simflow_tui.threads import SIGNS, Told, threads
from simflow_tui.tones import Span
from simflow_tui.widgets.panel import Panel
from simflow_tui.widgets.rows import Column, Row, Rows
from simflow_tui.wrap import wrapped

MOST = 600
"""Rows that are listed; the rest is reached by filtering."""


class SocietyPage(Page):
    """Live episodes as threads."""

    MODE = "society"
    FILTER = "words, @rosa, kind:reply, topic:tariff, persona:pensioner"
    HELP = """\
# Society

The newest committed episodes as threads: the thread with the newest word comes first, answers stand below what they answer.
`seen` counts how often it was shown in a feed. `♥` likes, `✕` dislikes, `⟳` shares.

| filter | keeps |
|---|---|
| `@rosa` | what that agent did, and what was aimed at it |
| `kind:reply` | one kind; `kind:like` lists reactions too |
| `topic:tariff` | texts that use one of the topic's words |
| `persona:pensioner` | what residents of that kind did |

`space` holds the list still while the run goes on; enter opens the author's memory.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "hold", "hold"),
        Binding("enter", "author", "author", show=False),
        Binding("v", "memory", "recall here"),
    ]

    held = False

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[str, Told] = {}
        self._shown: object = None

    def body(self) -> Iterator[Widget]:
        """Threads, and the whole of the one under the cursor."""
        with Vertical(id="body"):
            yield Rows(
                Column("tick", 6, right=True),
                Column("who", 14, rank=0),
                Column("says", 24, grow=1),
                Column("reactions", 12, rank=2),
                Column("seen", 5, right=True, rank=1),
                id="threads",
                opens="author",
                empty="nothing has been committed yet",
            )
            yield Panel(id="whole")

    def update(self) -> None:
        """Rows from what has been read."""
        society, words = self.desk.society, self.words()
        rows = self.query_one("#threads", Rows)
        if society is None or self.desk.selected is None or society.record.path != self.desk.selected.record.path:
            rows.show([])
            return
        state = (society.record.path, len(society.done), words, sum(society.seen.values()))
        if not self.held and state != self._shown:
            self._shown = state
            wanted = chooser(society, words, self.desk.selected.about) if words else None
            told = threads(list(society.episodes), wanted)[:MOST]
            self._told = {str(t.episode.episode): t for t in told}
            rows.empty = "nothing passes the filter" if words else plain(society.trouble) or "nothing has been committed yet"
            rows.show([row(t, society) for t in told])
        self.whole(society)

    def path(self) -> tuple[list[str], list[Span]]:
        """The run, and up to when it can be read."""
        parts, right = super().path()
        windows = self.desk.snapshot.windows
        told: list[Span] = [(f"up to tick {number(windows[-1].stop)}   " if windows else "", "dim")]
        return [*parts, "society"], [*([("HELD  ", "warn")] if self.held else []), *told, *right]

    def whole(self, society: Society) -> None:
        """The episode under the cursor, whole."""
        panel, current = self.query_one("#whole", Panel), self.query_one("#threads", Rows).current
        told = self._told.get(current.key) if current else None
        if told is None:
            panel.border_title = ""
            panel.show(lambda _w, _h: [])
            return
        e = told.episode
        who = society.agents.get(e.actor)
        panel.border_title = f"{label(e.episode)} · {plain(e.kind)} · tick {e.tick}"
        panel.show(lambda w, h: whole_lines(told, society, w)[:h], (e.episode, told.reactions, society.seen.get(e.episode), self.size, who))

    @on(Rows.Highlighted, "#threads")
    def _highlighted(self, event: Rows.Highlighted) -> None:
        told = self._told.get(event.row.key) if event.row else None
        if told:
            self.desk.choice.agent = told.episode.actor
        if self.desk.society:
            self.whole(self.desk.society)

    @on(Rows.Opened, "#threads")
    def _opened(self) -> None:
        self.action_author()

    def action_author(self) -> None:
        """The agent that said it."""
        told = self._current()
        if told:
            self.desk.choice.agent = told.episode.actor
            self.desk.action_go("agent")

    def action_memory(self) -> None:
        """What the agent that was answered would remember of this."""
        told = self._current()
        if told:
            e = told.episode
            self.desk.choice.agent = e.target if e.target is not None else e.actor
            self.desk.choice.tick = e.tick
            self.desk.choice.situation = plain(e.text or "")
            self.desk.action_go("memory")

    def _current(self) -> Told | None:
        current = self.query_one("#threads", Rows).current
        return self._told.get(current.key) if current else None

    def action_hold(self) -> None:
        """Hold the list still, or let it go on."""
        self.held = not self.held
        self._shown = None
        self.news()

    def deeds(self) -> Iterator[Deed]:
        """Filters by kind and topic."""
        yield Deed("society: hold", "hold the list still while the run goes on (key space)", "screen.hold")
        kinds = {e.kind for e in self.desk.society.episodes} if self.desk.society else set()
        for kind in sorted(kinds):
            yield Deed(f"filter: {plain(kind)}", "only this kind", f"screen.only({f'kind:{kind}'!r})")
        for topic in scenario_topics(self.desk.selected.about) if self.desk.selected else []:
            yield Deed(f"filter: topic {plain(topic)}", "only texts on this topic", f"screen.only({'topic:' + topic.replace(' ', '_')!r})")

    def action_only(self, words: str) -> None:
        """One filter."""
        from simflow_tui.pages.page import Filter  # noqa: PLC0415 - used here alone

        box = self.query_one(Filter)
        box.value = words
        box.add_class("-shown")


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


def row(told: Told, society: Society) -> Row:
    """One episode as a row."""
    e = told.episode
    indent = "  " * min(told.depth, 8) if told.depth else ""
    sign = SIGNS.get(e.kind, plain(e.kind))
    text = plain(e.text) if e.text else plain(f"{e.kind} {society.who(e.target)}")
    reactions: list[Span] = []
    for kind, count in told.reactions:
        reactions += [
            (f"{SIGNS.get(kind, plain(kind))}{short(count)} ", "good" if kind == "like" else "bad" if kind == "dislike" else "dim")
        ]
    seen = society.seen.get(e.episode)
    who = society.agents.get(e.actor)
    return Row(
        str(e.episode),
        (
            (str(e.tick), "faint"),
            (plain(society.who(e.actor)), "accent" if who and who.is_voice else "name"),
            ((indent, ""), (f"{sign} " if sign else "", "dim"), (text, "" if e.text else "dim")),
            tuple(reactions) or "",
            (short(seen) if seen else "", "dim"),
        ),
    )


def whole_lines(told: Told, society: Society, width: int) -> list[list[Span]]:
    """An episode in full: who, to whom, what, caused by what, how it was taken."""
    e = told.episode
    who = society.agents.get(e.actor)
    first: list[Span] = [(plain(society.who(e.actor)), "name")]
    if who:
        first += [("  " + plain(who.name), ""), (f"  {plain(who.persona) or ('voice' if who.is_voice else '')}", "dim")]
    if e.target is not None:
        first += [("  → ", "faint"), (plain(society.who(e.target)), "name")]
    lines: list[list[Span]] = [first]
    lines += [[(line, "")] for line in wrapped(plain(e.text or ""), width)]
    taken = "  ".join(f"{SIGNS.get(k, k)} {k} {n}" for k, n in told.reactions)
    seen = society.seen.get(e.episode, 0)
    lines.append([(clip(f"seen {seen}   {taken}" + (f"   event: {plain(e.event)}" if e.event else ""), width), "dim")])
    return lines
