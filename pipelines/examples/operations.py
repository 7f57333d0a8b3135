"""A day of operation through Dagster's real daemon and webserver: backfill, failing check, cancellation, sensor, schedule.

Usage: python pipelines/examples/operations.py [FOLDER] [--stay]. Prints what happened; docs/dagster.md shows it. Exits with 1 if anything was
not as it should be. --stay keeps the webserver up afterwards, to look at, until interrupted.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from services import Dagster, Processes, until

from simflow.runs import RunRecord, list_runs
from simflow_pipelines.describe import ASSETS
from simflow_pipelines.instance import dagster_home

PEOPLE = """\
topics: {square: A plan to pave the village square.}
population:
  agents: 40
  personas:
    farmer: {share: 50%, stance: {square: -0.5 ± 0.3}}
    baker: {share: 50%, stance: {square: 0.5 ± 0.3}}
"""
TOWN = f"""\
scenario: town
about: A town talks about its square; three variants of what the mayor says.
{PEOPLE}clock: {{ticks: 120, window: 20}}
extract: {{every: 10}}
events:
  plan: {{at: 5, post: The square will be paved in May.}}
experiment:
  seed: 1
  variants:
    plain: {{}}
    early: {{events.plan.at: 2}}
    harsh: {{events.plan.post: "The square will be paved, whoever likes it or not."}}
