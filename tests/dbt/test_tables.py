"""The tables over real runs: two variants with two seeds of a village."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from collections import defaultdict, deque
from itertools import combinations
from pathlib import Path

import duckdb
import pytest

from simflow.run import figures, open_cell
from simflow.scenario import load
from simflow.store import Store
from simflow_pipelines.catalog import write_catalog
from simflow_pipelines.dbt_project import dbt_folder

VILLAGE = """\
scenario: village
topics: {square: A plan to pave the village square.}
population:
  agents: 20
  personas:
    farmer: {share: 50%, stance: {square: -0.5 ± 0.3}}
    baker: {share: 50%, stance: {square: 0.5 ± 0.3}}
clock: {ticks: 60, window: 20}
extract: {every: 10}
events:
  plan: {at: 5, post: The square will be paved in May.}
  late: {at: 45, post: The square will be paved in June.}
experiment:
  seed: 1
  repeats: 2
  variants:
    loud: {}
    quiet: {events.late: null}
"""


@pytest.fixture(scope="module")
def dbt(tmp_path_factory):
    """Run dbt on a home folder; returns the statuses by node."""
    target = tmp_path_factory.mktemp("target")

    def run(home: Path, command: str, *options: str) -> dict[str, str]:
        where = {"SIMFLOW_HOME": home, "DBT_TARGET_PATH": target, "DBT_LOG_PATH": target, "DO_NOT_TRACK": 1}
        environment = os.environ | {name: str(value) for name, value in where.items()}
        (target / "run_results.json").unlink(missing_ok=True)
        dbt = Path(sysconfig.get_path("scripts")) / "dbt"
        folder = str(dbt_folder())
        done = subprocess.run(
            [dbt, command, "--project-dir", folder, "--profiles-dir", folder, *options],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (target / "run_results.json").exists(), done.stdout + done.stderr
        results = json.loads((target / "run_results.json").read_text())["results"]
        return {r["unique_id"].split(".")[2 if r["unique_id"].startswith(("model", "test")) else -1]: r["status"] for r in results}

    return run


@pytest.fixture(scope="module")
def home(tmp_path_factory, dbt) -> Path:
    """Four runs, and the tables over them with all their tests."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "village.yaml").write_text(VILLAGE)
    state = folder / ".simflow"
    for cell in load(folder / "village.yaml").cells:
        work = open_cell(folder / "village.yaml", cell, state)
        for number in range(len(work.windows)):
            work.window(number)
    write_catalog(state)
    statuses = dbt(state, "build")
    wrong = {name: status for name, status in statuses.items() if status not in {"success", "pass"}}
    assert not wrong
    assert len(statuses) > 60
    return state


