"""`simflow bench recall`: exact recall and the graph as history grows, beside LanceDB asked in the common way."""

from __future__ import annotations

import json
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from simflow.memory.history import History

SIZES = "10000,100000,1000000,5000000"
DIMENSION, TOP, HALF_LIFE = 384, 8, 500
A_TICK = 15
"""Episodes a tick: 300 agents as the built-in world has them at ten minutes a tick."""
CENTRES, SPREAD = 200, 0.9
SHARE = 0.015
"""Share of all episodes that one agent has witnessed."""
SEGMENT = 250_000
ROUNDS = 3


@click.command()
@click.option("--sizes", default=SIZES, show_default=True, help="Numbers of episodes.")
@click.option("--queries", default=200, show_default=True, type=click.IntRange(min=1), help="Queries that are timed, at each size.")
@click.option("--checks", default=25, show_default=True, type=click.IntRange(min=0), help="Queries compared with a scan of everything.")
@click.option("--lance-up-to", default=100_000, show_default=True, help="Largest size at which LanceDB is measured too.")
@click.option("--edges", default=1_000_000, show_default=True, type=click.IntRange(min=0), help="Edges of the graph; 0 leaves it out.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the vectors are put; 2 kB an episode. Default: a temporary folder.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def recall(sizes: str, queries: int, checks: int, lance_up_to: int, edges: int, folder: Path | None, *, as_json: bool) -> None:
    """CPU milliseconds a recall (median and 95th percentile), exactness against a full scan, memory; each size in a process of its own."""
    try:
        wanted = [int(s) for s in sizes.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"'{sizes}' is no list of numbers", param_hint="--sizes") from error
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        for size in wanted:
            click.echo(f"building {size:,} episodes", err=True)
            alone(build, size, place / str(size))
        # The sizes take turns, so that a machine that is busy for a while is not busy for one of them alone.
        spent: dict[int, list[dict[str, Any]]] = {size: [] for size in wanted}
        for turn in range(ROUNDS):
            for size in wanted:
                click.echo(f"round {turn + 1} of {ROUNDS}: {size:,} episodes", err=True)
                spent[size].append(alone(probe, size, place / str(size), -(-queries // ROUNDS), turn, 0 if turn else checks))
        rows = [_merged(size, spent[size]) for size in wanted]
        for row in rows:
            if row["episodes"] <= lance_up_to:
                row["lancedb"] = alone(overfetch, row["episodes"], place / str(row["episodes"]), min(queries, 40), row["world"]["p50_ms"])
        graph = alone(neighbourhood, edges, queries) if edges else None
    finally:
        shutil.rmtree(place, ignore_errors=True)
    p95 = [max(r["world"]["p95_ms"], r["witnessed"]["p95_ms"]) for r in rows]
    result = {
        "dimension": DIMENSION,
        "top": TOP,
        "half_life": HALF_LIFE,
        "episodes_a_tick": A_TICK,
        "sizes": rows,
        "p95_ms": max(p95),
        "growth": {scope: round(max(r[scope]["p95_ms"] for r in rows) / rows[0][scope]["p95_ms"], 2) for scope in ("world", "witnessed")},
        "exact": all(r["exact"] == r["checked"] for r in rows),
        "graph": graph,
        "python": sys.version.split()[0],
    }
    click.echo(json.dumps(result, indent=1) if as_json else _table(result))


def alone(task: Any, *args: Any) -> Any:
    """Run a task in a fresh process, so that its CPU time and memory are its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(task, *args).result()


def build(size: int, folder: Path) -> None:
    """Write `size` clustered unit vectors as segments, in order of time."""
    import numpy as np

    from simflow.memory.history import segment
    from simflow.memory.segments import save

    centres = _centres()
    for number, start in enumerate(range(0, size, SEGMENT)):
        rng = np.random.default_rng([7, number])
        index = np.arange(start, min(start + SEGMENT, size), dtype=np.int64)
        vectors = _near(centres[rng.integers(0, CENTRES, len(index))], rng)
        zeros = np.zeros(len(index), np.int32)
        made = segment(index, (index // A_TICK).astype(np.int32), zeros, zeros, vectors)
        save(folder / f"{number:05d}", made)


def probe(size: int, folder: Path, queries: int, turn: int, checks: int) -> dict[str, Any]:
    """Time recalls over everything and over what one agent witnessed (milliseconds of each), and compare some with a scan of everything."""
    import numpy as np

    began = time.process_time()
    history = _open(folder)
    opened = time.process_time() - began
    rng = np.random.default_rng([11, turn])
    asked = _near(_centres()[rng.integers(0, CENTRES, queries)], rng)
    now = int(history.tick[-1]) + 1
    own = [np.sort(rng.choice(size, max(int(size * SHARE), TOP), replace=False)).astype(np.int64) for _ in range(8)]
    found: dict[str, Any] = {"open_cpu_ms": opened * 1000}
    for scope in ("world", "witnessed"):
        spent, scanned = [], []
        for number, query in enumerate(asked):
            allowed = None if scope == "world" else own[number % len(own)]
            began = time.process_time()
            hits = history.search(query, now=now, half_life=HALF_LIFE, top=TOP, rows=allowed)
            spent.append((time.process_time() - began) * 1000)
            scanned.append(hits.scanned)
        found[scope] = {"ms": spent, "scanned": scanned}
    found["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    truth = full_scan(history, asked[:checks], now)
    same = [
        list(history.search(query, now=now, half_life=HALF_LIFE, top=TOP).rows) == list(best)
        for query, best in zip(asked[:checks], truth, strict=True)
    ]
    return found | {"checked": len(same), "exact": sum(same)}


def _merged(size: int, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    import numpy as np

    row: dict[str, Any] = {"episodes": size, "open_cpu_ms": round(float(np.median([r["open_cpu_ms"] for r in rounds])), 1)}
    for scope in ("world", "witnessed"):
        spent = [ms for r in rounds for ms in r[scope]["ms"]]
        row[scope] = {
            "p50_ms": round(float(np.percentile(spent, 50)), 3),
            "p95_ms": round(float(np.percentile(spent, 95)), 3),
            "scanned": int(np.median([n for r in rounds for n in r[scope]["scanned"]])),
        }
    row["peak_mb"] = max(r["peak_mb"] for r in rounds)
    return row | {key: sum(r[key] for r in rounds) for key in ("checked", "exact")}


def full_scan(history: History, queries: npt.NDArray[np.float32], now: int) -> list[npt.NDArray[np.int64]]:
    """The best rows of each query by looking at every row: float32 products keep eight times as many, double precision decides."""
    import numpy as np

    kept: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64) for _ in queries]
    for start in range(0, len(history), 50_000):
        rows = np.arange(start, min(start + 50_000, len(history)), dtype=np.int64)
        decay = 0.5 ** ((now - history.tick[rows].astype(np.float64)) / HALF_LIFE)
        rated = (history.vectors(rows) @ queries.T).astype(np.float64) * decay[:, None]
        for number in range(len(queries)):
            few = np.argpartition(-rated[:, number], min(8 * TOP, len(rows) - 1))[: 8 * TOP]
            kept[number] = np.concatenate([kept[number], rows[few]])
    found = []
    for query, candidates in zip(queries, kept, strict=True):
        rows = np.sort(candidates)
        scores = history.score(rows, query.astype(np.float64), now, HALF_LIFE)
        found.append(rows[np.lexsort((-rows, -scores))[:TOP]])
    return found


def overfetch(size: int, folder: Path, queries: int, ours: float) -> dict[str, Any]:
    """LanceDB as it is commonly used: fetch several times `top` by similarity, decay those, keep `top`. What it costs and what it finds.

    ours: CPU milliseconds of an exact recall; `at_equal_cost` is the most that is found without costing more, None where all cost more.
    """
    import lancedb
    import numpy as np
    import pyarrow as pa

    history = _open(folder)
    flat = history.vectors(np.arange(size, dtype=np.int64)).reshape(-1)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat), DIMENSION)
    table: Any = lancedb.connect(folder / "lance").create_table("rows", pa.table({"tick": history.tick, "vector": vectors}))
    rng = np.random.default_rng(11)
    asked = _near(_centres()[rng.integers(0, CENTRES, queries)], rng)
    now = int(history.tick[-1]) + 1
    result: dict[str, Any] = {"queries": queries, "exact_recall_ms": ours, "at_equal_cost": None}
    for factor in (1, 8, 64):
        spent, found = [], []
        for query in asked:
            best = history.search(query, now=now, half_life=HALF_LIFE, top=TOP).rows
            began = time.process_time()
            answer = table.search(query).distance_type("cosine").with_row_id(True).limit(factor * TOP).to_arrow()
            score = (1 - answer["_distance"].to_numpy()) * 0.5 ** ((now - answer["tick"].to_numpy()) / HALF_LIFE)
            chosen = answer["_rowid"].to_numpy()[np.argsort(-score)[:TOP]]
            spent.append((time.process_time() - began) * 1000)
            found.append(len(set(chosen.tolist()) & set(best.tolist())) / TOP)
        row = {"p50_ms": round(float(np.median(spent)), 2), "found": round(float(np.mean(found)), 3)}
        result[f"fetch_{factor}x"] = row
        if row["p50_ms"] <= ours and row["found"] > (result["at_equal_cost"] or 0):
            result["at_equal_cost"] = row["found"]
    return result


def neighbourhood(edges: int, queries: int) -> dict[str, Any]:
    """Two hops as of a tick around one agent, in a graph of `edges` beliefs between agents, most of them of a few."""
    import numpy as np
    import pyarrow as pa

    from simflow.episode import CLAIMS, EDGES
    from simflow.memory.graph import Graph

    rng = np.random.default_rng(5)
    agents, ticks = max(edges // 20, 2), 5_000
    of, on = (np.minimum((agents * rng.random(edges) ** 2).astype(np.int32), agents - 1) for _ in range(2))
    tick = np.sort(rng.integers(0, ticks, edges)).astype(np.int32)
    number = np.arange(edges, dtype=np.int64)
    columns = {
        "claim": number,
        "kind": pa.array(["attitude"]).take(pa.array(np.zeros(edges, np.int64))),
        "of": of,
        "on_agent": on,
        "about": pa.array(["water", "trains"]).take(pa.array(number % 2)),
        "value": rng.choice([-0.8, 0.8], edges).astype(np.float32),
        "confidence": np.full(edges, 0.9, np.float32),
        "tick": tick,
        "learnt": tick + 20,
        "episode": number,
        "extractor": pa.array(["bench"]).take(pa.array(np.zeros(edges, np.int64))),
    }
    nothing = {f.name: pa.nulls(edges, f.type) for f in CLAIMS if f.name not in columns}
    claims = pa.table({**columns, **nothing}).select(CLAIMS.names).cast(CLAIMS)
    began = time.process_time()
    graph = Graph(claims, EDGES.empty_table(), pa.table({"episode": number, "ordinal": number}), half_life=100)
    built = time.process_time() - began
    spent: dict[str, list[float]] = {"world": [], "witnessed": []}
    facts = []
    seen = [np.unique(rng.choice(edges, max(int(edges * SHARE), 1), replace=False)).astype(np.int64) for _ in range(8)]
    began = time.process_time()
    known = [graph.knowledge(episodes) for episodes in seen]
    first = (time.process_time() - began) / len(seen)
    for turn in range(queries):
        agent, until = int(rng.integers(0, agents)), int(rng.integers(ticks // 2, ticks))
        for scope, witnessed in (("world", None), ("witnessed", known[turn % len(known)])):
            began = time.process_time()
            found = graph.facts([agent], hops=2, until=until, known_at=until, witnessed=witnessed)
            spent[scope].append((time.process_time() - began) * 1000)
            if witnessed is None:
                facts.append(len(found))
    return {
        "edges": edges,
        "agents": agents,
        "hops": 2,
        "build_cpu_s": round(built, 2),
        "first_of_a_viewer_ms": round(1000 * first, 2),
        "facts": int(np.median(facts)),
        **{
            scope: {"p50_ms": round(float(np.percentile(times, 50)), 2), "p95_ms": round(float(np.percentile(times, 95)), 2)}
            for scope, times in spent.items()
        },
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _centres() -> npt.NDArray[np.float32]:
    import numpy as np

    centres = np.random.default_rng(3).standard_normal((CENTRES, DIMENSION), dtype=np.float32)
    unit: npt.NDArray[np.float32] = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    return unit


def _near(centres: npt.NDArray[np.float32], rng: np.random.Generator) -> npt.NDArray[np.float32]:
    import numpy as np

    vectors = centres + SPREAD / DIMENSION**0.5 * rng.standard_normal(centres.shape, dtype=np.float32)
    unit: npt.NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _open(folder: Path) -> History:
    from simflow.memory.history import History
    from simflow.memory.segments import load

    return History([made for p in sorted(folder.iterdir()) if p.name != "lance" and (made := load(p)) is not None])


def _table(result: dict[str, Any]) -> str:
    lines = [f"{'episodes':>10} {'world p50':>10} {'p95':>7} {'witnessed p50':>14} {'p95':>7} {'scanned':>8} {'exact':>8} {'peak MB':>8}"]
    for r in result["sizes"]:
        world, own = r["world"], r["witnessed"]
        lines.append(
            f"{r['episodes']:>10,} {world['p50_ms']:>10.2f} {world['p95_ms']:>7.2f} {own['p50_ms']:>14.2f} {own['p95_ms']:>7.2f}"
            f" {world['scanned']:>8,} {r['exact']:>4}/{r['checked']:<3} {r['peak_mb']:>8,}"
        )
        for name, cost in r.get("lancedb", {}).items():
            if isinstance(cost, dict):
                lines.append(
                    f"{'':>10} LanceDB {name}: {cost['p50_ms']:.1f} CPU ms, finds {cost['found']:.0%} of the right {result['top']}"
                )
    lines.append(f"growth of p95 from the smallest size: world x {result['growth']['world']}, witnessed x {result['growth']['witnessed']}")
    if result["graph"]:
        graph = result["graph"]
        lines += [
            f"graph of {graph['edges']:,} edges, {graph['hops']} hops as of a tick, {scope}: p50 {graph[scope]['p50_ms']} ms, p95 {graph[scope]['p95_ms']} ms"
            for scope in ("world", "witnessed")
        ]
    return "\n".join(lines)
