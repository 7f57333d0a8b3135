"""`simflow init` and `simflow convert`: a project that runs, and other tools' people as a people file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from simflow.errors import BadInput


@click.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite files that are already there.")
def init(folder: Path, force: bool) -> None:
    """Make a project that runs: scenarios, dbt models, editor settings, .gitignore."""
    from simflow.scenario.project import create

    made, kept = create(folder, force=force)
    for path in made:
        click.echo(f"  made  {path}", err=True)
    for path in kept:
        click.echo(f"  kept  {path} (it was there; --force overwrites it)", err=True)
    here = "" if folder == Path() else f"cd {folder} && "
    click.echo(f"try: {here}simflow plan scenarios/hello.yaml && simflow run scenarios/hello.yaml")


@click.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Where to write; standard output if left out.")
@click.option("--format", "form", default="auto", help="Whose file it is; found from its columns if left out.")
@click.option("--persona", help="Persona of persons that name none.")
@click.option("--encoding", default="utf-8", show_default=True, help="How the file's letters are stored.")
@click.option("--column", "columns", multiple=True, metavar="FIELD=COLUMN", help="Which column holds a field; may be repeated.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print what was read, used and left out as JSON, on standard error if the people go to standard output.",
)
def convert(
    source: Path, output: Path | None, form: str, persona: str | None, encoding: str, columns: tuple[str, ...], as_json: bool
) -> None:
    """Turn another tool's persona file, or a folder of them, into a people file (JSONL) for `population.people`."""
    from simflow.scenario.people import read_people, tools, write_people
    from simflow.scenario.people.records import ENCODINGS
    from simflow.scenario.problems import Problems, Unreadable

    if form not in {"auto", *tools.NAMES}:
        raise BadInput(f"there is no format '{form}'", hint=f"formats: auto, {', '.join(tools.NAMES)}")
    if encoding not in ENCODINGS:
        raise BadInput(f"the encoding '{encoding}' is not known", hint=f"encodings: {', '.join(ENCODINGS)}")
    mapped = dict(part.split("=", 1) for part in columns if "=" in part)
    if bad := [c for c in columns if "=" not in c] + [f for f in mapped if f not in tools.FIELDS]:
        raise BadInput(f"--column {bad[0]}: write FIELD=COLUMN", hint=f"fields: {', '.join(tools.FIELDS)}")
    try:
        found = read_people(source, form=form, columns=mapped, persona=persona, encoding=encoding)
    except Unreadable as error:
        raise Problems([error.problem]) from None
    if not found.people:
        raise BadInput(
            f"{source}: no person was found in {found.rows:,} rows",
            hint="; ".join(f"{n:,} {what}" for what, n in found.notes.items()) or None,
        )
    text = write_people(found.people)
    if output:
        output.write_text(text, "utf-8")
    else:
        click.echo(text, nl=False)
    if as_json:
        report = {
            "tool": found.tool,
            "rows": found.rows,
            "people": len(found.people),
            "used": found.used,
            "dropped": found.dropped,
            "notes": dict(found.notes),
        }
        click.echo(json.dumps(report, ensure_ascii=False), err=output is None)
        return
    click.echo(f"{len(found.people):,} people from {found.rows:,} rows ({found.tool})", err=True)
    for column, why in found.dropped.items():
        click.echo(f"  left out  {column or '(no name)'}: {why}", err=True)
    for note, count in found.notes.items():
        click.echo(f"  note      {count:,} {note}", err=True)
