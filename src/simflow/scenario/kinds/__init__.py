"""Kinds of value: how each is read from the tree, what it says when it cannot be, and what it is in JSON Schema."""

from simflow.scenario.kinds.base import INVALID, Invalid, Kind, Named, Reader, Section
from simflow.scenario.kinds.distributed import Distributed
from simflow.scenario.kinds.maps import Fields, Key, ListOf, MapOf
from simflow.scenario.kinds.members import Members
from simflow.scenario.kinds.names import did_you_mean, nearest, shown
from simflow.scenario.kinds.scalars import Amount, Flag, Number, OneOf, Share, Text, When, Whole

__all__ = [
    "INVALID",
    "Amount",
    "Distributed",
    "Fields",
    "Flag",
    "Invalid",
    "Key",
    "Kind",
    "ListOf",
    "MapOf",
    "Members",
    "Named",
    "Number",
    "OneOf",
    "Reader",
    "Section",
    "Share",
    "Text",
    "When",
    "Whole",
    "did_you_mean",
    "nearest",
    "shown",
]
