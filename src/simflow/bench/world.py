"""`simflow bench world`: CPU seconds, memory and bytes of the built-in engine; each measurement in a process of its own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import resource
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import click

from simflow.errors import RunFailed

if TYPE_CHECKING:
    from pathlib import Path

    from simflow.plan import Cell

PARTS = ("single", "ensemble", "million", "growth", "encounters")
ON_DEMAND = ("digest",)
TARGETS: dict[str, tuple[str, float]] = {
    "single.cpu_s": ("<=", 5.0),
    "single.bytes_an_episode": ("<=", 400.0),
    "ensemble.share_of_singles": ("<=", 1 / 6),
    "ensemble.share_of_singles_with_tables": ("<=", 1 / 6),
    "million.cpu_s_a_tick": ("<=", 1.5),
    "million.peak_gb": ("<=", 2.0),
    "growth.last_to_first": ("<=", 1.3),
}
"""What each figure is held to."""


@click.command()
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS + ON_DEMAND), help="Only this one; may be repeated.")
@click.option("--episodes", default=1_000_000, show_default=True, type=click.IntRange(min=20_000), help="How far `growth` goes.")
@click.option("--numpy", "versions", multiple=True, default=("2.2.6",), show_default=True, help="Versions that `digest` compares.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def world(parts: tuple[str, ...], episodes: int, versions: tuple[str, ...], *, as_json: bool) -> None:
    """The built-in engine alone, one process a measurement, CPU seconds.

    \b
    single      300 agents x 2,000 ticks of ten minutes, all tables with their words; bytes on disk
    ensemble    32 stacked replicates against single ones, 300 agents x 2,000 ticks: logs, and logs with words and tables
    million     1,000,000 agents, six ticks at peak hour, logs without words
    growth      cost of an episode, words and tables included, from the first ten thousand to the last
    encounters  mesa's agents and a bare numpy array at bounded confidence, beside this engine
    digest      only if asked for: one hash of everything, under other versions of numpy, in environments made for it
    """  # noqa: D301 - click's mark for a block to keep
    results: dict[str, Any] = {}
    for part in parts or PARTS:
        click.echo(f"{part} ...", err=True)
        given = {"growth": (episodes,), "digest": (versions,)}.get(part, ())
        results[part] = _alone(globals()[part], *given)
    results["targets"] = [
        {"figure": name, "target": f"{sign} {limit:.4g}", "measured": value, "met": value <= limit}
        for name, (sign, limit) in TARGETS.items()
        if (value := results.get(name.split(".")[0], {}).get(name.split(".")[1])) is not None
    ]
    click.echo(json.dumps(results, indent=1) if as_json else _table(results))


def single() -> dict[str, Any]:
    """One run with full logs, and what it takes on disk."""
    from simflow.episode import TABLES
    from simflow.store.windows import encode, fit, pack
    from simflow.world.builtin import BuiltinEngine

    cell = city(2000)
    seconds, step = [], None
    for _ in range(3):
        begin = time.process_time()
        engine = BuiltinEngine(cell)
        step = engine.advance(engine.begin(), 0, 2000)
        seconds.append(time.process_time() - begin)
    assert step is not None
    tables = {name: fit(name, getattr(step, name), schema) for name, schema in TABLES.items() if hasattr(step, name)}
    sizes = {name: len(encode(table)) for name, table in (*tables.items(), *step.truth.items(), ("state", pack(step.state)))}
    count = step.episodes.num_rows
    return {
        "cpu_s": min(seconds),
        "cpu_s_each": seconds,
        "episodes": count,
        "exposures": step.exposures.num_rows,
        "episodes_a_cpu_s": round(count / min(seconds)),
        "bytes_an_episode": sum(sizes.values()) / count,
        "bytes": sizes,
        "peak_gb": _peak(),
    }


def ensemble(count: int = 32) -> dict[str, Any]:
    """Stacked replicates against single runs; three of the single ones stand for all."""
    from simflow.world import founding
    from simflow.world.builtin import BuiltinEngine
    from simflow.world.ensemble import Ensemble
    from simflow.world.settings import Settings
    from simflow.world.simulation import Simulation

    cells = [dataclasses.replace(city(2000), seed=seed) for seed in range(count)]
    logs, tables = [], []
    for cell in cells[:3]:
        begin = time.process_time()
        simulation = Simulation(cell, [cell.seed], founding.found(cell, Settings()), Settings())
        simulation.log_opening()
        simulation.run(0, 2000)
        logs.append(time.process_time() - begin)
        begin = time.process_time()
        engine = BuiltinEngine(cell)
        engine.advance(engine.begin(), 0, 2000)
        tables.append(time.process_time() - begin)
    begin = time.process_time()
    Ensemble(cells).simulate(2000)
    stacked = time.process_time() - begin
    begin = time.process_time()
    Ensemble(cells).run(2000)
    with_tables = time.process_time() - begin
    return {
        "replicates": count,
        "single_cpu_s": statistics.mean(logs),
        "stacked_cpu_s": stacked,
        "share_of_singles": stacked / (count * statistics.mean(logs)),
        "single_with_tables_cpu_s": statistics.mean(tables),
        "stacked_with_tables_cpu_s": with_tables,
        "share_of_singles_with_tables": with_tables / (count * statistics.mean(tables)),
        "peak_gb": _peak(),
    }


def million(agents: int = 1_000_000) -> dict[str, Any]:
    """A large society in the evening; the ticks before are there so that feeds are full."""
    from simflow.world import founding
    from simflow.world.settings import Settings
    from simflow.world.simulation import Simulation

    cell = city(144, agents)
    begin = time.process_time()
    society = founding.found(cell, Settings())
    founded = time.process_time() - begin
    simulation = Simulation(cell, [cell.seed], society, Settings())
    simulation.run(108, 114)
    before = simulation.log.posts.size
    seconds = []
    for tick in range(114, 120):
        begin = time.process_time()
        simulation.tick(tick)
        seconds.append(time.process_time() - begin)
    exposures = len(simulation.log.views.joined()["tick"])
    return {
        "agents": agents,
        "founding_cpu_s": founded,
        "cpu_s_a_tick": statistics.mean(seconds),
        "cpu_s_each": seconds,
        "posts_a_tick": (simulation.log.posts.size - before) / len(seconds),
        "exposures_in_all": exposures,
        "peak_gb": _peak(),
    }


def growth(episodes: int = 1_000_000) -> dict[str, Any]:
    """Windows of one long run of 5,000 agents: CPU microseconds an episode, words and tables included."""
    from simflow.world.builtin import BuiltinEngine

    engine = BuiltinEngine(city(1_000_000, 5000))
    state, tick, done, rows = engine.begin(), 0, 0, []
    while done < episodes:
        begin = time.process_time()
        step = engine.advance(state, tick, tick + 144)
        rows.append(
            {"episodes": done + step.episodes.num_rows, "us_an_episode": 1e6 * (time.process_time() - begin) / step.episodes.num_rows}
        )
        state, tick, done = step.state, tick + 144, done + step.episodes.num_rows
    tenth = max(1, len(rows) // 10)
    first = statistics.median(row["us_an_episode"] for row in rows[:tenth])
    last = statistics.median(row["us_an_episode"] for row in rows[-tenth:])
    return {"windows": rows, "first_us": first, "last_us": last, "last_to_first": last / first, "peak_gb": _peak()}


def encounters() -> dict[str, Any]:
    """One encounter: somebody reads one opinion and may move. Mesa and numpy do nothing else; the engine ranks, shows, reacts and logs."""
    import numpy as np

    from simflow.plan import Dynamics
    from simflow.world import founding
    from simflow.world.draws import GRID
    from simflow.world.opinion import move
    from simflow.world.settings import Settings
    from simflow.world.simulation import Simulation

    cell = city(400, 10_000)
    simulation = Simulation(cell, [cell.seed], founding.found(cell, Settings()), Settings())
    simulation.run(0, 100)
    begin = time.process_time()
    simulation.run(100, 200)
    spent = time.process_time() - begin
    views = simulation.log.views.joined()
    shown = int((views["tick"] >= 100).sum())

    n = 1_000_000
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, n)
    begin = time.process_time()
    for _ in range(5):
        delta = x[rng.integers(0, n, n)] - x
        x += 0.06 * np.where(np.abs(delta) < 0.7, delta, 0.0)
    bare = (time.process_time() - begin) / 5

    big = city(1, n)
    society = founding.found(big, Settings())
    society.posts.mark(0)
    post = np.zeros((n, society.posts.table.shape[1]), np.int64)
    post[:, 1], post[:, 4] = rng.integers(0, n, n), (rng.uniform(-1, 1, n) * GRID).astype(np.int64)
    everybody = np.arange(n)
    begin = time.process_time()
    move(society, Dynamics(), everybody, everybody, post)
    own = time.process_time() - begin
    return {
        "mesa_10000": _mesa(),
        "engine_10000": {"ticks": 100, "cpu_s": spent, "encounters": shown, "encounters_a_cpu_s": round(shown / spent)},
        "numpy_1000000": {"cpu_s_a_step": bare, "encounters_a_cpu_s": round(n / bare)},
        "update_alone_1000000": {"cpu_s_a_step": own, "encounters_a_cpu_s": round(n / own), "times_numpy": own / bare},
    }


def digest(versions: tuple[str, ...]) -> dict[str, Any]:
    """The same runs under this numpy and under others, each in an environment that holds it and borrows everything else."""
    import sysconfig
    import tempfile
    import venv
    from pathlib import Path

    import numpy as np

    import simflow

    found = {np.__version__: fingerprint()}
    for version in versions:
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = Path(folder) / "bin" / "python"
            _done([python, "-m", "pip", "install", "-q", "--no-deps", f"numpy=={version}"], f"numpy {version} cannot be installed")
            borrowed = f"{sysconfig.get_paths()['purelib']}\n{Path(simflow.__file__).parents[1]}\n"
            (next(Path(folder).glob("lib/python3*/site-packages")) / "zz-borrowed.pth").write_text(borrowed, "utf-8")
            code = "import numpy; from simflow.bench.world import fingerprint; print(numpy.__version__, fingerprint())"
            name, value = _done([python, "-c", code], f"nothing runs under numpy {version}").split()
        found[name] = value
    return {"digests": found, "same": len(set(found.values())) == 1 and len(found) > 1}


def _done(command: list[str | Path], otherwise: str) -> str:
    """What a command of our own prints. Raises RunFailed with `otherwise` and its last words."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own code, a version that the caller named
    if done.returncode:
        raise RunFailed(f"{otherwise}: {(done.stderr.strip() or 'it said nothing').splitlines()[-1]}")
    return done.stdout


