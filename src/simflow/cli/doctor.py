"""`simflow doctor`: verify what is stored, and make again what can be made from it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pyarrow as pa

from simflow.errors import RunFailed
from simflow.runs import find_run, home, list_runs
from simflow.store import Store


@click.command()
@click.argument("run", required=False)
@click.option("--home", "root", type=click.Path(path_type=Path), help="The .simflow folder; default: the nearest one upwards.")
@click.option(
    "--repair", is_flag=True, help="Remove damaged windows, so that the next run computes them again, and rebuild indexes that do not fit."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def doctor(run: str | None, root: Path | None, repair: bool, as_json: bool) -> None:
    """Verify the checksums of stored windows and the index of each run (of one RUN, or of all)."""
    from simflow.run.indexing import index_faults, rebuild_index

    state = root or home()
    store = Store(state)
    records = [find_run(state, run)] if run else list_runs(state)
    found: list[dict[str, str]] = []
    repaired: list[str] = []
    for key in store.windows.keys() if run is None else [w.key for r in records for w in r.windows()]:
        window = store.windows.get(key)
        faults = window.faults() if window else ["the window is gone"]
        found += [{"window": key, "fault": fault} for fault in faults]
        if faults and repair:
            store.files.remove(store.windows.path(key))
            repaired.append(f"window {key[:12]} removed; running its scenario again computes it anew")
    for record in records:
        data = store.open(record)
        if any(store.windows.get(w.key) is None for w in data.windows):
            found.append({"run": record.id, "fault": "a window that the ledger names is not in the store; run the scenario again"})
            continue
        try:
            faults = index_faults(data)
        except (RunFailed, OSError, pa.ArrowException, RuntimeError) as error:
            faults = [str(error)]
        found += [{"run": record.id, "fault": fault} for fault in faults]
        if faults and repair:
            rebuild_index(data)
            repaired.append(f"{record.id}: the index was rebuilt from the windows")
    if as_json:
        click.echo(
            json.dumps({"runs": len(records), "windows": len(store.windows.keys()), "faults": found, "repaired": repaired}, indent=1)
        )
    else:
        for fault in found:
            click.echo(f"{fault.get('run') or 'window ' + fault['window'][:12]}: {fault['fault']}")
        for line in repaired:
            click.echo(line)
        click.echo(f"{len(records)} runs, {len(store.windows.keys())} windows, {len(found)} faults", err=True)
    if found and not repair:
        raise RunFailed(
            f"{len(found)} faults found", hint="`simflow doctor --repair` removes what is damaged and rebuilds what can be rebuilt"
        )
