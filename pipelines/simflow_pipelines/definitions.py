"""The code location of this project: `dg dev --target-path pipelines`, or `simflow dev`."""

from __future__ import annotations

from simflow_pipelines.project import Project
from simflow_pipelines.scenario_definitions import project_definitions

defs = project_definitions(Project.find())
