"""What happened in a run: the page that `simflow run` ends with and `simflow runs RUN` shows again."""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from simflow.cli.spending import spending, words
from simflow.memory.beliefs import present
from simflow.plan import slug
from simflow.run.figures import figures
from simflow.runs import find_run
from simflow.store import RunData


def summary(run: RunData) -> dict[str, Any]:
    """What a run came to, as plain values: the `--json` of a finished run."""
    kinds: Counter[str] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    for window in run.windows:
        kinds.update(window.kinds)
        for stage, spent in window.seconds.items():
            seconds[stage] += spent
    now = figures(run)
    progress = run.record.progress()
    return {
        "run": run.record.id,
        "path": str(run.record.path),
        "state": progress.state if progress else "unknown",
        "windows": len(run.windows),
        "reused": sum(w.reused for w in run.windows),
        "ticks": run.end,
        "episodes": dict(kinds.most_common()),
        "exposures": sum(w.rows.get("exposures", 0) for w in run.windows),
        "edges_in_force": now.get("edges_in_force", 0),
        "edges_superseded": now.get("edges_superseded", 0),
        "queue": now.get("queue", 0),
        "seconds": {stage: round(spent, 2) for stage, spent in seconds.items()},
        "models": spending(run),
        "stance": stances(run),
        "checks": [{"check": c.check, "holds": not c.failed, "blocks": c.blocking, "found": c.found} for c in run.record.told()],
    }


def stances(run: RunData) -> list[dict[str, Any]]:
    """Mean stance by topic and persona at the first and the last window's end, as the memory believes it, and how many it knows of.

    Beliefs are read from the opinions in force; agents about whom the memory knows nothing are not counted.
    """
    if not run.windows:
        return []
    agents = run.agents()
    persona = dict(zip(agents.column("agent").to_pylist(), agents.column("persona").to_pylist(), strict=True))
    first, last = _believed(run, run.windows[0].stop), _believed(run, run.windows[-1].stop)
    rows = []
    for topic in run.cell.topics:
        groups: list[str | None] = [*(p.name for p in run.cell.personas)] or [None]
        for group in groups:
            before = [v for (agent, name), v in first.items() if name == topic.name and (group is None or persona.get(agent) == group)]
            after = [v for (agent, name), v in last.items() if name == topic.name and (group is None or persona.get(agent) == group)]
            rows.append(
                {
                    "topic": topic.name,
                    "persona": group or "everybody",
                    "before": round(float(np.mean(before)), 3) if before else None,
                    "after": round(float(np.mean(after)), 3) if after else None,
                    "known": len(after),
                    "people": sum(p == group for p in persona.values()) if group else len(persona),
                }
            )
    return rows


def _believed(run: RunData, until: int) -> dict[tuple[int, str], float]:
    edges = present(run.table("edges", until=until))
    if not edges.num_rows:
        return {}
    standing = edges.filter(pc.and_(pc.is_null(edges.column("valid_to")), pc.is_valid(edges.column("on_topic"))))
    return {(row["of"], row["on_topic"]): row["value"] for row in standing.select(["of", "on_topic", "value"]).to_pylist()}


def show(run: RunData, console: Console) -> None:
    """Print the report of a run."""
    about = summary(run)
    console.print()
    console.print(Text.assemble(("run ", "dim"), (about["run"], "bold"), ("  ", ""), (str(about["state"]), _colour(about["state"]))))
    console.print(Text(about["path"], style="dim"), soft_wrap=True)
    console.print()
    _kinds(about, console)
    _stance(about["stance"], console)
    _checks(about["checks"], console)
    _memory(run, about, console)
    _models(about["models"], console)
    _stages(about, console)
    _next(run, console)


def show_study(runs: Sequence[RunData], console: Console) -> None:
    """Print a line for each of several runs of a study, and how to look closer."""
    topics = [topic.name for topic in runs[0].cell.topics]
    table = _table(f"{len(runs)} cells of {runs[0].record.scenario}", "cell", "", "episodes", "edges in force", "superseded", *topics)
    for run in runs:
        about = summary(run)
        believed: dict[str, list[float]] = {topic: [] for topic in topics}
        for (_, topic), value in _believed(run, run.end).items():
            if topic in believed:  # declared entities are believed things too
                believed[topic].append(value)
        table.add_row(
            run.cell.name,
            Text(str(about["state"]), style=_colour(about["state"])),
            f"{sum(about['episodes'].values()):,}",
            f"{about['edges_in_force']:,}",
            f"{about['edges_superseded']:,}",
            *(_signed(float(np.mean(values)) if values else None) for values in believed.values()),
        )
    console.print()
    console.print(table)
    console.print(
        Padding(Text("under a topic: the mean stance that the memory believes at the end (-1 against, +1 for)", style="dim"), (0, 0, 1, 0))
    )
    variants = list(dict.fromkeys(slug(run.cell.variant) for run in runs))
    scenario = runs[0].record.scenario
    lines = [
        (f"simflow diff {shlex.quote(f'{scenario}/{variants[0]}')} {shlex.quote(f'{scenario}/{v}')}", "what the change did")
        for v in variants[1:3]
    ]
    lines += [(f"simflow runs {shlex.quote(runs[0].record.id)}", "one run's report"), ("simflow tui", "watch runs in the terminal")]
    _commands(lines, console)


def _colour(state: str) -> str:
    return {"done": "green", "failed": "red", "stopped": "yellow"}.get(state, "cyan")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), header_style="dim")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    return table


