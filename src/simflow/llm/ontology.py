"""The scenario's relation kinds, compiled into the pydantic models that an answer must fill.

Three styles. `compact`: small integers and one-letter keys, closed by enums; about 14 tokens a relation. `full`: readable keys, handles and a
quote; about 70. They say the same; `full` is for reading along and for measuring what compactness saves. `each`: every line is a key that the
schema requires, so that a server that holds a model to the schema leaves it no way to forget a line; for the small model of this machine.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)

from simflow.plan import EntityKind, RelationKind, Topic

Style = Literal["compact", "full", "each"]
PER_LINE = 3
"""Relations that a line can have in style `each`."""
LONGEST_NUMBER = 9
STEPS = (-2, -1, 0, 1, 2)
"""Strength of a relation, from strongly against to strongly for; divided by two it is an edge's value."""


@dataclass(frozen=True, slots=True)
class Code:
    """One thing that can be said: relation `kind`, towards a topic or an agent, about a topic. `number` names it in answers."""

    number: int
    kind: RelationKind
    topic: str | None

    @property
    def towards_agent(self) -> bool:
        """Whether an answer must name an agent."""
        return self.kind.on == "agent"

    def words(self) -> str:
        """What it means, for the model."""
        if not self.towards_agent:
            return f'{self.kind.name} of the author on "{self.topic}"'
        about = f', about "{self.topic}"' if self.topic else ""
        if self.kind.name == "influence":
            return f"influence of another person on the author{about}: the author says that this person changed their mind"
        return f"{self.kind.name} of the author towards another person{about}"


def codes(relations: Sequence[RelationKind], topics: Sequence[Topic], entities: Sequence[EntityKind] = ()) -> tuple[Code, ...]:
    """Everything that can be said, numbered from 1 in the order of the scenario."""
    found: list[tuple[RelationKind, str | None]] = []
    things = {e.name: e.entities for e in entities}
    for kind in relations:
        if kind.on in things:
            found += [(kind, thing.name) for thing in things[kind.on]]
        elif kind.on == "topic" or kind.about:
            found += [(kind, topic.name) for topic in topics]
        else:
            found.append((kind, None))
    return tuple(Code(number, kind, topic) for number, (kind, topic) in enumerate(found, 1))


def _salvage(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    # Item by item: one bad item costs itself, not the whole answer; its episode is then missing and asked again.
    if not isinstance(value, list):
        return handler(value)
    kept = []
    for item in value:
        try:
            kept += handler([item])
        except ValidationError:
            continue
    return kept


def _salvage_line(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    # A line of which nothing is left was not read: None, unlike an empty list.
    if not isinstance(value, list):
        return handler(value)
    # Pairs are lists in JSON; where types are held to strictly, one that has been taken out must be what it stands for.
    kept = _salvage([tuple(pair) if isinstance(pair, list) else pair for pair in value], handler)
    return None if value and not kept else kept[:PER_LINE]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema without titles but its own, which Instructor asks for: titles say nothing and are paid for in each call."""
        return {**untitled(super().model_json_schema(*args, **kwargs)), "title": cls.__name__}


def untitled(value: Any) -> Any:
    """A JSON Schema without its titles."""
    if isinstance(value, dict):
        return {k: untitled(v) for k, v in value.items() if k != "title" or not isinstance(v, str)}
    return [untitled(v) for v in value] if isinstance(value, list) else value


def _items(item: Any, most: int) -> Any:
    return Annotated[list[item], WrapValidator(_salvage), Field(max_length=most)]


def shape(known: Sequence[Code], episodes: int, agents: int, style: Style = "compact") -> type[BaseModel]:
    """The answer's model for a batch of `episodes`, in whose lines at most `agents` people are numbered.

    Compact: `r` relations of {e episode, c code, a person if not the first, v strength}, `n` episodes without any. Full: `relations`,
    `without_relation`. Each: the lines' numbers, each with its relations as pairs of code and strength; a person is the line's first.
    Equal arguments give the same schema, byte for byte. Raises ValueError without a code or an episode.
    """
    if not known or episodes < 1:
        raise ValueError("a shape needs something that can be said, and an episode")
    if style == "each":
        return _each(tuple(known), episodes, agents)
    return _shape(tuple(known), episodes, agents, style)


@functools.lru_cache(maxsize=512)
def _shape(known: tuple[Code, ...], episodes: int, agents: int, style: Style) -> type[BaseModel]:
    full = style == "full"
    # An enum class, so that the schema spells its members out once.
    place, strength = numbers("Line", range(1, episodes + 1)), numbers("Strength", STEPS)
    on_topic = [c.number for c in known if not c.towards_agent]
    on_agent = [c.number for c in known if c.towards_agent] if agents else []
    names = ("episode", "relation", "person", "strength") if full else ("e", "c", "a", "v")
    kinds: list[Any] = []
    # Compact: the first person of a line need not be named, since most lines concern one.
    first = 1 if full else 2
    alone = on_topic if full else sorted([*on_topic, *on_agent])
    for of_kind, person in ((alone, False), (on_agent if agents >= first else [], True)):
        if not of_kind:
            continue
        # What tells one kind of item from the other comes first: OpenAI refuses a choice between objects that begin alike.
        fields: dict[str, Any] = {names[2]: (among(range(first, agents + 1)), ...)} if person else {}
        fields |= {names[0]: (place, ...), names[1]: (among(of_kind), ...)}
        if full:
            fields["author"] = (Annotated[str, Field(max_length=80)], ...)
        fields[names[3]] = (strength, ...)
        if full:
            fields["quote"] = (Annotated[str, Field(max_length=200)], ...)
        title = ("TowardsPerson" if person else "OnTopic") if full else ("P" if person else "T")
        kinds.append(_model(title, fields))
    item = functools.reduce(operator.or_, kinds) if kinds else _Closed
    relations, nothing = _items(item, 4 * episodes), _items(place, episodes)
    lists = ("relations", "without_relation") if full else ("r", "n")
    return _model("Found", {lists[0]: (relations, ...), lists[1]: (nothing, ...)})


@functools.lru_cache(maxsize=512)
def _each(known: tuple[Code, ...], episodes: int, agents: int) -> type[BaseModel]:
    said: Any = among([c.number for c in known if agents or not c.towards_agent])
    pair: Any = tuple.__class_getitem__((said, among(STEPS)))
    pairs: Any = Annotated[list[pair], Field(max_length=PER_LINE), WrapValidator(_salvage_line)]
    lines = [str(number) for number in range(1, episodes + 1)]
    # The schema requires every line; an answer of a server that does not hold to it may lack some, which are then asked again.
    made = _model("Lines", {line: (pairs, Field(default_factory=list)) for line in lines})
    made.model_config["json_schema_extra"] = {"required": [*lines]}
    made.model_rebuild(force=True)
    return made


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    make: Any = create_model  # its overloads do not take computed fields
    return cast("type[BaseModel]", make(name, __base__=_Closed, **fields))


def numbers(name: str, values: Sequence[int] | range) -> Any:
    """An enum of whole numbers, `"2"` taken for 2; a class, so that a schema spells its members out once."""
    make: Any = IntEnum  # its members are computed
    return Annotated[make(name, {f"n{value}".replace("-", "_"): value for value in values}), BeforeValidator(_whole)]


def among(values: Sequence[int] | range) -> Any:
    """One of some whole numbers, `"2"` taken for 2: models that write by hand put numbers into quotation marks."""
    return Annotated[Literal[tuple(values)], BeforeValidator(_whole)]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < LONGEST_NUMBER else value
