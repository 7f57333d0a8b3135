"""A reader of YAML 1.2 by the letter of its grammar: events with the place of each, or the first fault.

libyaml follows YAML 1.1 in places and refuses or misreads what this reads; a text means the same in both where libyaml is let read it
(`libyaml.py`), which a property test holds them to.
"""

from __future__ import annotations

from collections.abc import Iterator

from simflow.scenario.yaml12.block import Block
from simflow.scenario.yaml12.events import Broken, Event, Fault, Mark

__all__ = ["Broken", "Event", "Fault", "Mark", "read"]


def read(text: str) -> Iterator[Event]:
    """The events of all documents of `text`, which has no character that YAML forbids. Raises `Broken` at the first fault, after what is before it.

    Time grows with the length of the text, whatever stands in it.
    """
    block = Block(text)
    try:
        block.stream()
    finally:
        yield from block.out
