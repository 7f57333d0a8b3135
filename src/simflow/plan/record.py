"""Frozen values with named fields: what `@dataclass(frozen=True, slots=True)` makes, without compiling methods for each class.

A check of a scenario imports some fifty of these; the decorator takes about a millisecond for each, every time.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from dataclasses import Field, field
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class RecordType(type):
    """Makes slots of the annotated names and keeps their defaults."""

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> RecordType:
        """A class whose fields are its annotations, in order."""
        names = tuple(n for n, kind in space.get("__annotations__", {}).items() if not str(kind).startswith("ClassVar"))
        defaults = {n: space.pop(n) for n in names if n in space}
        made = super().__new__(mcs, name, bases, {"__slots__": names, "__match_args__": names, **space})
        made.defaults = {n: v for n, v in defaults.items() if not isinstance(v, Field)}  # type: ignore[attr-defined]
        made.factories = {n: v.default_factory for n, v in defaults.items() if isinstance(v, Field)}  # type: ignore[attr-defined]
        return made


class _Described:
    """`__dataclass_fields__`: made when somebody asks, so that `dataclasses.fields` and `replace` know a record."""

    def __init__(self) -> None:
        self.known: dict[type, dict[str, Field[Any]]] = {}

    def __get__(self, record: object, owner: type[Record]) -> dict[str, Field[Any]]:
        if owner not in self.known:
            self.known[owner] = {name: _described(owner, name) for name in owner.__slots__}
        return self.known[owner]


def _described(owner: type[Record], name: str) -> Field[Any]:
    # A copy of a real field: making a dataclass of each record would cost what records save.
    made = copy.copy(_pattern())
    made.name, made.type = name, owner.__annotations__[name]
    made.default = owner.defaults.get(name, dataclasses.MISSING)
    made.default_factory = owner.factories.get(name, dataclasses.MISSING)
    return made


@functools.cache
def _pattern() -> Field[Any]:
    return dataclasses.fields(dataclasses.make_dataclass("Pattern", ["field"]))[0]


class Record(metaclass=RecordType):
    """A value: equal to another of its class if all fields are, hashable if they are, never changed; `dataclasses.replace` makes another."""

    __slots__: ClassVar[tuple[str, ...]]
    defaults: ClassVar[dict[str, Any]]
    factories: ClassVar[dict[str, Any]]
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _Described()

    def __init__(self, *values: Any, **named: Any) -> None:
        """Fields by position or name; those left out have their defaults."""
        names, put = self.__slots__, object.__setattr__
        if len(values) > len(names):
            raise TypeError(f"{type(self).__name__} has {len(names)} fields, not {len(values)}")
        for name, value in zip(names, values, strict=False):
            put(self, name, value)
        for name in names[len(values) :]:
            if name in named:
                put(self, name, named.pop(name))
            elif name in self.defaults:
                put(self, name, self.defaults[name])
            elif name in self.factories:
                put(self, name, self.factories[name]())
            else:
                raise TypeError(f"{type(self).__name__} needs {name}")
        if named:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(named)}, or has it twice")

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.__slots__])

    def __eq__(self, other: object) -> bool:
        """The same class and equal fields."""
        if not isinstance(other, Record) or type(other) is not type(self):
            return NotImplemented
        return bool(self._values() == other._values())

    def __hash__(self) -> int:
        """Of the fields."""
        return hash(self._values())

    def __repr__(self) -> str:
        """As it would be written."""
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    def __setattr__(self, name: str, value: object) -> None:
        """Refused."""
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        """Refused."""
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy."""
        return type(self), self._values()
