"""A study of six cells on two workers: PostgreSQL, RabbitMQ, an S3-compatible server, Dagster's queue, and a worker that dies on the way.

Everything runs on this machine, each worker with nothing but its own folder. Usage: python pipelines/examples/two_workers.py [FOLDER]. Prints what
happened; docs/deploy.md shows it. Exits with 1 if the study does not complete or its tables differ from those of a single machine.

Needs: apt-get install postgresql rabbitmq-server; pip install 'simflow[s3,postgres]' dagster-celery 'moto[s3]' flask flask-cors.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import duckdb
from services import Dagster, Processes, free_port, until

from simflow.runs import list_runs, place
from simflow_pipelines import warehouse
from simflow_pipelines.describe import ASSETS
from simflow_pipelines.materialize import materialize, materialize_tables
from simflow_pipelines.scenario_definitions import load_plan

VILLAGE = """\
scenario: village
topics: {square: A plan to pave the village square.}
population:
  agents: 12
  personas:
    farmer: {share: 50%, stance: {square: -0.5 ± 0.3}}
    baker: {share: 50%, stance: {square: 0.5 ± 0.3}}
clock: {ticks: 35, window: 5}
extract: {every: 5}
events:
  plan: {at: 5, post: The square will be paved in May.}
experiment:
  seed: 1
  repeats: 2
  variants:
    plain: {}
    early: {events.plan.at: 2}
    harsh: {events.plan.post: "The square will be paved, whoever likes it or not."}
"""
CELLS, WINDOWS, TOGETHER = 6, 7, 3
"""TOGETHER: runs that a worker does side by side."""

CONFIG = """\
telemetry: {{enabled: false}}
storage:
  postgres:
    postgres_url: {{env: DAGSTER_POSTGRES_URL}}
run_coordinator:
  module: dagster._core.run_coordinator.queued_run_coordinator
  class: QueuedRunCoordinator
run_launcher:                          # each run is a task of a worker
  module: dagster_celery.launcher
  class: CeleryRunLauncher
  config:
    broker: {{env: CELERY_BROKER}}
    backend: rpc://
run_retries:                           # a run whose worker died is launched anew; committed windows are not computed again
  enabled: true
  max_retries: 3
concurrency:
  pools: {{granularity: run, default_limit: {cells}}}
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
"""

CELERY = """\
import os

