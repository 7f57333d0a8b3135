"""What a finished run leaves in the project for people: tables as files, and a page that says what happened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from simflow.errors import RunFailed
from simflow.measures.record import measured, run_measures
from simflow.plan import Cell, Outputs, slug
from simflow.run.figures import figures
from simflow.runs.ledger import replace
from simflow.store import RunData
from simflow.store.windows import encode

TOLD = ("mean", "variance", "share_against", "share_undecided", "share_for", "flips", "events", "exposures", "participation", "cascades")
"""Measures that the page shows, of those that there are."""


def write_outputs(run: RunData, cell: Cell, file: str) -> Path:
    """Write what `outputs` asks for, each file whole; files of an earlier run of the same cell are replaced. Returns the folder.

    file: the scenario's, from which the project is found. Raises RunFailed if the folder would lie outside the project, or cannot be written.
    """
    wanted = cell.outputs or Outputs()
    with _folder(cell, file) as folder:
        for name in wanted.tables:
            replace(folder / f"{name}.{wanted.format}", _table(run, name, wanted.format))
    return write_page(run, cell, file) if wanted.report else folder


def write_page(run: RunData, cell: Cell, file: str) -> Path:
    """Write the page alone: again, once its checks have been judged. Returns and raises as `write_outputs`."""
    with _folder(cell, file) as folder:
        replace(folder / "report.md", "\n".join(page(run, cell)).encode())
    return folder


@contextmanager
def _folder(cell: Cell, file: str) -> Iterator[Path]:
    root = project(Path(file)).resolve()
    folder = output_folder(cell, file).resolve()
    if not folder.is_relative_to(root) or folder == root:
        raise RunFailed(f"{folder} lies outside the project {root}", hint="is a part of `outputs.folder` a link?")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        reason = f"the outputs in {folder} cannot be written: {error.strerror or error}"
        raise RunFailed(reason, hint="the run itself is whole; run it again to write them") from error


def output_folder(cell: Cell, file: str | Path) -> Path:
    """Where the outputs of a cell go."""
    return project(Path(file)) / (cell.outputs or Outputs()).folder / slug(cell.scenario) / cell.name


def project(file: Path) -> Path:
    """The project of a scenario file: the nearest folder upwards with `scenarios/` or `.simflow`, else the file's own."""
    here = file.absolute().parent
    return next((f for f in (here, *here.parents) if (f / "scenarios").is_dir() or (f / ".simflow").is_dir()), here)


def _table(run: RunData, name: str, form: str) -> bytes:
    table = run_measures(run) if name == "measures" else run.table(name)
    if form == "parquet":
        return encode(table)
    for at, field in enumerate(table.schema):
        if pa.types.is_list(field.type):  # CSV has no lists; JSON says them in one cell
            table = table.set_column(at, field.name, pa.array([json.dumps(v) for v in table[field.name].to_pylist()], pa.string()))
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return bytes(sink.getvalue())


def page(run: RunData, cell: Cell) -> Iterator[str]:
    """The lines of the page, in Markdown."""
    kinds: Counter[str] = Counter()
    for window in run.windows:
        kinds.update(window.kinds)
    yield f"# {cell.scenario}: {cell.name}"
    yield ""
    if cell.about:
        yield from (cell.about, "")
    yield f"Run `{run.record.id}`: {len(run.windows):,} windows, {run.end:,} ticks, {sum(kinds.values()):,} episodes."
    yield from ("", "## What happened", "", "| kind | episodes |", "|---|---:|")
    yield from (f"| {kind} | {count:,} |" for kind, count in kinds.most_common())
    yield from ("", "## What the memory believes at the end", "", "| figure | value |", "|---|---:|")
    now = figures(run)
    for name in sorted(n for n in now if n.startswith(("stance_", "edges_")) or n == "queue"):
        yield f"| {name.replace('/', ' of ').replace('_', ' ')} | {now[name]} |"
    yield from _checks(run)
    yield from _measures(run)


def _checks(run: RunData) -> Iterator[str]:
    if told := run.record.told():
        yield from ("", "## Checks", "", "| check | holds | what was found |", "|---|---|---|")
        yield from (f"| {c.check} | {'no' if c.failed else 'yes'} | {c.found} |" for c in told)


def _measures(run: RunData) -> Iterator[str]:
    first, last = measured(run, 0).to_pylist(), measured(run, len(run.windows) - 1).to_pylist()
    then = {(r["topic"], r["group"], r["measure"]): r["value"] for r in first}
    yield from ("", "## Measures", "", "At the end of the first and of the last window; docs/measures.md has the formulas.", "")
    yield from ("| topic | persona | measure | first | last |", "|---|---|---|---:|---:|")
    for row in last:
        if row["measure"] in TOLD:
            before = then.get((row["topic"], row["group"], row["measure"]))
            told = "" if before is None else f"{before:.4g}"
            yield f"| {row['topic'] or ''} | {row['group'] or ''} | {row['measure']} | {told} | {row['value']:.4g} |"
    yield ""
