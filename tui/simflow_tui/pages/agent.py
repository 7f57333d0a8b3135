"""One agent: persona state, opinions over time, relations, what it said and did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from simflow_tui.figures import clip, fit, number, plain, stance
from simflow_tui.pages.page import Deed, Page, matches
from simflow_tui.pages.runs import said_line
from simflow_tui.pages.watch import scenario_events, topic_scale
from simflow_tui.society import Agent, Society
from simflow_tui.story import Relation, Story
from simflow_tui.tones import Span
from simflow_tui.widgets.panel import Panel
from simflow_tui.widgets.plot import Line, plot
from simflow_tui.widgets.rows import Column, Row, Rows
from simflow_tui.wrap import wrapped


class AgentPage(Page):
    """Who somebody is."""

    MODE = "agent"
    FILTER = "name or id, persona:pensioner"
    HELP = """\
# Agent

Choose an agent on the left. **State** is the text that an agent brings to each turn; it is distilled twice and can be wrong.
**Opinions** are the beliefs that memory holds of it, from the tick on from which each is in force. **Relations** are what is in force
now. `m` asks its memory in a situation, `b` walks a belief down to the raw events.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.go('memory')", "ask its memory", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown: object = None
        self._followed: int | None = None

    def body(self) -> Iterator[Widget]:
        """Agents on the left, one of them on the right."""
        with Horizontal(id="body"):
            yield Rows(
                Column("agent", 14, grow=2),
                Column("name", 10, grow=2, rank=2),
                Column("kind", 8, grow=1, rank=1),
                id="agents",
                opens="ask memory",
            )
            with Vertical(id="one"):
                yield Panel("state", id="state")
                yield Panel("opinions", id="opinions")
                with Horizontal(id="below"):
                    yield Rows(
                        Column("relation", 20, grow=2),
                        Column("value", 5, right=True),
                        Column("since", 6, right=True, rank=1),
                        Column("said", 4, right=True, rank=2),
                        id="relations",
                        cursor_sign=False,
                        opens="",
                        empty="no belief about it is in force",
                    )
                yield Panel("said and did", id="said")

    def update(self) -> None:
        """The list, and what is known of the one under the cursor."""
        society = self.desk.society
        if society is None:
            return
        words = self.words()
        state = (society.record.path, len(society.agents), words)
        rows, choice = self.query_one("#agents", Rows), self.desk.choice
        if state != self._shown:
            self._shown = state
            agents = sorted(society.agents.values(), key=lambda a: (a.is_voice, a.agent))
            rows.show([agent_row(a) for a in agents if passes(a, words)])
            self._followed = None
        if choice.agent is None and rows.current:
            self._followed = int(rows.current.key)
            self.desk.choose_agent(self._followed)
        elif choice.agent is not None and choice.agent != self._followed:  # chosen elsewhere: the cursor goes there, once
            self._followed = choice.agent
            rows.select(str(choice.agent))
        self.one(society)

    def one(self, society: Society) -> None:
        """The right side."""
        agent = society.agents.get(self.desk.choice.agent if self.desk.choice.agent is not None else -1)
        told = self.desk.story if agent and self.desk.story and self.desk.story.agent == agent.agent else None
        key = (agent, id(told), self.size)
        self.query_one("#state", Panel).show(lambda w, h: state_lines(agent, told, w)[:h], key)
        run = self.desk.selected
        about = run.about if run else {}
        end = run.progress.ticks if run else 1
        topics = list(told.opinions) if told else []
        lines = [Line(plain(t), tuple(told.opinions[t])) for t in topics] if told else []
        scale = topic_scale(about, topics[0]) if topics else []
        self.query_one("#opinions", Panel).show(lambda w, h: plot(lines, w, h, end=end, events=scenario_events(about), scale=scale), key)
        self.query_one("#relations", Rows).show([relation_row(r, society) for r in told.relations] if told else [])
        self.query_one("#said", Panel).show(lambda w, h: [said_line(t, s, w) for t, _, s in (told.said[:h] if told else [])], key)

    def path(self) -> tuple[list[str], list[Span]]:
        """The run and the agent."""
        parts, right = super().path()
        society, chosen = self.desk.society, self.desk.choice.agent
        who = society.agents.get(chosen) if society and chosen is not None else None
        return [*parts, f"@{who.id}" if who else "agents"], right

    def command(self) -> str:
        """Its beliefs as text."""
        run, society, chosen = self.desk.selected, self.desk.society, self.desk.choice.agent
        return f"simflow explain {run.id} {society.who(chosen)}" if run and society and chosen is not None else super().command()

    def deeds(self) -> Iterator[Deed]:
        """To its memory and beliefs."""
        yield Deed("agent: ask its memory", "the recall playground for this agent (key m)", "app.go('memory')")
        yield Deed("agent: its beliefs", "walk a belief to the raw events (key b)", "app.go('belief')")

    @on(Rows.Highlighted, "#agents")
    def _highlighted(self, event: Rows.Highlighted) -> None:
        row = event.rows.current  # what the message tells may be of a moment ago
        if row and event.rows.has_focus:
            self._followed = int(row.key)
            self.desk.choose_agent(self._followed)
            self.news()

    @on(Rows.Opened, "#agents")
    def _opened(self, event: Rows.Opened) -> None:
        if event.row:
            self.desk.choose_agent(int(event.row.key))
            self.desk.action_go("memory")


def passes(agent: Agent, words: str) -> bool:
    """Whether an agent passes the filter."""
    return matches(words.replace("@", ""), {"persona": agent.persona}, f"{agent.id} {agent.name} {agent.persona}")


def agent_row(agent: Agent) -> Row:
    """One agent as a row."""
    kind = "voice" if agent.is_voice else plain(agent.persona)
    return Row(str(agent.agent), ((f"@{plain(agent.id)}", "accent" if agent.is_voice else "name"), plain(agent.name), (kind, "dim")))


def state_lines(agent: Agent | None, told: Story | None, width: int) -> list[list[Span]]:
    """Who it is, and the state that it brings to each turn."""
    if agent is None:
        return [[("choose an agent", "dim")]]
    first: list[Span] = [
        (f"@{plain(agent.id)}", "name"),
        (f"  {plain(agent.name)}", "head"),
        (f"  {plain(agent.persona) or 'voice'}", "dim"),
    ]
    if told is None or not told.windows:
        return [first, [("reading…", "dim")]]
    facts = f"state of tick {told.state_tick}   was shown {number(told.shown)} posts   {len(told.said)} own acts at hand"
    lines: list[list[Span]] = [first, [(clip(facts, width), "dim")]]
    if told.trouble:
        lines.append([(clip(plain(told.trouble), width), "warn")])
    lines += [[(line, "")] for line in wrapped(plain(told.state) or "no persona state has been made yet", width)]
    return lines


def relation_row(relation: Relation, society: Society) -> Row:
    """A belief in force as a row."""
    on = plain(relation.on_topic) if relation.on_agent is None else plain(society.who(relation.on_agent))
    about: list[Span] = [(f" on {plain(relation.about)}", "dim")] if relation.about else []
    tone = "good" if relation.value > 0.15 else "bad" if relation.value < -0.15 else "dim"
    return Row(
        str(relation.edge),
        (
            ((f"{plain(relation.kind)} ", "dim"), (on, "name" if relation.on_agent is not None else ""), *about),
            (stance(relation.value), tone),
            (str(relation.since), "dim"),
            (fit(f"{relation.count}×", 4, right=True), "dim"),
        ),
    )
