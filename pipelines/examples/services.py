"""Dagster's own services for the examples beside this file: a code server, the daemon and the webserver, driven as the UI drives them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

LOCATION = """\
from simflow_pipelines.project import Project
from simflow_pipelines.scenario_definitions import project_definitions

defs = project_definitions(Project.find(), tables={tables})
"""

RUNS = "{runsOrError(limit: 200) {... on Runs {results {runId status jobName startTime endTime tags {key value}}}}}"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


T = TypeVar("T")


def until(what: str, look: Callable[[], T | None], patience: float = 600, every: float = 0.5) -> T:
    """Ask again and again until there is an answer. Raises TimeoutError that says what was waited for."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if (found := look()) is not None:
            return found
        time.sleep(every)
    raise TimeoutError(f"waited {patience:.0f} s for {what}")


class Processes:
    """Processes that end with the block, each in a session of its own, with a log file each."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: list[str], environment: Mapping[str, str], **options: Any) -> subprocess.Popen[bytes]:
        """Start one."""
        self.logs.mkdir(parents=True, exist_ok=True)
        with (self.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(command, env=dict(environment), stdout=log, stderr=log, start_new_session=True, **options)
        self.started[name] = process
        return process

    def listening(self, name: str, port: int) -> bool | None:
        """True once it listens, for `until`. Raises RuntimeError with the end of its log if it has ended instead."""
        if self.started[name].poll() is not None:
            raise RuntimeError(f"{name} has ended: {(self.logs / f'{name}.log').read_text(errors='replace')[-2000:]}")
        return listens(port)

    def kill(self, name: str) -> None:
        """SIGKILL to a process and all its children, as when a machine dies."""
        process = self.started.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def __enter__(self) -> Self:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends this ends all of it
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in reversed(self.started.values()):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self.started.values()):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


class Dagster:
    """A webserver and a daemon over one code server, spoken to in GraphQL."""

    def __init__(self, processes: Processes, folder: Path, environment: Mapping[str, str], *, tables: bool = False) -> None:
        self.processes = processes
        self.folder = folder
        self.environment = dict(environment)
        self.port = free_port()
        self.code = free_port()
        (folder / "location.py").write_text(LOCATION.format(tables=tables))
        self.workspace = folder / "workspace.yaml"
        self.workspace.write_text(f"load_from:\n  - grpc_server: {{host: 127.0.0.1, port: {self.code}, location_name: simulations}}\n")

    def start(self) -> None:
        """Start all three and wait until the definitions are loaded."""
        python = sys.executable
        self.processes.start(
            "code",
            [python, "-m", "dagster", "api", "grpc", "-f", "location.py", "-h", "127.0.0.1", "-p", str(self.code)],
            self.environment,
            cwd=self.folder,
        )
        until("the code server", lambda: self.processes.listening("code", self.code))
        web = [python, "-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(self.port), "-w", str(self.workspace)]
        self.processes.start("webserver", web, self.environment, cwd=self.folder)
        self.processes.start(
            "daemon", [python, "-m", "dagster._daemon", "run", "-w", str(self.workspace)], self.environment, cwd=self.folder
        )
        until("the webserver", self._loaded)

    def _loaded(self) -> bool | None:
        try:
            found = self.ask("{workspaceOrError {... on Workspace {locationEntries {loadStatus locationOrLoadError {__typename}}}}}")
        except (OSError, urllib.error.URLError):
            return None
        entries = found["workspaceOrError"]["locationEntries"]
        return (
            True if entries and all((e["locationOrLoadError"] or {}).get("__typename") == "RepositoryLocation" for e in entries) else None
        )

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """Send one GraphQL query or mutation. Raises RuntimeError with what the server says."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            found = json.load(answer)
        if found.get("errors"):
            raise RuntimeError(json.dumps(found["errors"])[:2000])
        data: dict[str, Any] = found["data"]
        for name, value in data.items():
            if isinstance(value, dict) and "message" in value:
                raise RuntimeError(f"{name}: {value['message']}")
        return data

    @property
    def selector(self) -> dict[str, str]:
        """The repository of the code location."""
        return {"repositoryLocationName": "simulations", "repositoryName": "__repository__"}

    def backfill(self, scenario: str, assets: list[str], partitions: list[str]) -> str:
        """Launch a backfill, as the UI does, and give its id."""
        found = self.ask(
            "mutation($p: LaunchBackfillParams!) {launchPartitionBackfill(backfillParams: $p) {... on LaunchBackfillSuccess {backfillId}"
            " ... on PythonError {message} ... on UnauthorizedError {message}}}",
            p={"assetSelection": [{"path": [scenario, a]} for a in assets], "partitionNames": partitions},
        )
        identity: str = found["launchPartitionBackfill"]["backfillId"]
        return identity

    def backfill_done(self, identity: str) -> str | None:
        """Its last state, or None while it goes on."""
        query = "query($id: String!) {partitionBackfillOrError(backfillId: $id) {... on PartitionBackfill {status}}}"
        status: str = self.ask(query, id=identity)["partitionBackfillOrError"]["status"]
        return status if status.startswith(("COMPLETED", "FAILED", "CANCELED")) else None

    def runs(self, **tags: str) -> list[dict[str, Any]]:
        """Runs, oldest first, with their tags as a map; those that have all the tags given."""
        rows = self.ask(RUNS)["runsOrError"]["results"]
        found = [{**r, "tags": {t["key"]: t["value"] for t in r["tags"]}} for r in reversed(rows)]
        return [r for r in found if all(r["tags"].get(k.replace("__", "/")) == v for k, v in tags.items())]

    def launch(self, job: str, tags: Mapping[str, str]) -> str:
        """Submit a run of a job and give its id."""
        selector = {**self.selector, "pipelineName": job}
        params = {
            "selector": selector,
            "mode": "default",
            "runConfigData": {},
            "executionMetadata": {"tags": [{"key": k, "value": v} for k, v in tags.items()]},
        }
        found = self.ask(
            "mutation($p: ExecutionParams!) {launchRun(executionParams: $p) {... on LaunchRunSuccess {run {runId}} ... on PythonError {message}"
            " ... on RunConfigValidationInvalid {errors {message}}}}",
            p=params,
        )
        identity: str = found["launchRun"]["run"]["runId"]
        return identity

    def status(self, run: str) -> str:
        """The state of a run."""
        found: str = self.ask("query($id: ID!) {runOrError(runId: $id) {... on Run {status}}}", id=run)["runOrError"]["status"]
        return found


def listens(port: int) -> bool | None:
    """True if somebody does; None otherwise, for `until`."""
    with socket.socket() as probe:
        return True if probe.connect_ex(("127.0.0.1", port)) == 0 else None
