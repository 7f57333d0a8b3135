"""What variants and sweeps change, with the line that says so; and what differs between two cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simflow.plan import Cell, canonical
from simflow.scenario.compose import Composer
from simflow.scenario.nodes import Items, Node, Table, at, plain


@dataclass(frozen=True, slots=True)
class Change:
    """One key that a variant changes: from what (None: it was not there), to what (None: it is removed), and where that is written."""

    key: str
    before: Any
    after: Any
    place: str


def variants(path: str | Path) -> dict[str, tuple[Change, ...]]:
    """Variant -> its changes, in the order of the text; one variant `base` without changes if the scenario declares none."""
    tree = Composer([]).load(Path(path))
    found = at(tree, ("experiment", "variants")) if tree is not None else None
    if tree is None or not isinstance(found, Table) or not found.entries:
        return {"base": ()}
    return {
        entry.name: tuple(_change(tree, change.name, change.value, change.key.span.place) for change in entry.value)
        for entry in found
        if isinstance(entry.value, Table)
    }


def sweeps(path: str | Path) -> dict[str, tuple[list[Any], str]]:
    """Swept key -> (its values, where they are written)."""
    tree = Composer([]).load(Path(path))
    found = at(tree, ("experiment", "sweep")) if tree is not None else None
    if not isinstance(found, Table):
        return {}
    return {e.name: ([plain(i) for i in e.value.items], e.key.span.place) for e in found if isinstance(e.value, Items)}


def _change(tree: Table, dotted: str, value: Node, place: str) -> Change:
    old: Node | None = tree
    parts = dotted.split(".")
    while parts and isinstance(old, Table):
        size = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in old.entries), 0)
        if not size:
            old = None
            break
        old = old.get(".".join(parts[:size]))
        parts = parts[size:]
    return Change(dotted, None if old is None or parts else plain(old), plain(value), place)


def differences(before: Cell, after: Cell) -> Iterator[Change]:
    """All that differs between two cells as they were resolved, by dotted plan key; things with a name go by it."""
    for key, old, new in _walk(_by_name(canonical(before)), _by_name(canonical(after))):
        if key.split(".")[0] not in {"source", "sweep", "variant", "seed", "scenario"}:
            yield Change(key, old, new, after.source.get(key, before.source.get(key, "")))


def _by_name(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _by_name(v) for k, v in value.items()}
    if isinstance(value, list) and value and all(isinstance(v, Mapping) and ("name" in v or "id" in v) for v in value):
        return {v.get("id") or v["name"]: _by_name({k: x for k, x in v.items() if k not in {"name", "id"}}) for v in value}
    return value


def _walk(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping) and "=" not in old and "=" not in new:
        for key in dict.fromkeys([*old, *new]):
            yield from _walk(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif old != new:
        yield path, old, new


def brief(value: Any, limit: int = 60) -> str:
    """A value in one line: distributions as the language writes them, nothing as `-`."""
    if value is None or value in ({}, []):
        return "-"
    if isinstance(value, Mapping) and "=" in value:
        text = _notation(value)
    elif isinstance(value, Mapping):
        text = "{" + ", ".join(f"{k}: {brief(v, 30)}" for k, v in value.items() if v not in (None, "", [], {})) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(brief(v, 30) for v in value) + "]"
    else:
        text = " ".join(str(value).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _notation(value: Mapping[str, Any]) -> str:
    kind = value["="]
    if kind == "Constant":
        return f"{value['value']:g}"
    if kind == "Uniform":
        return f"{value['low']:g}..{value['high']:g}"
    if kind == "Normal":
        return f"{value['mean']:g} ± {value['sd']:g}"
    if kind == "Beta":
        return f"{{beta: [{value['a']:g}, {value['b']:g}]}}"
    if kind == "Given":
        cases = [f"{_case(c)}: {brief(c['then'], 30)}" for c in value["cases"]]
        return "{" + ", ".join([f"given: {value['trait']}", *cases, *_else(value["otherwise"])]) + "}"
    return "{" + ", ".join(f"{k}: {100 * v:g}%" for k, v in value["options"]) + "}"


def _case(case: Mapping[str, Any]) -> str:
    ends = [f"{case[k]:g}" if case[k] is not None else "" for k in ("low", "high")]
    return str(case["word"]) if case["word"] is not None else "..".join(ends)


def _else(value: Any) -> list[str]:
    return [] if value is None else [f"else: {brief(value, 30)}"]
