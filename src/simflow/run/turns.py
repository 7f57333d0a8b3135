"""Turns of residents that a model speaks for: how many there were, and how many came to nothing for a reason that nobody chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simflow.store import RunData

LOST = "nothing: "
"""How the outcome of a turn begins that came to nothing; a turn in which nothing was chosen is `nothing` alone."""


@dataclass(frozen=True, slots=True)
class Turns:
    """`all` turns; `reasons`: those that came to nothing by kind of reason (refused, invalid, unreachable, ...), the commonest first."""

    all: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """Turns that came to nothing."""
        return sum(self.reasons.values())

    def plain(self) -> dict[str, Any]:
        """JSON values."""
        return {"turns": self.all, "lost": self.lost, "reasons": dict(self.reasons)}

    def __str__(self) -> str:
        """In words, as `12 of 40 turns came to nothing: refused 9, invalid 3`."""
        said = f"{self.lost:,} of {self.all:,} turns came to nothing"
        return said + (f": {', '.join(f'{kind} {count:,}' for kind, count in self.reasons.items())}" if self.reasons else "")


def turns(run: RunData, persona: str | None = None) -> Turns:
    """The turns of a run so far; those of one persona, or all."""
    table = run.table("turns", columns=["agent", "outcome"])
    if persona is not None:
        agents = run.agents()
        table = table.filter(pc.is_in(table["agent"], agents["agent"].filter(pc.equal(agents["persona"], persona)).combine_chunks()))
    return counted(table)


def counted(table: pa.Table) -> Turns:
    """The same of some rows of the table `turns`."""
    reasons: Counter[str] = Counter()
    for count in table["outcome"].value_counts().to_pylist():
        if str(count["values"]).startswith(LOST):
            reasons[str(count["values"]).removeprefix(LOST).partition(":")[0]] += count["counts"]
    return Turns(table.num_rows, dict(sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))))
