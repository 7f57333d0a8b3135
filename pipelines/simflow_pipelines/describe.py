"""What the catalogue says about a scenario's assets before anything has run: columns, code references, kinds, words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from simflow.episode import TABLES, vectors_schema
from simflow.plan import Cell, Plan, slug
from simflow_pipelines import beta

ASSETS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "episodes": (
        "episodes",
        "What happened in each window: immutable, the truth. Beside it lie who saw what (exposures), who there is (agents) and each turn.",
        ("population", "network", "platform", "clock", "events"),
    ),
    "vectors": (
        "",
        "One vector for each episode that carries words: its rendered sentence, embedded. Each distinct sentence once.",
        ("models",),
    ),
    "edges": (
        "edges",
        "Relations distilled from the words, append-only, each with its evidence and how long it held. Derived; can be wrong.",
        ("extract", "topics"),
    ),
    "personas": (
        "personas",
        "A short text for each agent, of mood, goals and stance. Derived twice.",
        ("population.personas", "memory.persona"),
    ),
    "snapshot": (
        "",
        "The memory at the end of each window, ready to be asked: a tag in the run's LanceDB table, the edges in force, the persona states.",
        ("memory",),
    ),
}
"""Asset -> (table that gives its columns, what it is, sections of the scenario behind it)."""

PLAN_ABOUT = "The compiled scenario: what each window would be made of. Its data version is the window's content address."

_KINDS = {
    "episodes": {"parquet"},
    "vectors": {"parquet", "lancedb"},
    "edges": {"parquet"},
    "personas": {"parquet"},
    "snapshot": {"lancedb"},
    "plan": {"yaml"},
}


def kinds(name: str) -> set[str]:
    """Kinds that the catalogue shows as icons."""
    return _KINDS[name] | {"simflow"}


def columns(name: str) -> dg.TableSchema:
    """The columns of an asset's main table with their meaning."""
    table = ASSETS[name][0]
    if table:
        schema = TABLES[table]
    elif name == "vectors":
        schema = vectors_schema(384)
    else:
        return dg.TableSchema(
            columns=[
                dg.TableColumn(
                    "episode", "int64", description="an embedded episode", constraints=dg.TableColumnConstraints(nullable=False)
                ),
                dg.TableColumn("tick", "int32", description="when it happened"),
                dg.TableColumn("actor", "int32", description="agent that acted"),
                dg.TableColumn("kind", "string", description="kind of episode"),
                dg.TableColumn("sentence", "string", description="what is recalled"),
                dg.TableColumn("vector", "list<float>", description="unit length"),
            ]
        )
    return dg.TableSchema(columns=[_column(f) for f in schema])


def _column(field: pa.Field) -> dg.TableColumn:
    about = (field.metadata or {}).get(b"about", b"").decode() or None
    kind = str(field.type)
    if pa.types.is_fixed_size_list(field.type) or pa.types.is_list(field.type):
        kind = f"list<{field.type.value_type}>"
    return dg.TableColumn(field.name, kind, description=about, constraints=dg.TableColumnConstraints(nullable=field.nullable))


def code_references(plan: Plan, sections: tuple[str, ...]) -> dict[str, Any]:
    """Links from an asset to the lines of the scenario behind it, where the plan knows them; else to its first line."""
    source = plan.cells[0].source
    lines: list[tuple[str, int, str]] = []
    for section in sections:
        where = source.get(section) or next((v for k, v in sorted(source.items()) if k.startswith(f"{section}.")), None)
        file, _, line = (where or "").rpartition(":")
        if line.isdigit():
            path = Path(file) if Path(file).is_absolute() else Path(plan.path).absolute().parent / file
            lines.append((str(path), int(line), section))
    if not lines:
        lines = [(str(Path(plan.path).absolute()), 1, "scenario")]
    with beta.accepted():  # nothing else links an asset to a line
        references = [dg.LocalFileCodeReference(file_path=file, line_number=line, label=label) for file, line, label in lines]
        return {"dagster/code_references": dg.CodeReferencesMetadataValue(code_references=list(references))}


def owners(cell: Cell) -> list[str]:
    """Owners as Dagster spells them: an address, or a team."""
    if not cell.owner:
        return []
    return [cell.owner] if "@" in cell.owner else [f"team:{slug(cell.owner)}"]