broker_url = os.environ["CELERY_BROKER"]
result_backend = "rpc://"
task_acks_late = True                  # a task whose worker is gone goes back to the queue
task_reject_on_worker_lost = True
worker_prefetch_multiplier = 1
"""


class Site:
    """The servers of a deployment, all on this machine."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        self.folder = folder
        self.processes = processes
        self.ports = {name: free_port() for name in ("postgres", "rabbit", "erlang", "s3")}

    def postgres(self) -> str:
        """Start PostgreSQL; its URL. It refuses to run as root, so root lends it the user `postgres`."""
        data, sockets = self.folder / "postgres", self.folder / "sockets"
        for made in (data, sockets):
            made.mkdir()
        become: list[str] = []
        if os.geteuid() == 0:
            become = ["runuser", "-u", "postgres", "--"]
            for folder in (data, sockets):
                shutil.chown(folder, "postgres")
        bin_folder = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
        if bin_folder is None:
            raise SystemExit("PostgreSQL is not here: apt-get install postgresql")
        plain = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        subprocess.run(
            [*become, bin_folder / "initdb", "-D", data, "-A", "trust", "-U", "dagster"],
            check=True,
            capture_output=True,
            env=plain,
            cwd="/",
        )
        command = [*become, str(bin_folder / "postgres"), "-D", str(data), "-p", str(self.ports["postgres"]), "-k", str(sockets)]
        self.processes.start("postgres", [*command, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"], plain, cwd="/")
        until("PostgreSQL", lambda: self.processes.listening("postgres", self.ports["postgres"]))
        made_db = [bin_folder / "createdb", "-h", "127.0.0.1", "-p", str(self.ports["postgres"]), "-U", "dagster", "dagster"]

        def create() -> bool | None:
            return True if subprocess.run(made_db, check=False, capture_output=True, env=plain, cwd="/").returncode == 0 else None

        until("a database", create)
        return f"postgresql+psycopg2://dagster@127.0.0.1:{self.ports['postgres']}/dagster"

    def rabbit(self) -> str:
        """Start RabbitMQ; its URL."""
        server = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
        if not server.exists():
            raise SystemExit("RabbitMQ is not here: apt-get install rabbitmq-server")
        home = self.folder / "rabbit"
        home.mkdir()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "RABBITMQ_NODENAME": f"simflow{self.ports['rabbit']}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.ports["rabbit"]),
            "RABBITMQ_DIST_PORT": str(self.ports["erlang"]),
            "RABBITMQ_MNESIA_BASE": str(home),
            "RABBITMQ_LOG_BASE": str(home),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "RABBITMQ_PID_FILE": str(home / "pid"),
        }
        self.processes.start("rabbit", [str(server)], environment, cwd="/")
        until("RabbitMQ", lambda: self.processes.listening("rabbit", self.ports["rabbit"]))
        return f"pyamqp://guest:guest@127.0.0.1:{self.ports['rabbit']}//"

    def objects(self) -> dict[str, str]:
        """Start the S3-compatible server and make a bucket; what clients have to know."""
        moto = Path(sys.executable).with_name("moto_server")
        if not moto.exists():
            raise SystemExit("moto is not here: pip install 'moto[s3]' flask flask-cors")
        self.processes.start("s3", [str(moto), "-H", "127.0.0.1", "-p", str(self.ports["s3"])], os.environ)
        until("the S3 server", lambda: self.processes.listening("s3", self.ports["s3"]))
        url = f"http://127.0.0.1:{self.ports['s3']}"
        urllib.request.urlopen(urllib.request.Request(f"{url}/studies", method="PUT")).close()
        return {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "example", "AWS_SECRET_ACCESS_KEY": "example", "AWS_REGION": "us-east-1"}

    def worker(self, name: str, environment: Mapping[str, str]) -> None:
        """Start a worker with a folder of its own: what it computes reaches the others through the object store alone."""
        own = {
            **environment,
            "SIMFLOW_WORK": str(self.folder / name),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(self.folder), os.environ.get("PYTHONPATH")])),
        }
        celery = [sys.executable, "-m", "celery", "-A", "dagster_celery.app", "worker", "-n", f"{name}@%h", "-Q", "dagster"]
        self.processes.start(name, [*celery, "-c", str(TOGETHER), "--without-gossip", "--without-mingle"], own, cwd=self.folder)