def rows(home: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as warehouse:
        return warehouse.sql(sql).fetchall()


def tables(home: Path) -> dict[str, list[tuple]]:
    """All rows of all tables, in an order that does not hang on the last bits of a figure."""
    names = [n for (n,) in rows(home, "select table_name from information_schema.tables where table_schema = 'main' order by 1")]

    def place(row: tuple) -> tuple:
        return [repr(v) for v in row if not isinstance(v, float)], [round(v, 6) for v in row if isinstance(v, float)]

    return {name: sorted(rows(home, f"from {name}"), key=place) for name in names}


def alike(row: tuple) -> tuple:
    # Sums over threads differ in the last bits with the order of adding.
    return tuple(pytest.approx(v, rel=1e-9, abs=1e-9, nan_ok=True) if isinstance(v, float) else v for v in row)


def runs(home: Path):
    from simflow.runs import list_runs

    return [Store(home).open(record) for record in list_runs(home)]


def test_every_mart_has_rows_and_every_column_its_words(home):
    counts = {name: len(found) for name, found in tables(home).items()}
    assert len(counts) == 17
    assert all(counts.values()), counts
    import yaml

    for file in (dbt_folder() / "models" / "marts").glob("*.yml"):
        for model in yaml.safe_load(file.read_text())["models"]:
            assert model["description"]
            columns = [c["name"] for c in model["columns"]]
            found = [n for (n,) in rows(home, f"select column_name from information_schema.columns where table_name = '{model['name']}'")]
            assert set(columns) == set(found)
            assert all(c["description"] for c in model["columns"])


def test_counts_equal_what_the_store_says(home):
    for run in runs(home):
        now = figures(run)
        [(episodes, exposures, in_force, superseded)] = rows(
            home, f"select episodes, exposures, edges_in_force, edges_superseded from runs where run = '{run.record.id}'"
        )
        assert episodes == run.table("episodes").num_rows
        assert exposures == run.table("exposures").num_rows
        assert (in_force, superseded) == (now["edges_in_force"], now["edges_superseded"])
        [(mean, sd)] = rows(
            home,
            f"select avg(stance), stddev_pop(stance) from stances where run = '{run.record.id}' and topic = 'square' and tick = {run.end}",
        )
        assert mean == pytest.approx(now["stance_mean/square"], abs=1e-4)
        assert sd == pytest.approx(now["stance_sd/square"], abs=1e-4)


def test_measures_are_those_that_were_taken_of_each_window(home):
    from simflow.measures.record import run_measures

    for run in runs(home):
        columns = "window_number, tick, topic, group_name, measure, value"
        found = rows(home, f"select {columns} from measures where run = '{run.record.id}'")
        taken = [
            (r["window"], r["tick"], r["topic"] or "", r["group"] or "", r["measure"], r["value"]) for r in run_measures(run).to_pylist()
        ]
        assert sorted(found) == sorted(taken)
        assert {w for w, *_ in found} == {0, 1, 2}
    [(change,)] = rows(home, "select max(abs(change)) from measures where measure = 'mean'")
    assert change > 0


def test_cascades_equal_a_naive_walk_of_the_threads(home):
    for run in runs(home):
        episodes = run.table("episodes").select(["episode", "kind", "parent"]).to_pylist()
        kinds = {e["episode"]: e["kind"] for e in episodes}
        children = defaultdict(list)
        for e in episodes:
            if e["parent"] in kinds and e["kind"] in {"reply", "repost", "quote"}:
                children[e["parent"]].append(e["episode"])
        expected = {}
        for root in (e for e, kind in kinds.items() if kind == "post"):
            depth, near, queue = {root: 0}, defaultdict(set), deque([root])
            while queue:
                here = queue.popleft()
                for child in children[here]:
                    depth[child] = depth[here] + 1
                    near[here].add(child)
                    near[child].add(here)
                    queue.append(child)
            if len(depth) > 1:
                pairs = list(combinations(depth, 2))
                expected[root] = (len(depth), max(depth.values()), sum(distance(near, *pair) for pair in pairs) / len(pairs))
        found = rows(home, f"select root, size, depth, structural_virality from cascades where run = '{run.record.id}'")
        assert expected, "the village must talk"
        assert {root for root, *_ in found} == set(expected)
        for root, size, depth_, virality in found:
            assert (size, depth_, pytest.approx(virality)) == expected[root]


def distance(near, a, b) -> int:
    seen, queue = {a: 0}, deque([a])
    while queue:
        here = queue.popleft()
        if here == b:
            return seen[here]
        for other in near[here] - set(seen):
            seen[other] = seen[here] + 1
            queue.append(other)
    raise AssertionError


def test_variants_are_compared_seed_by_seed(home):
    [(pairs, difference)] = rows(
        home, "select pairs, mean_difference from contrasts where reference = 'loud' and variant = 'quiet' and outcome = 'episodes'"
    )
    by_seed = dict(rows(home, "select variant || seed, episodes from runs"))
    assert pairs == 2
    assert difference == pytest.approx(sum(by_seed[f"quiet{s}"] - by_seed[f"loud{s}"] for s in {k[-1] for k in by_seed}) / 2)


def test_shared_windows_are_seen_by_both_variants(home):
    shared = rows(home, "select key, count(distinct run) from staging.stg_windows group by key having count(distinct run) = 2")
    assert len(shared) == 4, "two windows of each seed come before the variants part"
    assert all(n for (n,) in rows(home, "select count(*) from episodes group by run, window_number"))


def test_the_questions_in_the_documentation_have_answers(home, root):
    questions = re.findall(r"```sql\n(.*?)```", (root / "docs" / "tables.md").read_text(), re.DOTALL)
    assert len(questions) == 8
    for question in questions:
        rows(home, question.strip().rstrip(";"))


def test_building_again_from_nothing_gives_equal_tables(home, dbt, tmp_path):
    before = tables(home)
    again = tmp_path / ".simflow"
    again.mkdir()
    shutil.copytree(home / "catalog", again / "catalog")
    dbt(again, "run")
    after = tables(again)
    assert after.keys() == before.keys()
    for name, found in after.items():
        assert len(found) == len(before[name]), name
        assert all(row == alike(other) for row, other in zip(found, before[name], strict=True)), name


def test_a_run_that_is_gone_leaves_the_tables_and_a_window_is_added_once(home, dbt, tmp_path):
    state = tmp_path / ".simflow"
    shutil.copytree(home, state, ignore=shutil.ignore_patterns("lance", "cache"))
    before = len(rows(state, "from episodes"))
    gone = runs(state)[0].record
    (count,) = rows(state, f"select count(*) from episodes where run = '{gone.id}'")[0]
    shutil.rmtree(gone.path)
    write_catalog(state)
    dbt(state, "run", "--select", "+episodes")
    assert len(rows(state, "from episodes")) == before - count
    dbt(state, "run", "--select", "+episodes")
    assert len(rows(state, "from episodes")) == before - count


def test_wrong_data_fails_the_build(home, dbt, tmp_path):
    """The same window listed twice as two windows: its episodes are there twice."""
    state = tmp_path / ".simflow"
    shutil.copytree(home, state, ignore=shutil.ignore_patterns("lance", "cache"))
    record = runs(state)[0].record
    listed = json.loads((record.path / "windows.json").read_text())
    listed[1] = {**listed[0], "number": 1}
    (record.path / "windows.json").write_text(json.dumps(listed))
    write_catalog(state)
    statuses = dbt(state, "build", "--select", "+data_quality", "--exclude-resource-type", "unit_test", "--full-refresh")
    assert statuses["data_quality_errors_do_not_happen"] == "fail"
