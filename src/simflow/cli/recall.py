"""`simflow recall`: what an agent remembers in a situation, with its sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simflow.runs import place

if TYPE_CHECKING:
    from simflow.memory.block import Block


@click.command()
@click.argument("run")
@click.argument("agent")
@click.option("--tick", type=click.IntRange(min=0), help="The tick at which the agent is about to act; default: the end of the run.")
@click.option("--about", required=True, help="The situation: the post to answer, or a question.")
@click.option("--mode", type=click.Choice(["vectors", "graph", "hybrid"]), help="Another mode than the scenario's.")
@click.option("--scope", type=click.Choice(["witnessed", "world"]), help="Another scope than the scenario's.")
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def recall(
    run: str, agent: str, tick: int | None, about: str, mode: str | None, scope: str | None, root: Path | None, *, as_json: bool
) -> None:
    """Show the memory block that AGENT of RUN gets when it is about to act.

    RUN is a run's id, a part of it, a scenario (its newest run) or `latest`. AGENT is an index, an id such as @rosa14, or a name.
    The block goes to standard output; its budgets, its sources and what was left out go to standard error.
    """
    from dataclasses import replace

    from simflow import memory
    from simflow.runs import find_run, home
    from simflow.store import Store

    state = root or home()
    view = memory.open(Store(state).open(find_run(state, run)))
    settings = replace(view.cell.memory, **{k: v for k, v in {"mode": mode, "scope": scope}.items() if v is not None})  # type: ignore[arg-type]
    block = view.recall(agent, tick, about, memory=settings)
    if as_json:
        click.echo(json.dumps({"run": view.run.record.id, **block.plain()}, ensure_ascii=False, indent=1))
        return
    click.echo(block.text, nl=False)
    click.echo(_notes(block), err=True)


def _notes(block: Block) -> str:
    from simflow.episode import label

    read = block.reading
    rows = [f"\n{block.tokens} of {block.total} tokens; " + ", ".join(_room(k, n, block.caps[k]) for k, n in block.used.items())]
    for key in ("agents", "topics", "time", "unclear_time", "ambiguous"):
        if read.get(key):
            value = read[key]
            rows.append(f"{key.replace('_', ' ')}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    for line in block.lines:
        if line.refs:
            source = label(line.edge) if line.edge is not None else label(line.refs[0])
            rows.append(f"  {line.kind:8} {source:18} value {line.value:.3f}  {line.tokens:3} tokens  {line.text[:70]}")
    if block.dropped:
        rows.append(f"left out: {len(block.dropped)}")
        rows += [f"  {d.line.kind:8} {d.line.text[:70]} ({d.why})" for d in block.dropped]
    return "\n".join(rows)


def _room(kind: str, used: int, cap: int) -> str:
    # Kinds may use what others leave, so that more than its own room is no fault.
    return f"{kind} {used}/{cap}" + (f" (+{used - cap} that others left)" if used > cap else "")