def marts(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables, without what names a run, tells the time, or says which of the cells that share a window computed it."""
    found = {}
    with duckdb.connect(str(warehouse.path(home)), read_only=True) as connection:
        names = [
            n
            for (n,) in connection.sql("select table_name from information_schema.tables where table_schema = 'main' order by 1").fetchall()
        ]
        cell = "(select scenario || '/' || cell from runs as r where r.run = t.run)"
        for name in names:
            columns = [c for (c,) in connection.sql(f"select column_name from (describe {name})").fetchall()]  # noqa: S608 - our own tables
            kept = [
                f't."{c}"'
                for c in columns
                if c not in {"run", "started", "ended", "committed", "folder", "is_reused", "reused_windows", "reason", "seconds"}
                and "seconds" not in c
                and "rate" not in c
            ]
            named = [cell] if "run" in columns and name != "runs" else []
            rows = connection.sql(f"select {', '.join([*named, *kept])} from {name} as t").fetchall()  # noqa: S608
            found[name] = sorted((tuple(round(v, 9) if isinstance(v, float) else v for v in row) for row in rows), key=repr)
    return found


def say(text: str) -> None:
    """Print one line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def study(folder: Path, site: Site, home: str) -> bool:
    """Run the study on two workers, kill one, and see it through."""
    environment = {
        **os.environ,
        **site.objects(),
        "DAGSTER_POSTGRES_URL": site.postgres(),
        "CELERY_BROKER": site.rabbit(),
        "DAGSTER_HOME": str(folder / "dagster"),
        "DAGSTER_GRPC_TIMEOUT_SECONDS": "600",
        "SIMFLOW_HOME": home,
        "SIMFLOW_PROJECT": str(folder),
        "SIMFLOW_WORK": str(folder / "coordinator"),
    }
    os.environ.update(environment)
    (folder / "dagster").mkdir()
    (folder / "dagster" / "dagster.yaml").write_text(CONFIG.format(cells=CELLS))
    (folder / "dagster_celery_config.py").write_text(CELERY)
    dagster = Dagster(site.processes, folder, environment)
    dagster.start()
    for name in ("worker-a", "worker-b"):
        site.worker(name, environment)
    say("PostgreSQL, RabbitMQ, S3, code server, webserver, daemon and two workers are up")
    plan = load_plan(folder / "scenarios" / "village.yaml")
    keys = [f"{cell.name}|{n:03d}" for cell in plan.cells for n in range(WINDOWS)]
    identity = dagster.backfill("village", list(ASSETS), keys)

    def at_work() -> int | None:
        # All six have begun, and whoever is to die has something to lose.
        records = list_runs(place(home))
        began = [r for r in records if r.progress()]
        return len(began) if len(began) == CELLS and any(r.windows() for r in records) else None

    until("six cells at work", at_work)
    done = sum(len(r.windows()) for r in list_runs(place(home)))
    say(f"six cells side by side, {done} of {CELLS * WINDOWS} windows committed")
    site.processes.kill("worker-b")
    say("worker-b is killed with all its runs (SIGKILL)")
    status = until("the study", lambda: s if (s := finished(dagster, identity)) else None, patience=900)
    runs = dagster.runs(dagster__backfill=identity)
    say(f"{len(runs)} runs: " + ", ".join(f"{sum(r['status'] == s for r in runs)} {s}" for s in sorted({r["status"] for r in runs})))
    records = list_runs(place(home))
    say(
        f"{len(records)} cells in the ledger, {sum(len(r.windows()) for r in records)} windows, states: {sorted({str(r.progress() and r.progress().state) for r in records})}"
    )
    return status == "done" and all(len(r.windows()) == WINDOWS for r in records)


def finished(dagster: Dagster, identity: str) -> str | None:
    """`done` once each cell has a run that succeeded and nothing is at work; `failed` if a run is given up."""
    runs = dagster.runs(dagster__backfill=identity)
    spans = {r["tags"]["dagster/asset_partition_range_start"] for r in runs}
    good = {r["tags"]["dagster/asset_partition_range_start"] for r in runs if r["status"] == "SUCCESS"}
    return "done" if len(spans) == CELLS and good == spans else None


def main() -> int:
    """Build both states and compare their tables."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="simflow-site-")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # PostgreSQL's user has to pass
    (folder / "scenarios").mkdir()
    file = folder / "scenarios" / "village.yaml"
    file.write_text(VILLAGE)
    home = "s3://studies/village"
    began = time.monotonic()
    with Processes(folder / "logs") as processes:
        completed = study(folder, Site(folder, processes), home)
        say(f"study {'completed' if completed else 'NOT completed'}")
        far = place(home)
        materialize_tables(far)
        say("tables built from the object store")
        near = folder / "single" / ".simflow"
        plan = load_plan(file)
        materialize(plan, list(plan.cells), near)
        materialize_tables(near)
        say("the same study on a single machine, and its tables")
        a, b = marts(far), marts(near)
    equal = {name: a[name] == b.get(name) for name in a}
    say(
        f"{len(a)} tables, {sum(map(len, a.values())):,} rows; equal: {sum(equal.values())}; different: {[n for n, same in equal.items() if not same] or 'none'}"
    )
    say(f"{time.monotonic() - began:.0f} s in all")
    return 0 if completed and all(equal.values()) and a.keys() == b.keys() else 1


if __name__ == "__main__":
    sys.exit(main())