def _kinds(about: dict[str, Any], console: Console) -> None:
    # Two columns of kinds, so that the page fits 80 columns however many kinds there are.
    counts = list(about["episodes"].items())
    half = -(-len(counts) // 2)
    table = Table(title="What happened", title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(2):
        table.add_column()
        table.add_column(justify="right", min_width=8)
    for i in range(half):
        cells = [c for kind, n in counts[i::half] for c in (_plural(kind), f"{n:,}")]
        table.add_row(*cells)
    total = sum(n for _, n in counts)
    console.print(table)
    line = f"{total:,} episodes in {about['ticks']:,} ticks, seen {about['exposures']:,} times"
    console.print(Padding(Text(line, style="dim"), (0, 0, 1, 0)))


def _plural(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _stance(rows: list[dict[str, Any]], console: Console) -> None:
    if not rows:
        return
    table = _table(
        "Stance as the memory believes it (-1 against, +1 for)", "topic", "persona", "first window", "last window", "change", "known of"
    )
    previous = None
    for row in rows:
        both = row["before"] is not None and row["after"] is not None
        change = row["after"] - row["before"] if both else None
        table.add_row(
            row["topic"] if row["topic"] != previous else "",
            Text(row["persona"], justify="left"),
            _signed(row["before"]),
            _signed(row["after"]),
            Text(_signed(change), style="" if change is None or abs(change) < 0.02 else "green" if change > 0 else "red"),
            f"{row['known']}/{row['people']}",
        )
        previous = row["topic"]
    console.print(Padding(table, (0, 0, 1, 0)))


def _checks(told: list[dict[str, Any]], console: Console) -> None:
    if not told:
        return
    console.print(Text("Checks", style="bold"))
    for check in told:
        sign, style = ("✓", "green") if check["holds"] else ("✗", "red") if check["blocks"] else ("!", "yellow")
        own = check["check"].startswith(("check_", "pattern_"))
        kind = "pattern " if check["check"].startswith("pattern_") else ""
        words = check["found"] if own else f"{check['check']}, {check['found']}"
        console.print(Text.assemble("  ", (sign, style), f" {kind}{words}"), soft_wrap=True)
    console.print()


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"


def _memory(run: RunData, about: dict[str, Any], console: Console) -> None:
    table = _table("Memory", "edges in force", "superseded", "waiting for extraction", "persona states")
    table.columns[0].justify = "right"
    table.add_row(
        f"{about['edges_in_force']:,}",
        f"{about['edges_superseded']:,}",
        f"{about['queue']:,}",
        f"{run.table('personas', columns=['agent']).num_rows:,}",
    )
    console.print(Padding(table, (0, 0, 1, 0)))
    example = liveliest(run)
    if example is None:
        return
    from simflow import memory

    agent, topic = example
    block = memory.open(run).recall(agent, run.end, f"about to speak about {topic}")
    name = run.agents().column("id").to_pylist()[agent]
    console.print(Text.assemble(("What ", "bold"), (f"@{name}", "bold cyan"), (f" remembers when about to speak about {topic}", "bold")))
    console.print(Padding(Text(block.text), (0, 0, 1, 2)), soft_wrap=False, overflow="fold")


def liveliest(run: RunData) -> tuple[int, str] | None:
    """Find the agent whose opinion was superseded most often, and the topic: a good example to look at. None if nobody has one."""
    edges = present(run.table("edges"))
    if not edges.num_rows:
        return None
    opinions = edges.filter(pc.is_valid(edges.column("on_topic"))).select(["of", "on_topic"]).to_pylist()
    counts = Counter((row["of"], row["on_topic"]) for row in opinions)
    if not counts:
        return None
    most = max(counts.values())
    return min(pair for pair, count in counts.items() if count == most)


def _models(spent: dict[str, Any], console: Console) -> None:
    if not spent:
        return
    table = _table("Models", "phase", "model", "calls", "tokens in", "tokens out", "USD")
    for row in spent["phases"]:
        figures = (f"{row[name]:,}" for name in ("calls", "tokens_in", "tokens_out"))
        table.add_row(row["phase"], Text(row["model"], justify="left"), *figures, f"{row['cost']:,.4f}")
    console.print(table)
    for line in words(spent):
        console.print(Text(line, style="dim"), soft_wrap=True)
    console.print()


def _stages(about: dict[str, Any], console: Console) -> None:
    if not about["seconds"]:
        return
    table = _table("Seconds by stage", *about["seconds"], "all")
    table.columns[0].justify = "right"
    spent = list(about["seconds"].values())
    table.add_row(*(f"{s:.1f}" for s in spent), f"{sum(spent):.1f}")
    console.print(Padding(table, (0, 0, 1, 0)))
    if about["reused"]:
        console.print(Text(f"{about['reused']} of {about['windows']} windows were there already and not computed again.\n", style="dim"))


def _next(run: RunData, console: Console) -> None:
    lines = []
    if example := liveliest(run):
        agent, topic = example
        name, about = run.agents().column("id").to_pylist()[agent], json.dumps(topic, ensure_ascii=False)
        asked = shlex.quote(_called(run))
        lines.append((f"simflow explain {asked} {name} --topic {about}", "why it believes that"))
        lines.append((f"simflow recall {asked} {name} --about {about}", "what it would be told"))
    lines += [("simflow tui", "watch runs in the terminal"), ("simflow dev", "open the assets in Dagster")]
    _commands(lines, console)


def _called(run: RunData) -> str:
    """The shortest name that means this run: a scenario's stands for its newest one, which may be another."""
    record = run.record
    names = (record.scenario, f"{record.scenario}/{record.cell}")
    return next((name for name in names if find_run(run.store.root, name).id == record.id), record.id)


def _commands(lines: Sequence[tuple[str, str]], console: Console) -> None:
    console.print(Text("Next", style="bold"))
    width = max(len(command) for command, _ in lines) + 3
    for command, about in lines:
        console.print(Text.assemble("  ", (command.ljust(width), "cyan"), (about, "dim")), soft_wrap=True)
    console.print()
