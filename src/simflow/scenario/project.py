"""A new project: scenarios that run, dbt models to add to, editor settings, .gitignore, and a note for whoever opens the folder next."""

from __future__ import annotations

import json
from pathlib import Path

import simflow
from simflow.errors import BadInput
from simflow.scenario.jsonschema import json_schema

STARTERS = ("hello.yaml", "water-tariff.yaml", "library/city-300.yaml")
SCHEMA = ".vscode/scenario.schema.json"

_README = """\
# A simflow project

    simflow validate scenarios/*.yaml     what is wrong, and where
    simflow plan scenarios/hello.yaml     what a run would compute and cost
    simflow run scenarios/hello.yaml      every stage, resumable
    simflow tui                           watch and question it
    simflow dev                           the same in Dagster

`scenarios/` holds one study a file, `scenarios/library/` what they share. `.simflow/` is state: made again by a run, but for what
a language model answered (`.simflow/cache/llm`), which is paid for again once it is deleted.
`dbt/` is for tables of your own on top of those that a run builds in `.simflow/warehouse.duckdb`: `dbt build --project-dir dbt
--profiles-dir dbt` after a run.
"""
_IGNORE = ".simflow/\n.env\n__pycache__/\ndbt/target/\ndbt/logs/\n"
_DBT = {
    "dbt/dbt_project.yml": """\
name: study
version: "1.0.0"
config-version: 2
profile: study
model-paths: [models]
flags: {send_anonymous_usage_stats: false}
models:
  study: {+schema: study, +materialized: view}
""",
    "dbt/profiles.yml": """\
study:
  target: local
  outputs:
    local: {type: duckdb, path: "{{ env_var('SIMFLOW_HOME', '.simflow') }}/warehouse.duckdb", threads: 1}
""",
    "dbt/models/sources.yml": """\
version: 2
sources:
  - name: simflow
    schema: main
    description: The tables that a run builds.
    tables: [{name: runs}, {name: episodes_by_window}, {name: stance_by_window}, {name: edges}]
models:
  - name: stance_at_the_end
    description: Mean stance of each persona at the end of each run.
    columns: [{name: run, data_tests: [not_null]}]
""",
    "dbt/models/stance_at_the_end.sql": """\
select run, persona, topic, mean_stance, known_agents
from {{ source('simflow', 'stance_by_window') }}
qualify window_number = max(window_number) over (partition by run)
""",
}
"""A dbt project for a study's own tables."""


def starters() -> Path:
    """The folder of the scenarios that ship. Raises BadInput if this installation lacks them."""
    here = Path(simflow.__file__).parent
    for folder in (here / "scenarios", here.parents[1] / "scenarios"):
        if (folder / STARTERS[0]).is_file():
            return folder
    raise BadInput("this installation of simflow lacks its scenarios", hint="install it again")


def files() -> dict[str, str]:
    """Path -> content of everything that a new project has."""
    made = {f"scenarios/{name}": (starters() / name).read_text("utf-8") for name in STARTERS}
    settings = {"yaml.schemas": {SCHEMA: ["scenarios/*.yaml", "scenarios/**/*.yaml"]}}
    return {
        "README.md": _README,
        **made,
        **_DBT,
        ".gitignore": _IGNORE,
        ".vscode/settings.json": json.dumps(settings, indent=2) + "\n",
        SCHEMA: json.dumps(json_schema(), ensure_ascii=False) + "\n",
    }


def create(folder: Path, *, force: bool = False) -> tuple[list[Path], list[Path]]:
    """Write a project into `folder`: (paths made, paths kept because they were there). The schema is always made anew."""
    made, kept = [], []
    for name, content in files().items():
        path = folder / name
        if path.exists() and not force and name != SCHEMA:
            kept.append(path)
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {(error.strerror or str(error)).lower()}", hint="choose another folder") from None
        made.append(path)
    return made, kept
