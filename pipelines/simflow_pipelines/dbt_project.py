"""Where the dbt project is: in the repository, or inside the installed package."""

from __future__ import annotations

from pathlib import Path

from simflow.errors import NotFound


def dbt_folder() -> Path:
    """The folder with dbt_project.yml. Raises NotFound if the installation lacks it."""
    here = Path(__file__).absolute().parent
    for folder in (here / "dbt", here.parents[1] / "dbt"):
        if (folder / "dbt_project.yml").is_file():
            return folder
    raise NotFound(f"the dbt project is not beside {here}", hint="install simflow again")
