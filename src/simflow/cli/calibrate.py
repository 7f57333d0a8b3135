"""`simflow calibrate`: fit dynamics to data and write a fragment for scenarios."""

from __future__ import annotations

from pathlib import Path

import click

from simflow.errors import BadInput


@click.command()
@click.argument("where", type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the fragment; default: stdout.")
@click.option(
    "--for", "scenario", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A scenario whose personas and topics to fit."
)
@click.option("--persona", "personas", multiple=True, help="A persona to fit; may be repeated.")
@click.option("--topic", "topics", multiple=True, help="A topic to fit; may be repeated.")
@click.option(
    "--utc-offset", default=0, show_default=True, type=click.IntRange(-12, 14), help="Hours that the data's local time is ahead of UTC."
)
@click.option(
    "--worlds", default=24, show_default=True, type=click.IntRange(1), help="Worlds in which the engine makes cascades to compare with."
)
@click.option("--seed", default=0, show_default=True)
def calibrate(
    where: Path,
    output: Path | None,
    scenario: Path | None,
    personas: tuple[str, ...],
    topics: tuple[str, ...],
    utc_offset: int,
    worlds: int,
    seed: int,
) -> None:
    """Fit dynamics to WHERE and write a fragment that a scenario can start `from:`.

    Panels of people (panel.jsonl, its folder, or the folder above) give susceptibility; name the personas and topics that it is for.
    Cascades (cascade_curves.jsonl or episodes.jsonl) give the network, the feed's horizon and the rhythm of the day.
    """
    from simflow.evaluation import calibrate as room

    if where.is_dir() and ((where / "cascade_curves.jsonl").exists() or (where / "episodes.jsonl").exists()):
        from simflow.cli.eval_cascades import count
        from simflow.evaluation.cascades_data import read
        from simflow.evaluation.cascades_engine import library, temper
        from simflow.runs import home

        made = library(worlds, seed=seed, cache=home() / "cache" / "cascades", progress=count)
        tempers = [temper(seed * 10_000 + k) for k in range(worlds)]
        text = room.cascade_fragment(room.rhythm(read(where), made, tempers, utc_offset=utc_offset), where)
    else:
        from simflow.evaluation.opinions_panels import panels

        if scenario is not None:
            from simflow.scenario import load

            cell = load(scenario).cells[0]
            personas = personas or tuple(p.name for p in cell.personas)
            topics = topics or tuple(t.name for t in cell.topics)
        if not personas or not topics:
            raise BadInput("whose susceptibility, and on what?", hint="give --for SCENARIO, or --persona and --topic")
        text = room.panel_fragment(room.movers(panels(where), seed=seed), where, personas, topics)
    if output is None:
        click.echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    click.echo(f"wrote {output}", err=True)
