"""A project on disk: where its scenarios are, and where its state is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from simflow.runs import home as state_folder

SCENARIOS = "scenarios"


@dataclass(frozen=True, slots=True)
class Project:
    """`root` is the folder that holds `scenarios/`; `home` its `.simflow` folder; both absolute."""

    root: Path
    home: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Self:
        """The project around `start` (the working folder for None): SIMFLOW_PROJECT, else the nearest folder upwards with scenarios."""
        here = (start or Path.cwd()).absolute()
        if given := os.environ.get("SIMFLOW_PROJECT"):
            root = Path(given).expanduser().absolute()
        else:
            root = next((f for f in (here, *here.parents) if any((f / SCENARIOS).glob("*.y*ml"))), here)
        return cls(root=root, home=state_folder(root))

    def files(self) -> list[Path]:
        """The scenario files, in order of name; fragments in subfolders are not scenarios of their own."""
        return sorted(p for p in (self.root / SCENARIOS).glob("*.y*ml") if p.suffix in {".yaml", ".yml"} and not p.name.startswith("."))