def fingerprint() -> str:
    """One hash over every table and array of runs with all dynamics, feeds, networks and actions."""
    from simflow.features import BUILTIN
    from simflow.plan import Dynamics, Feed, Network, Platform
    from simflow.world.builtin import BuiltinEngine

    out = hashlib.sha256()
    models = ("bounded_confidence", "social_judgement", "degroot", "friedkin_johnsen")
    feeds = ("mix", "chronological", "hot", "follow_first")
    shapes = ("small_world", "preferential", "blocks", "configuration")
    actions = tuple(sorted(f.partition(":")[2] for f in BUILTIN if f.startswith("action:")))
    for model, feed, shape in zip(models, feeds, shapes, strict=True):
        cell = dataclasses.replace(
            city(288, 120),
            dynamics=Dynamics(model, repulsion=0.3),  # type: ignore[arg-type]
            platform=Platform(feed=Feed(feed), actions=actions, hide_after=1),  # type: ignore[arg-type]
            network=Network(shape, homophily_by="persona", homophily_strength=0.5),  # type: ignore[arg-type]
        )
        engine = BuiltinEngine(cell)
        step = engine.advance(engine.begin(), 0, 288)
        for table in (step.agents, step.episodes, step.exposures, *(step.truth[name] for name in sorted(step.truth))):
            out.update(repr(table.to_pydict()).encode())
        for name in sorted(step.state):
            out.update(name.encode() + step.state[name].tobytes())
    return out.hexdigest()


