"""`simflow bench concurrency`: how long a run's texts take to be read by an endpoint of a known latency, with more or fewer calls at once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simflow.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

    from simflow.bench.extract import World

CONCURRENCIES = (1, 4, 8, 32)
KEYS = {
    "texts": "texts of the run, each of which the model reads",
    "batch": "texts that a call asks about at most",
    "latency_ms": "milliseconds that the endpoint takes for an answer, beside its own work",
    "rows[].concurrency": "calls at once (`SIMFLOW_LLM_CONCURRENCY`)",
    "rows[].calls": "calls made",
    "rows[].seconds": "wall seconds from the first text to the folded edges",
    "rows[].cpu_seconds": "processor seconds of that; the endpoint's own are among them, since it answers from this process",
    "rows[].calls_per_second": "calls made in parts of the wall seconds",
    "rows[].times_faster": "wall seconds of the first row in parts of this one's",
    "rows[].tables": "SHA-256 of the claims and edges, as Arrow writes them",
    "same_tables": "whether they are the same bytes in all rows",
}
"""What `--json` prints, by key."""
BEGIN, END = "<!-- simflow bench concurrency: what stands here is written by --write -->", "<!-- end of simflow bench concurrency -->"


@click.command()
@click.option(
    "--episodes", default=2000, show_default=True, help="Episodes of the run to read, the newest ones; about half of them are texts."
)
@click.option("--batch", default=8, show_default=True, help="Texts a call.")
@click.option("--latency", default=50.0, show_default=True, help="Milliseconds that the endpoint takes for an answer.")
@click.option("--seed", default=7, show_default=True)
@click.option("--write", type=click.Path(path_type=Path, dir_okay=False), help="Put the figures between their marks in this page as well.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def concurrency(episodes: int, batch: int, latency: float, seed: int, write: Path | None, as_json: bool) -> None:
    """Wall seconds and calls a second of reading a run's texts with 1, 4, 8 and 32 calls at once, and whether the tables are the same."""
    result = measure(episodes, batch=batch, latency=latency / 1000, seed=seed)
    if write is not None:
        put(write, result)
    click.echo(json.dumps(result, indent=1) if as_json else "\n".join(table(result)))


def measure(episodes: int, *, batch: int, latency: float, seed: int = 7, concurrencies: tuple[int, ...] = CONCURRENCIES) -> dict[str, Any]:
    """The figures, by the keys of `KEYS`. latency: seconds."""
    from simflow.bench.extract import World

    world = World(seed, episodes)
    _row(world, batch, 0.0, concurrencies[0])  # what is imported and compiled once is no part of the figures
    rows: list[dict[str, Any]] = [_row(world, batch, latency, count) for count in concurrencies]
    for row in rows:
        row["times_faster"] = round(rows[0]["seconds"] / row["seconds"], 2)
    return {
        "texts": rows[0].pop("texts"),
        "batch": batch,
        "latency_ms": round(latency * 1000, 3),
        "rows": [{key: value for key, value in row.items() if key != "texts"} for row in rows],
        "same_tables": len({row["tables"] for row in rows}) == 1,
    }


def _row(world: World, batch: int, latency: float, concurrency: int) -> dict[str, Any]:
    from simflow.episode import CLAIMS, EDGES
    from simflow.llm.extractor import ModelExtractor
    from simflow.memory.distil import distil

    ticks = int(world.episodes["tick"].to_numpy().max()) + 1
    cell = dataclasses.replace(world.cell, extract=dataclasses.replace(world.cell.extract, every=ticks))  # one batch of extraction
    with world.endpoint("compact", latency=latency, concurrency=concurrency) as room:
        reader: Any = ModelExtractor(cell, room, style="compact", size=batch)
        wall, cpu = time.perf_counter(), time.process_time()
        found = distil(
            cell,
            reader,
            agents=world.agents,
            episodes=world.episodes,
            claims=CLAIMS.empty_table(),
            edges=EDGES.empty_table(),
            start=0,
            stop=ticks,
        )
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        calls = sum(u.calls for u in room.usage())
    return {
        "texts": len(world.texts),
        "concurrency": concurrency,
        "calls": calls,
        "seconds": round(wall, 2),
        "cpu_seconds": round(cpu, 2),
        "calls_per_second": round(calls / wall, 1),
        "tables": _digest(found.claims, found.edges),
    }


def _digest(*tables: pa.Table) -> str:
    import pyarrow as pa

    digest = hashlib.sha256()
    for one in tables:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, one.schema) as writer:
            writer.write_table(one.combine_chunks())
        digest.update(sink.getvalue())
    return digest.hexdigest()


def table(result: dict[str, Any]) -> list[str]:
    """The figures as a table of Markdown, which is readable as it is."""
    same = "the same claims and edges to the byte" if result["same_tables"] else "NOT the same claims and edges"
    columns = {"concurrency": "calls at once", "calls": "calls", "seconds": "wall s", "cpu_seconds": "CPU s"}
    columns |= {"calls_per_second": "calls a second", "times_faster": "times faster"}
    return [
        f"{result['texts']:,} texts, {result['batch']} a call, from an endpoint that takes {result['latency_ms']:g} ms for each; {same}.",
        "",
        "| " + " | ".join(columns.values()) + " |",
        "|" + "--:|" * len(columns),
        *("| " + " | ".join(f"{row[key]:,}" for key in columns) + " |" for row in result["rows"]),
    ]


def put(page: Path, result: dict[str, Any]) -> None:
    """Write the figures between the marks `BEGIN` and `END` of a page. Raises BadInput if it has none."""
    text = page.read_text("utf-8") if page.is_file() else ""
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        raise BadInput(f"{page} has no place for the figures", hint=f"two lines, `{BEGIN}` and `{END}`, say where")
    page.write_text("\n".join([f"{before}{BEGIN}", "", *table(result), "", f"{END}{after}"]), "utf-8")
