"""Content addresses: what shapes a window, as canonical JSON, hashed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simflow.plan.distributions import Distribution

if TYPE_CHECKING:
    from simflow.plan.study import Cell

# Not behaviour: changing these must not change a window. `clock.ticks` is left out too, so that a longer run reuses its windows.
_OUTSIDE = frozenset(
    {"scenario", "variant", "sweep", "events", "about", "owner", "checks", "patterns", "ask", "limits", "schedule", "outputs", "source"}
)


def behaviour(cell: Cell) -> dict[str, Any]:
    """Everything but the events that shapes what a cell computes, as plain JSON values."""
    plain = {k: v for k, v in canonical(cell).items() if k not in _OUTSIDE}
    plain["clock"] = {k: v for k, v in plain["clock"].items() if k not in {"ticks", "window"}}
    if plain["replay"]:
        plain["replay"].pop("path")
    return plain


def window_key(cell: Cell, number: int, previous: str | None, ids: Mapping[str, str]) -> str:
    """The content address of window `number`: 64 hex digits.

    previous: the key of the window before, None for the first. ids: versions of the parts that compute it, by part.
    """
    import hashlib  # noqa: PLC0415 - not for a check, which needs no key
    import json  # noqa: PLC0415

    start, stop = cell.windows[number]
    parts: dict[str, Any] = {
        "previous": previous,
        "start": start,
        "stop": stop,
        "events": [canonical(event) for event in cell.events if event.at < stop],
    }
    if previous is None:
        parts["behaviour"] = behaviour(cell)
        parts["ids"] = dict(sorted(ids.items()))
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def canonical(value: Any) -> Any:
    """Dataclasses, mappings and tuples as JSON values; a dataclass in a union carries its class name, so no two plans look alike."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {f.name: canonical(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"=": type(value).__name__, **plain} if isinstance(value, Distribution) else plain
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(v) for v in value]
    return value


def slug(text: str) -> str:
    """Lower case letters and digits of any script, other runs as one dash."""
    kept = "".join(c if c.isalnum() else " " for c in text.lower())
    return "-".join(kept.split()) or "x"
