"""What the society is saying: newest threads first, reactions and how often each was shown, filtered by agent, topic, kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget

from simflow_tui.figures import clip, number, plain, short
from simflow_tui.pages.page import Deed, Page
from simflow_tui.pages.watch import scenario_topics
from simflow_tui.society import Society
from simflow_tui.threads import SIGNS, Told
from simflow_tui.tones import Span
from simflow_tui.widgets.panel import Panel
from simflow_tui.widgets.rows import Column, LazyRows, Row, Rows
from simflow_tui.wrap import wrapped


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
        society, run, words = self.desk.society, self.desk.selected, self.words()
        rows = self.query_one("#threads", Rows)
        if words != self.desk.choice.words:
            self.desk.choice.words = words
            self.desk.attend()
        if society is None or run is None or society.record.path != run.record.path:
            rows.show([])
            return
        talk = self.desk.talk
        if talk is not None and talk.of[0] == run.key and not self.held and talk is not self._shown:
            self._shown = talk
            told = talk.told
            self._told = {str(t.episode.episode): t for t in told}
            rows.empty = "nothing passes the filter" if talk.words else plain(society.trouble) or "nothing has been committed yet"
            rows.show(LazyRows(list(self._told), lambda i: row(told[i], society)))
        self.whole(society)

    def path(self) -> tuple[list[str], list[Span]]:
        """The run, and up to when it can be read."""
        parts, right = super().path()
        windows = self.desk.snapshot.windows
        told: list[Span] = [(f"up to tick {number(windows.stop)}   " if windows.total else "", "dim")]
        return [*parts, "society"], [*([("HELD  ", "warn")] if self.held else []), *told, *right]

    def whole(self, society: Society) -> None:
        """The episode under the cursor, whole."""
        panel, current = self.query_one("#whole", Panel), self.query_one("#threads", Rows).current
        told = self._told.get(current.key) if current else None
        if told is None:
            panel.border_title = ""
            panel.show(lambda _w, _h: [])
            return
        from simflow.episode import label  # noqa: PLC0415 - brings pyarrow, which is here where there are episodes

        e = told.episode
        who = society.agents.get(e.actor)
        panel.border_title = f"{label(e.episode)} · {plain(e.kind)} · tick {e.tick}"
        panel.show(lambda w, h: whole_lines(told, society, w)[:h], (e.episode, told.reactions, society.seen.get(e.episode), self.size, who))

    @on(Rows.Highlighted, "#threads")
    def _highlighted(self, event: Rows.Highlighted) -> None:
        current = event.rows.current
        told = self._told.get(current.key) if current else None
        if told and event.rows.cursor > 0:  # the first row is whatever was said last: nobody has chosen it
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
        for kind in self.desk.talk.kinds if self.desk.talk else ():
            yield Deed(f"filter: {plain(kind)}", "only this kind", f"screen.only({f'kind:{kind}'!r})")
        for topic in scenario_topics(self.desk.selected.about) if self.desk.selected else []:
            yield Deed(f"filter: topic {plain(topic)}", "only texts on this topic", f"screen.only({'topic:' + topic.replace(' ', '_')!r})")

    def action_only(self, words: str) -> None:
        """One filter."""
        from simflow_tui.pages.page import Filter  # noqa: PLC0415 - used here alone

        box = self.query_one(Filter)
        box.value = words
        box.add_class("-shown")


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
