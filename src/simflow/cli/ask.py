"""`simflow ask`: the scenario's questions, put to agents' memories."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simflow.errors import BadInput, NotFound
from simflow.runs import place

if TYPE_CHECKING:
    from simflow.memory.facade import MemoryView
    from simflow.plan import Ask, Cell

VERBS = {-1: "against", 0: "undecided", 1: "for", None: "no opinion yet"}


@click.command()
@click.argument("run")
@click.argument("name", required=False)
@click.option("--question", help="A question of your own instead of the scenario's.")
@click.option("--who", multiple=True, metavar="PERSONA|AGENT", help="Whom to ask; default: everybody that the scenario says.")
@click.option("--tick", type=int, help="When to ask; default: the scenario's tick, or the end of the run.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
def ask(run: str, name: str | None, question: str | None, who: tuple[str, ...], tick: int | None, as_json: bool, root: Path | None) -> None:
    """Put the questions of RUN's scenario (or the one called NAME) to agents, and answer from what each remembers.

    No model speaks: an answer is the opinion that the agent's own memory holds at that tick, with the episodes it rests on.
    """
    from simflow.memory.facade import MemoryView
    from simflow.plan import Ask
    from simflow.runs import find_run, home
    from simflow.store import Store

    state = root or home()
    data = Store(state).open(find_run(state, run))
    view = MemoryView(data)
    cell = data.cell
    asks = [Ask("question", question, data.end if tick is None else tick)] if question else _chosen(cell, name)
    results = [_put(view, cell, one, who, data.end if tick is None else tick, given=tick is not None) for one in asks]
    if as_json:
        click.echo(json.dumps(results, indent=1, ensure_ascii=False))
    else:
        click.echo("\n\n".join(words(result) for result in results))


def _chosen(cell: Cell, name: str | None) -> list[Ask]:
    if not cell.ask:
        raise NotFound(f"scenario {cell.scenario} asks nothing", hint='add an `ask` section, or use --question "..."')
    found = [a for a in cell.ask if name is None or a.name == name]
    if not found:
        raise NotFound(f"there is no question '{name}'", hint=f"questions: {', '.join(a.name for a in cell.ask)}")
    return found


def _put(view: MemoryView, cell: Cell, one: Ask, who: tuple[str, ...], tick: int, *, given: bool) -> dict[str, Any]:
    at = tick if given else min(one.at, view.as_of)
    if not 0 <= at <= view.as_of:
        raise BadInput(f"tick {at} is outside the run", hint=f"a tick between 0 and {view.as_of}")
    people = _people(view, who or one.agents or ((one.persona,) if one.persona else ()))
    topics = set(view.read(one.question, at).topics)
    names = [t.name for i, t in enumerate(cell.topics) if not topics or i in topics]
    answers = [row for agent in people for row in _answers(view, cell, agent, at, names)]
    shares = {name: dict(Counter(VERBS[r["label"]] for r in answers if r["topic"] == name)) for name in names}
    return {"name": one.name, "question": one.question, "tick": at, "asked": len(people), "shares": shares, "answers": answers}


def _people(view: MemoryView, who: tuple[str, ...]) -> list[int]:
    rows = [r for r in view.run.agents().to_pylist() if not r["is_voice"]]
    if not who:
        return [r["agent"] for r in rows]
    found: list[int] = []
    for wanted in who:
        of_kind = [r["agent"] for r in rows if r["persona"] == wanted]
        found += of_kind or [view.agent(wanted)]
    return list(dict.fromkeys(found))


def _answers(view: MemoryView, cell: Cell, agent: int, at: int, topics: list[str]) -> list[dict[str, Any]]:
    from simflow.episode import label
    from simflow.memory.relations import tell

    facts = {
        f.slot.on_topic: f
        for f in view.graph.facts([agent], hops=1, until=at, known_at=at)
        if f.slot.kind == "opinion" and f.slot.of == agent
    }
    rows = []
    for topic in topics:
        fact = facts.get(topic)
        rows.append(
            {
                "agent": view.names.show(agent),
                "topic": topic,
                "label": None if fact is None else fact.label,
                "answer": view.words.say("belief.silent", of=view.names.show(agent), topic=view.words.say("topic", topic=topic))
                if fact is None
                else f"{tell(cell, view.names, fact)}.",
                "last_words": None if fact is None else view.sentence(fact.evidence[-1]),
                "evidence": [] if fact is None else [label(e) for e in fact.evidence],
            }
        )
    return rows


def words(result: dict[str, Any]) -> str:
    """A result to be read: the shares first, then each answer with the agent's last words on the matter."""
    lines = [f"{result['name']}, at tick {result['tick']}, {result['asked']} asked: {result['question']}"]
    for topic, shares in result["shares"].items():
        total = sum(shares.values()) or 1
        lines.append(f"  {topic}: " + ", ".join(f"{n} {what} ({n / total:.0%})" for what, n in sorted(shares.items(), key=lambda s: -s[1])))
    for row in result["answers"]:
        lines.append(f"- {row['answer']}")
        if row["last_words"]:
            lines.append(f"    {row['evidence'][-1]}: {row['last_words']}")
    return "\n".join(lines)
