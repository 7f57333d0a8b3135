"""`simflow doctor`: verify what is stored, and make again what can be made from it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click
import pyarrow as pa

from simflow.errors import RunFailed
from simflow.runs import RunRecord, find_run, home, list_runs, place
from simflow.store import Store


@click.command()
@click.argument("run", required=False)
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
@click.option(
    "--repair", is_flag=True, help="Remove damaged windows, so that the next run computes them again, and rebuild indexes that do not fit."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def doctor(run: str | None, root: Path | None, repair: bool, as_json: bool) -> None:
    """Verify the checksums of stored windows and the index of each run (of one RUN, or of all)."""
    state = root or home()
    store = Store(state)
    records = [find_run(state, run)] if run else list_runs(state)
    named = [w.key for r in records for w in r.windows()]
    keys = list(dict.fromkeys([*named, *(store.windows.keys() if run is None else ())]))
    visit = Visit(store, repair=repair)
    for key in keys:
        visit.window(key)
    for record in records:
        visit.index(record)
    if as_json:
        click.echo(json.dumps({"runs": len(records), "windows": len(keys), "faults": visit.faults, "repaired": visit.repaired}, indent=1))
    else:
        for fault in visit.faults:
            click.echo(f"{fault.get('run') or 'window ' + fault['window'][:12]}: {fault['fault']}")
        for line in visit.repaired:
            click.echo(line)
        click.echo(f"{len(records)} runs, {len(keys)} windows, {len(visit.faults)} faults", err=True)
    if visit.faults and not repair:
        raise RunFailed(
            f"{len(visit.faults)} faults found", hint="`simflow doctor --repair` removes what is damaged and rebuilds what can be rebuilt"
        )


class Visit:
    """One look at a project: `faults` found, and what was `repaired`."""

    def __init__(self, store: Store, *, repair: bool) -> None:
        self.store = store
        self.repair = repair
        self.faults: list[dict[str, str]] = []
        self.repaired: list[str] = []

    def window(self, key: str) -> None:
        """Verify the checksums of one window."""
        window = self.store.windows.get(key)
        self._arrays(key)
        faults = window.faults() if window else ["the window is gone; run its scenario again"]
        self.faults += [{"window": key, "fault": fault} for fault in faults]
        if window and faults and self.repair:
            self.store.files.remove(self.store.windows.path(key))
            self.repaired.append(f"window {key[:12]} removed; running its scenario again computes it anew")

    def _arrays(self, key: str) -> None:
        # What recall searches: a cache beside the windows, which the next question makes anew from them.
        from simflow.memory.segments import folder_of, load

        place = folder_of(self.store, key)
        if not place.exists() or load(place, verify=True) is not None:
            return
        self.faults.append({"window": key, "fault": "the arrays that recall searches are damaged"})
        if self.repair:
            shutil.rmtree(place)
            self.repaired.append(f"window {key[:12]}: its arrays were removed; the next question makes them from the window")

    def index(self, record: RunRecord) -> None:
        """Compare the index of one run with its windows, if those are there."""
        from simflow.run.indexing import index_faults, rebuild_index

        data = self.store.open(record)
        if any(self.store.windows.get(w.key) is None for w in data.windows):
            return
        try:
            faults = index_faults(data)
        except (RunFailed, OSError, ValueError, RuntimeError, pa.ArrowException) as error:
            faults = [f"the index cannot be read: {error}"]
        self.faults += [{"run": record.id, "fault": fault} for fault in faults]
        if faults and self.repair:
            rebuild_index(data)
            self.repaired.append(f"{record.id}: the index was rebuilt from the windows")
