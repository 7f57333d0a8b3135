"""`simflow bench pipeline`: what the whole line costs, by stage, without an orchestrator."""

from __future__ import annotations

import dataclasses
import json
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import click

AGENTS, TICKS, MINUTES = 300, 2_000, 10


@click.command()
@click.option("--agents", default=AGENTS, show_default=True, help="Residents.")
@click.option("--ticks", default=TICKS, show_default=True, help="Ticks of ten minutes.")
@click.option("--scenario", default="scenarios/hello.yaml", show_default=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def pipeline(agents: int, ticks: int, scenario: Path, as_json: bool) -> None:
    """CPU seconds by stage, episodes, peak memory, and the whole against embedding alone, on an empty store."""
    result = measure(agents, ticks, scenario)
    if as_json:
        click.echo(json.dumps(result, indent=1))
        return
    for stage, seconds in result["cpu_seconds"].items():
        click.echo(f"{stage:12} {seconds:8.2f} CPU s")
    click.echo(
        f"{result['episodes']:,} episodes, {result['texts']:,} of them with text; whole / embedding = {result['whole_to_embedding']}"
    )
    click.echo(f"peak memory {result['peak_mb']} MB")


def measure(agents: int, ticks: int, scenario: Path) -> dict[str, Any]:
    """Run one cell of a scenario at the given size in a store of its own; the process's CPU time is read at each change of stage."""
    from simflow.episode import TEXT_KINDS
    from simflow.run import open_cell
    from simflow.scenario import load

    cell = sized(load(scenario).cells[0], agents, ticks)
    spent: defaultdict[str, float] = defaultdict(float)
    clock = _StageClock(spent)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        run = open_cell(scenario, cell, Path(folder), listener=clock)
        spent["start"] += time.process_time() - began
        clock.mark = time.process_time()
        for number in range(len(run.windows)):
            run.window(number)
        clock.close()
        data = run.data()
        kinds = Counter(data.table("episodes", columns=["kind"]).column("kind").to_pylist())
        size = sum(p.stat().st_size for p in (Path(folder) / "windows").rglob("*.parquet"))
    whole = sum(spent.values())
    return {
        "agents": agents,
        "ticks": ticks,
        "minutes_a_tick": MINUTES,
        "windows": len(cell.windows),
        "cpu_seconds": {k: round(v, 2) for k, v in spent.items()},
        "cpu_seconds_whole": round(whole, 2),
        "whole_to_embedding": round(whole / spent["vectors"], 2) if spent["vectors"] else None,
        "episodes": sum(kinds.values()),
        "texts": sum(n for k, n in kinds.items() if k in TEXT_KINDS),
        "kinds": dict(kinds.most_common()),
        "bytes_on_disk": size,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "python": sys.version.split()[0],
    }


def sized(cell: Any, agents: int, ticks: int) -> Any:
    """Return the cell with `agents` residents in the same proportions, and `ticks` ticks of ten minutes in ten windows."""
    total = sum(p.count for p in cell.personas)
    counts = [p.count * agents // total for p in cell.personas]
    counts[0] += agents - sum(counts)
    personas = tuple(dataclasses.replace(p, count=n) for p, n in zip(cell.personas, counts, strict=True))
    clock = dataclasses.replace(cell.clock, ticks=ticks, minutes=MINUTES, window=-(-ticks // 10))
    return dataclasses.replace(cell, personas=personas, clock=clock)


class _StageClock:
    """Listens to a run and books the CPU time between two reports on the stage that was at work."""

    def __init__(self, spent: defaultdict[str, float]) -> None:
        self.spent = spent
        self.stage = "world"
        self.mark = time.process_time()

    def __call__(self, progress: Any) -> None:
        """Book the time since the last report."""
        now = time.process_time()
        self.spent[self.stage] += now - self.mark
        self.stage, self.mark = (progress.stage if progress.stage != "done" else "snapshot"), now

    def close(self) -> None:
        """Book what is left."""
        self.spent[self.stage] += time.process_time() - self.mark
