"""`simflow explain`: a belief walked back to the raw events, as words, data or a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simflow.errors import BadInput
from simflow.runs import place

if TYPE_CHECKING:
    from simflow.memory.explain import Explanation, Held, Source


@click.command()
@click.argument("run")
@click.argument("agent")
@click.option("--topic", help="A topic, or a declared entity: what the agent holds of it; with --towards, what the relation is about.")
@click.option("--towards", metavar="AGENT|ENTITY", help="Another agent, or a declared entity: the attitude towards it.")
@click.option("--kind", help="Relation kind; default: opinion, attitude with --towards, or the one towards such an entity.")
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
    from simflow import memory
    from simflow.runs import find_run, home
    from simflow.store import Store

    state = root or home()
    view = memory.open(Store(state).open(find_run(state, run)))
    if topic is None and towards is None and kind is None:
        if svg is not None:
            raise BadInput("a picture shows one belief", hint="say which: --topic, or --towards")
        found = [e for e in view.beliefs(agent, tick=tick, known_at=known_at) if e.in_force is not None]
        if as_json:
            click.echo(json.dumps([e.plain() for e in found], indent=1, ensure_ascii=False))
        else:
            nothing = f"nothing is known of {view.names.show(view.agent(agent))} at tick {view.as_of if tick is None else tick}"
            click.echo("\n".join(e.belief for e in found) or nothing)
        return
    one = view.explain(agent, topic=topic, towards=towards, kind=kind, tick=tick, known_at=known_at)
    if svg is not None:
        from simflow.memory.timeline import svg as draw

        svg.write_text(draw(one, view.as_of), "utf-8")
        click.echo(f"wrote {svg}", err=True)
    click.echo(json.dumps(one.plain(), indent=1, ensure_ascii=False) if as_json else words(one))


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
    from simflow.memory.explain import counted

    until = "…" if held.valid_to is None else str(held.valid_to)
    by = f", superseded by {held.superseded_by}" if held.superseded_by else ""
    head = f"{held.status}: {held.says} (value {held.value:+.2f}), tick {held.valid_from} to {until}{by}"
    detail = f"  edge {held.edge} version {held.version}: {counted(held.count, 'statement')}, weight {held.weight:.2f} when learnt at tick {held.learnt}"
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