def _mesa(agents: int = 10_000, steps: int = 5) -> dict[str, Any]:
    """Bounded confidence as mesa's users write it: an agent's step meets one other at random."""
    try:
        import mesa
    except ImportError:
        return {"missing": "mesa is not installed; `pip install 'simflow[compare]'` brings it"}

    class Holder(mesa.Agent):  # type: ignore[misc, unused-ignore]
        def __init__(self, model: Any) -> None:
            super().__init__(model)
            self.x = model.random.uniform(-1, 1)

        def step(self) -> None:
            delta = self.model.random.choice(self.model.everybody).x - self.x
            if abs(delta) < 0.7:
                self.x += 0.06 * delta

    class Crowd(mesa.Model):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__(seed=1)
            Holder.create_agents(self, agents)
            self.everybody = list(self.agents)

        def step(self) -> None:
            self.agents.shuffle_do("step")

    model = Crowd()
    begin = time.process_time()
    for _ in range(steps):
        model.step()
    spent = time.process_time() - begin
    return {"version": mesa.__version__, "cpu_s_a_step": spent / steps, "encounters_a_cpu_s": round(agents * steps / spent)}


def city(ticks: int, agents: int = 300) -> Cell:
    """The city of the examples: four personas, three topics, ticks of ten minutes."""
    from simflow.plan import Cell, Clock, Event, Normal, Persona, Topic, Voice

    quarter = agents // 4
    topic = "water tariff"
    personas = (
        Persona("pensioner", quarter, stance={topic: Normal(-0.5, 0.3)}),
        Persona("young renter", agents - 3 * quarter),
        Persona("shop owner", quarter, stance={topic: Normal(-0.2, 0.4)}),
        Persona("water engineer", quarter, stance={topic: Normal(0.6, 0.2)}),
    )
    topics = tuple(Topic(name) for name in (topic, "council trust", "parking"))
    voices = (Voice("city council", 0.8), Voice("leak watch", 0.15))
    events = (Event("announcement", "post", 24, by="city council", text="Household water bills rise by 18% from May.", topic=topic),)
    return Cell("bench", "base", {}, 7, topics, personas, voices=voices, events=events, clock=Clock(ticks=ticks, minutes=10))


def _alone(task: Any, *args: Any) -> Any:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(task, *args).result()


def _peak() -> float:
    """Most memory that this process ever held, GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def _table(results: dict[str, Any]) -> str:
    lines = []
    for part, figures in results.items():
        if part == "targets":
            continue
        lines.append(part)
        for name, value in figures.items():
            if isinstance(value, dict):
                lines.append(f"  {name:<28} " + ", ".join(f"{k} {_number(v)}" for k, v in value.items()))
            elif not isinstance(value, list):
                lines.append(f"  {name:<28} {_number(value)}")
    lines.append("targets")
    lines.extend(
        f"  {row['figure']:<28} {_number(row['measured'])}  {row['target']}  {'met' if row['met'] else 'NOT met'}"
        for row in results["targets"]
    )
    return "\n".join(lines)


def _number(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
