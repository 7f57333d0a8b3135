"""The parts of a run, found by name under the entry point groups: built-in ones exactly as a third party's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from simflow.episode import wording
from simflow.errors import BadInput
from simflow.plan import Cell
from simflow.ports import Embedder, Engine, Extractor, Remote
from simflow.store import FORMAT

GROUPS = {"engine": "simflow.engines", "embedder": "simflow.embedders", "extractor": "simflow.extractors"}


def factory(part: str, name: str) -> Callable[..., Any]:
    """What makes the part `name`. Raises BadInput with the known names."""
    group = GROUPS[part]
    found = {entry.name: entry for entry in metadata.entry_points(group=group)}
    if name not in found:
        raise BadInput(
            f"there is no {part} called '{name}'",
            hint=f"installed: {', '.join(sorted(found)) or 'none'}; more come as entry points of {group}",
        )
    made: Callable[..., Any] = found[name].load()
    return made


class Parts:
    """The engine, embedder and extractor of one cell, each made when first needed. `home`: where parts may keep what they were answered."""

    def __init__(self, cell: Cell, home: Path | None = None) -> None:
        self.cell = cell
        self.home = home
        self._made: dict[str, Any] = {}

    @property
    def engine_name(self) -> str:
        """The engine of the world: where a model speaks for some, the one that drives built-in residents as well; for nobody, theirs."""
        named = self.cell.models.engine
        return named if named not in {"builtin", "llm"} else "llm" if self.cell.speaks else "builtin"

    def engine(self) -> Engine:
        """The world."""
        engine: Engine = self._once("engine", lambda: factory("engine", self.engine_name)(self.cell))
        return engine

    def embedder(self) -> Embedder:
        """Sentences to vectors."""
        embedder: Embedder = self._once("embedder", lambda: factory("embedder", self.cell.models.embedder)(self.cell))
        return embedder

    def extractor(self) -> Extractor:
        """Sentences to relations."""
        extractor: Extractor = self._once("extractor", lambda: factory("extractor", self.cell.models.extractor)(self.cell, self.embedder()))
        return extractor

    def ids(self) -> dict[str, str]:
        """Versions of all that computes a window, for its content address; of the words around it too, where they are not English."""
        names = {"engine": self.engine_name, "embedder": self.cell.models.embedder, "extractor": self.cell.models.extractor}
        makers: dict[str, Callable[[], Engine | Embedder | Extractor]] = {
            "engine": self.engine,
            "embedder": self.embedder,
            "extractor": self.extractor,
        }
        found = {"format": FORMAT}
        for part, name in names.items():
            known = getattr(factory(part, name), "id", None)  # on the class, it costs nothing
            found[part] = known if isinstance(known, str) else makers[part]().id
        if words := wording(self.cell.language.code).id:
            found["words"] = words
        return found

    def made(self) -> list[Any]:
        """The parts that have been made so far."""
        return list(self._made.values())

    def ready(self) -> None:
        """Raise BadInput if a part that works through an endpoint cannot, before anything is written."""
        for part in (self.engine(), self.embedder(), self.extractor()):
            if isinstance(part, Remote):
                part.ready()

    def _once(self, part: str, make: Callable[[], Any]) -> Any:
        if part not in self._made:
            made = self._made[part] = make()
            if self.home is not None and isinstance(made, Remote):
                made.keep_in(self.home)
        return self._made[part]
