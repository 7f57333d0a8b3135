"""`simflow explain`: a belief walked back to the raw events, as words, data or a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simflow.errors import BadInput, NotFound
from simflow.runs import place

if TYPE_CHECKING:
    from simflow.memory.claims import Slot
    from simflow.memory.explain import Explanation, Held, Record, Source
    from simflow.memory.linking import Names


@click.command()
@click.argument("run")
@click.argument("agent")
@click.option("--topic", help="A topic: the agent's opinion on it, or, with --towards, what the relation is about.")
@click.option("--towards", metavar="AGENT", help="Another agent: the attitude towards it.")
@click.option("--kind", help="Relation kind; default: opinion, or attitude with --towards.")
@click.option("--tick", type=int, help="The tick whose truth is asked for; default: the end of the run.")
@click.option("--known-at", type=int, help="Use only what the memory had learnt by this tick; default: everything.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Also write the timeline as a picture.")
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
def explain(
    run: str,
    agent: str,
    topic: str | None,
    towards: str | None,
    kind: str | None,
    tick: int | None,
    known_at: int | None,
    as_json: bool,
    svg: Path | None,
    root: Path | None,
) -> None:
    """Say why AGENT (id, @id, name or index) of RUN believes something, down to the raw events.

    Without --topic or --towards, lists what the agent believes.
    """
    from simflow.memory import explain as explaining
    from simflow.memory.linking import Names
    from simflow.runs import find_run, home
    from simflow.store import Store

    state = root or home()
    data = Store(state).open(find_run(state, run))
    if not data.windows:
        raise NotFound(f"{data.record.id} has no committed window yet", hint="wait for its first window, or run it again")
    names = Names(data.agents())
    record = explaining.Record.of(data.cell, data.agents(), data.table("episodes"), data.table("claims"), data.table("edges"))
    who = names.find(agent)
    as_of = data.end if tick is None else tick
    if not 0 <= as_of <= data.end:
        raise BadInput(f"tick {as_of} is outside the run", hint=f"{data.record.id} is committed up to tick {data.end}")
    slots = explaining.slots_of(record, who)
    if topic is None and towards is None and kind is None:
        found = [explaining.explain(record, slot, as_of, known_at) for slot in slots]
        found = [e for e in found if e.in_force is not None]
        if as_json:
            click.echo(json.dumps([e.plain() for e in found], indent=1, ensure_ascii=False))
        else:
            click.echo("\n".join(e.belief for e in found) or f"nothing is known of {names.show(who)} at tick {as_of}")
        return
    slot = _slot(record, names, slots, who, topic=topic, towards=towards, kind=kind)
    found_one = explaining.explain(record, slot, as_of, known_at)
    if svg is not None:
        _draw(record, slot, found_one, svg, data.end)
    if as_json:
        click.echo(json.dumps(found_one.plain(), indent=1, ensure_ascii=False))
    else:
        click.echo(words(found_one))


def words(explanation: Explanation) -> str:
    """An explanation to be read: the belief, each edge, each statement, each raw event."""
    lines = [explanation.belief]
    if explanation.waiting:
        some = "1 newer episode waits" if explanation.waiting == 1 else f"{explanation.waiting} newer episodes wait"
        lines.append(f"({some} for the next batch of extraction)")
    for held in explanation.edges:
        lines += ["", *_edge(held)]
    if explanation.outvoted:
        lines += ["", "outvoted: said, but too weak to turn the belief"]
        for source in explanation.outvoted:
            lines += _source(source)
    return "\n".join(lines)


def _edge(held: Held) -> list[str]:
    until = "…" if held.valid_to is None else str(held.valid_to)
    by = f", superseded by {held.superseded_by}" if held.superseded_by else ""
    head = f"{held.status}: {held.says} (value {held.value:+.2f}), tick {held.valid_from} to {until}{by}"
    detail = (
        f"  edge {held.edge} version {held.version}: {held.count} statements, weight {held.weight:.2f} when learnt at tick {held.learnt}"
    )
    return [head, detail, *(line for source in held.evidence for line in _source(source))]


def _source(source: Source) -> list[str]:
    episode = source.episode
    quote = f', on the words "{source.quote}"' if source.quote else ""
    lines = [
        f"  {episode.get('episode')} tick {episode.get('tick')}: {episode.get('sentence', 'the episode is not in this run')}",
        f"      read as {source.value:+.2f} with confidence {source.confidence:.2f} (now {source.weight:.2f}) by {source.extractor}{quote}",
    ]
    if source.parent:
        lines.append(f"      in answer to {source.parent.get('episode')} tick {source.parent.get('tick')}: {source.parent.get('sentence')}")
    raw = {k: episode.get(k) for k in ("event", "source", "ts") if episode.get(k)}
    if raw:
        lines.append("      raw: " + ", ".join(f"{k} {v}" for k, v in raw.items()))
    return lines


def _slot(record: Record, names: Names, slots: list[Slot], who: int, *, topic: str | None, towards: str | None, kind: str | None) -> Slot:
    from simflow.memory.claims import Slot

    known = [t.name for t in record.cell.topics]
    if topic is not None:
        close = [t for t in known if t.casefold() == topic.casefold()]
        if not close:
            raise NotFound(f"there is no topic '{topic}'", hint=f"topics: {', '.join(known)}")
        topic = close[0]
    declared = {r.name: r for r in record.cell.extract.relations}
    kind = kind or ("attitude" if towards else "opinion")
    if kind not in declared:
        raise NotFound(f"there is no relation kind '{kind}'", hint=f"kinds: {', '.join(declared)}")
    if declared[kind].on == "topic":
        if topic is None:
            raise BadInput(f"{kind} is on a topic", hint=f"say which: --topic {known[0]!r}")
        return Slot(kind, who, None, topic, None)
    if towards is None:
        raise BadInput(f"{kind} is towards an agent", hint="say which: --towards AGENT")
    other = names.find(towards)
    held = [s for s in slots if s.kind == kind and s.on_agent == other and (topic is None or s.about == topic)]
    if len(held) > 1:
        abouts = ", ".join(s.about or "nothing in particular" for s in held)
        raise BadInput(
            f"{names.show(who)} has more than one {kind} towards {names.show(other)}", hint=f"say about what: --topic, one of {abouts}"
        )
    return held[0] if held else Slot(kind, who, other, None, topic)


def _draw(record: Record, slot: Slot, explanation: Explanation, path: Path, end: int) -> None:
    from simflow.memory.explain import says
    from simflow.memory.timeline import svg

    scale = [says(record.cell, slot, sign) for sign in (-1, 0, 1)] if slot.kind != "influence" else ("", "", "has moved")
    path.write_text(svg(explanation, scale, end), "utf-8")
    click.echo(f"wrote {path}", err=True)
