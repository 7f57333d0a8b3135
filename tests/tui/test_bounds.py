"""What the terminal may know, and what it may cost: imports and memory."""

from __future__ import annotations

import ast
import subprocess
import sys

from simflow_tui.society import Society

WALK = """
import asyncio, sys
from pathlib import Path
from simflow_tui.app import SimflowApp
from simflow_tui.widgets.bar import MODES

async def walk():
    app = SimflowApp([Path(sys.argv[1])], live=False)
    async with app.run_test(size=(120, 36)) as pilot:
        app.take(app.read())
        for mode in MODES:
            app.action_go(mode)
            while not app.screen._whole or (mode == "belief" and app.beliefs is None):
                await pilot.pause(0.05)
                app.take(app.read())
                app.gather()
                app.tell()
            app.tell()
            await app.workers.wait_for_complete()
asyncio.run(walk())
print(sorted(m for m in sys.modules if m.split(".")[0] in {"dagster", "lancedb", "dbt", "simflow_pipelines"} or m.startswith(("simflow.world", "simflow.run."))))
"""


def test_no_screen_brings_an_orchestrator_or_an_index(run, home):
    done = subprocess.run([sys.executable, "-c", WALK, str(home)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_list_of_runs_is_painted_without_arrow(run, home):
    code = (
        "import sys, simflow_tui.app, simflow_tui.pages.runs; print(sorted({'pyarrow', 'numpy', 'fsspec', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_hidden_world_is_never_read(root):
    for path in (root / "tui/simflow_tui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            assert not (isinstance(node, ast.Attribute) and node.attr == "truth"), path
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("truth/")), path


def test_only_the_newest_episodes_are_kept_and_the_newest_stance_of_each(home, make):
    made = make.run(home, done=6, each=60)
    society = Society(home, made.record, keep=100)
    assert society.advance(made.committed())
    assert not society.advance(made.committed())
    assert len(society.episodes) == 100
    assert society.episodes[-1].tick == max(e.tick for e in society.episodes)
    whole = Society(home, made.record, keep=10_000)
    for n in range(1, 7):
        whole.advance(made.committed(n))
    assert list(whole.episodes)[-100:] == list(society.episodes)
    assert whole.stances == society.stances
    assert len(whole.episodes) == 360


def test_exposures_are_counted_as_they_are_stored(home, make):
    from simflow.store import Store

    made = make.run(home, done=2, each=30)
    society = Society(home, made.record)
    society.advance(made.committed())
    society.count_exposures(made.committed())
    society.count_exposures(made.committed())
    rows = Store(home).open(made.record).table("exposures").column("episode").to_pylist()
    assert society.seen == {e: rows.count(e) for e in set(rows)}


def test_mean_stances_are_those_of_the_edges_in_force(home, make):
    from simflow.store import Store

    made = make.run(home, done=3)
    society = Society(home, made.record)
    society.advance(made.committed())
    newest: dict[int, dict] = {}
    for row in Store(home).open(made.record).table("edges").to_pylist():
        if row["version"] >= newest.get(row["edge"], row)["version"]:
            newest[row["edge"]] = row
    held: dict[tuple[int, str], tuple[int, float]] = {}
    for row in newest.values():
        if row["on_topic"] and row["valid_to"] is None:
            at = row["of"], row["on_topic"]
            held[at] = max(held.get(at, (-1, 0.0)), (row["valid_from"], row["value"]))
    pensioners = [
        value for (of, topic), (_, value) in held.items() if topic == "water tariff" and society.agents[of].persona == "pensioner"
    ]
    assert abs(society.stances.means["water tariff", "pensioner"][-1] - sum(pensioners) / len(pensioners)) < 1e-9