"""
STRICT = f"scenario: strict\n{PEOPLE}clock: {{ticks: 20, window: 10}}\nextract: {{every: 5}}\nchecks: [{{episodes: {{kind: post, at_most: 1}}}}]\n"
LONG = f"scenario: long\n{PEOPLE.replace('agents: 40', 'agents: 150')}clock: {{ticks: 400, window: 50}}\nextract: {{every: 10}}\n"
DAILY = f'scenario: daily\n{PEOPLE}clock: {{ticks: 40, window: 20}}\nextract: {{every: 10}}\nschedule: "* * * * *"\n'


class Day:
    """One project, and everything that is done to it."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        self.folder = folder
        self.home = folder / ".simflow"
        (folder / "scenarios").mkdir(parents=True, exist_ok=True)
        for name, text in {"town": TOWN, "strict": STRICT, "long": LONG, "daily": DAILY}.items():
            (folder / "scenarios" / f"{name}.yaml").write_text(text)
        environment = os.environ | {
            "DAGSTER_HOME": str(dagster_home(self.home)),
            "SIMFLOW_HOME": str(self.home),
            "SIMFLOW_PROJECT": str(folder),
            "DAGSTER_GRPC_TIMEOUT_SECONDS": "600",  # a busy machine is slow, not broken
        }
        self.dagster = Dagster(processes, folder, environment, tables="--tables" in sys.argv)
        self.wrong: list[str] = []

    def say(self, what: str, *, holds: bool) -> None:
        """Print one line; remember what was not as it should be."""
        sys.stdout.write(f"{'ok ' if holds else 'NOT'}  {what}\n")
        sys.stdout.flush()
        if not holds:
            self.wrong.append(what)

    def records(self, scenario: str) -> list[RunRecord]:
        """Runs of a scenario in the ledger."""
        return list_runs(self.home, scenario)

    def finish(self, run: str) -> str:
        """Wait for a run to end; its state."""
        return until(f"run {run}", lambda: s if (s := self.dagster.status(run)) in {"SUCCESS", "FAILURE", "CANCELED"} else None)

    def backfill(self) -> None:
        """3 cells x 6 windows."""
        cells = ["plain-s1", "early-s1", "harsh-s1"]
        keys = [f"{c}|{n:03d}" for c in cells for n in range(6)]
        identity = self.dagster.backfill("town", list(ASSETS), keys)
        status = until("the backfill", lambda: self.dagster.backfill_done(identity))
        runs = self.dagster.runs(dagster__backfill=identity)
        spans = sorted((r["tags"]["dagster/asset_partition_range_start"], r["tags"]["dagster/asset_partition_range_end"]) for r in runs)
        self.say(
            f"backfill of 3 cells x 6 windows: {status}, {len(runs)} runs: {', '.join('...'.join(s) for s in spans)}",
            holds=status == "COMPLETED_SUCCESS" and spans == sorted((f"{c}|000", f"{c}|005") for c in cells),
        )
        windows = [w for r in self.records("town") for w in r.windows()]
        computed = sum(not w.reused for w in windows)
        self.say(
            f"{len(windows)} windows committed, {len({w.key for w in windows})} distinct, {computed} computed: each once",
            holds=len(windows) == 18 and computed == len({w.key for w in windows}),
        )
        ordered = all(
            [w.number for w in r.windows()] == list(range(6))
            and [w.committed for w in r.windows()] == sorted(w.committed for w in r.windows())
            for r in self.records("town")
        )
        self.say("windows of a cell in order", holds=ordered)
        most = max(sum(a["startTime"] <= t["startTime"] < a["endTime"] for a in runs) for t in runs)
        limit = max(2, os.cpu_count() or 2)
        self.say(f"at most {most} runs side by side; the pool allows {limit}", holds=2 <= most <= limit)

    def failing_check(self) -> None:
        """A scenario whose own check cannot hold."""
        span = {"dagster/asset_partition_range_start": "base-s1|000", "dagster/asset_partition_range_end": "base-s1|001"}
        status = self.finish(self.dagster.launch("strict", span))
        found = self.dagster.ask(
            '{assetNodeOrError(assetKey: {path: ["strict", "snapshot"]}) {... on AssetNode {assetChecksOrError {... on AssetChecks {checks'
            " {name executionForLatestMaterialization {status evaluation {severity description metadataEntries {label ... on JsonMetadataEntry {jsonString}}}}}}}}}}"
        )
        checks = found["assetNodeOrError"]["assetChecksOrError"]["checks"]
        done = [(c["name"], c["executionForLatestMaterialization"] or {}) for c in checks]
        failed = [(name, run["evaluation"]) for name, run in done if run.get("status") == "FAILED"]
        words = "; ".join(f"{name} ({e['severity']}) {e['description']}" for name, e in failed)
        blocking = [name for name, e in failed if e["severity"] == "ERROR"]
        self.say(f"failing check: run {status}; {words}", holds=status == "FAILURE" and blocking == ["check_episodes_post"])

    def cancelled(self) -> None:
        """A run that is terminated while it works, and the one that goes on."""
        span = {"dagster/asset_partition_range_start": "base-s1|000", "dagster/asset_partition_range_end": "base-s1|007"}
        first = self.dagster.launch("long", span)
        until("the first window", lambda: next((r for r in self.records("long") if r.windows()), None), every=0.1)
        self.dagster.ask(
            "mutation($id: String!) {terminateRun(runId: $id) {... on PythonError {message} ... on TerminateRunFailure {message}}}",
            id=first,
        )
        status = self.finish(first)
        [record] = self.records("long")
        kept = {w.number: w.committed for w in record.windows()}
        progress = record.progress()
        self.say(
            f"terminated run: {status}, {len(kept)} of 8 windows kept, the ledger says {progress.state if progress else '?'}",
            holds=status == "CANCELED" and 0 < len(kept) < 8 and progress is not None and progress.state == "stopped",
        )
        status = self.finish(self.dagster.launch("long", span))
        [record] = self.records("long")
        again = [w.number for w in record.windows() if w.number in kept and w.committed != kept[w.number]]
        self.say(
            f"launched again: {status}, {len(record.windows())} of 8 windows, {len(again)} of the kept ones computed again",
            holds=status == "SUCCESS" and len(record.windows()) == 8 and not again,
        )

    def stale(self, scenario: str, keys: list[str]) -> set[str]:
        """Partitions of the snapshot that Dagster calls stale."""
        query = "query($k: AssetKeyInput!, $p: String!) {assetNodeOrError(assetKey: $k) {... on AssetNode {staleStatus(partition: $p)}}}"
        asked = {p: self.dagster.ask(query, k={"path": [scenario, "snapshot"]}, p=p)["assetNodeOrError"]["staleStatus"] for p in keys}
        return {p for p, status in asked.items() if status == "STALE"}

    def changed(self) -> None:
        """A changed scenario, seen by the sensor."""
        keys = [f"{c}|{n:03d}" for c in ("plain-s1", "early-s1", "harsh-s1") for n in range(6)]
        before = {w.key for r in self.records("town") for w in r.windows()}
        sensor = {**self.dagster.selector, "sensorName": "scenario_files"}
        self.dagster.ask("mutation($s: SensorSelector!) {startSensor(sensorSelector: $s) {... on PythonError {message}}}", s=sensor)
        ticks = "query($s: SensorSelector!) {sensorOrError(sensorSelector: $s) {... on Sensor {sensorState {id ticks(limit: 20) {status runIds timestamp}}}}}"

        def seen() -> list[dict[str, Any]]:
            rows: list[dict[str, Any]] = self.dagster.ask(ticks, s=sensor)["sensorOrError"]["sensorState"]["ticks"]
            return [t for t in rows if t["status"] in {"SUCCESS", "SKIPPED"}]

        until("the sensor's first tick", lambda: seen() or None)
        self.say(f"nothing is stale before the change: {len(self.stale('town', keys))} of {len(keys)}", holds=not self.stale("town", keys))
        text = TOWN.replace("    plain: {}\n", "    plain: {events.late: {at: 65, post: The square will be paved in June after all.}}\n")
        (self.folder / "scenarios" / "town.yaml").write_text(text)
        tick = until("the sensor's tick on the change", lambda: next((t for t in seen() if t["runIds"]), None))
        expected = {f"plain-s1|{n:03d}" for n in (3, 4, 5)}
        stale = self.stale("town", keys)
        self.say(f"stale after an event was added at tick 65 of one variant: {', '.join(sorted(stale))}", holds=stale == expected)
        run = tick["runIds"][0]
        launched = self.dagster.runs()
        asked = next(r["tags"] for r in launched if r["runId"] == run)
        status = self.finish(run)
        self.say(
            f"sensor tick: {len(tick['runIds'])} run, {asked['dagster/asset_partition_range_start']}...{asked['dagster/asset_partition_range_end']}, {status}",
            holds=len(tick["runIds"]) == 1 and status == "SUCCESS",
        )
        after = {(r.about()["variant"], w.number) for r in self.records("town") for w in r.windows() if w.key not in before}
        self.say(
            f"windows that were computed for the event at tick 65: {', '.join(f'{v} {n}' for v, n in sorted(after))}",
            holds=after == {("plain", int(p[-3:])) for p in expected},
        )
        self.say(f"nothing is stale afterwards: {len(self.stale('town', keys))} of {len(keys)}", holds=not self.stale("town", keys))
        stop = "mutation($id: String!) {stopSensor(id: $id) {... on PythonError {message}}}"
        self.dagster.ask(stop, id=self.dagster.ask(ticks, s=sensor)["sensorOrError"]["sensorState"]["id"])

    def scheduled(self) -> None:
        """A schedule that ticks every minute."""
        schedule = {**self.dagster.selector, "scheduleName": "daily_advance"}
        self.dagster.ask("mutation($s: ScheduleSelector!) {startSchedule(scheduleSelector: $s) {... on PythonError {message}}}", s=schedule)
        query = "query($s: ScheduleSelector!) {scheduleOrError(scheduleSelector: $s) {... on Schedule {scheduleState {id ticks(limit: 10) {status runIds}}}}}"

        def ticked() -> dict[str, Any] | None:
            rows = self.dagster.ask(query, s=schedule)["scheduleOrError"]["scheduleState"]["ticks"]
            return next((t for t in reversed(rows) if t["status"] == "SUCCESS" and t["runIds"]), None)

        tick = until("a tick of the schedule", ticked)
        state = self.dagster.ask(query, s=schedule)["scheduleOrError"]["scheduleState"]["id"]
        self.dagster.ask("mutation($id: String!) {stopRunningSchedule(id: $id) {... on PythonError {message}}}", id=state)
        run = tick["runIds"][0]
        status = self.finish(run)
        tags = next(r["tags"] for r in self.dagster.runs() if r["runId"] == run)
        self.say(
            f"schedule tick: {tags['dagster/asset_partition_range_start']} by {tags.get('dagster/schedule_name')}, {status}",
            holds=status == "SUCCESS" and tags["dagster/asset_partition_range_start"] == tags["dagster/asset_partition_range_end"],
        )


def main() -> int:
    """Live the day; 0 if all was as it should be."""
    given = [a for a in sys.argv[1:] if not a.startswith("--")]
    folder = Path(given[0] if given else tempfile.mkdtemp(prefix="simflow-day-")).absolute()
    with Processes(folder / "logs") as processes:
        day = Day(folder, processes)
        day.dagster.start()
        for part in (day.backfill, day.failing_check, day.cancelled, day.changed, day.scheduled):
            part()
        sys.stdout.write(f"{len(day.wrong)} of these were not as they should be\n")
        while "--stay" in sys.argv:
            sys.stdout.write(f"http://127.0.0.1:{day.dagster.port}\n")
            sys.stdout.flush()
            time.sleep(3600)
    return 1 if day.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
