"""From canonical JSON values back to a cell: the inverse of `canonical`."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

from simflow.plan import distributions
from simflow.plan.study import Cell


def revive(data: Mapping[str, Any]) -> Cell:
    """Return the cell whose `canonical` form is `data`; fields of a newer version are passed over.

    Raises TypeError or KeyError if `data` is no cell.
    """
    cell: Cell = _value(Cell, data)
    return cell


def _value(kind: Any, value: Any) -> Any:
    if value is None or kind is Any:
        return value
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Mapping and isinstance(value, Mapping):  # its keys are names, `=` among them
        return {k: _value(inside[1], v) for k, v in value.items()}
    if isinstance(value, Mapping) and "=" in value:
        return _record(getattr(distributions, str(value["="])), value)
    if dataclasses.is_dataclass(kind):
        return _record(kind, value)
    if origin in {Union, types.UnionType}:
        return _value(next(k for k in inside if k is not type(None)), value)
    if origin is tuple:
        each = (inside[0] for _ in value) if inside[-1] is Ellipsis else iter(inside)
        return tuple(_value(k, v) for k, v in zip(each, value, strict=True))
    return float(value) if kind is float else value


def _record(kind: Any, data: Mapping[str, Any]) -> Any:
    if not isinstance(data, Mapping):
        raise TypeError(f"{kind.__name__} is stored as {type(data).__name__}, not as a mapping")
    hints = get_type_hints(kind)
    return kind(**{f.name: _value(hints[f.name], data[f.name]) for f in dataclasses.fields(kind) if f.name in data})
