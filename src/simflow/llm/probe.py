"""What an endpoint can do: each mode is asked for a tiny closed answer, and only an exact one counts."""

from __future__ import annotations

import threading
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from simflow.errors import EndpointFailed
from simflow.llm.endpoint import MODES, Mode
from simflow.llm.room import Question, Room
from simflow.llm.wire import Unreachable, Unusable

_known: dict[tuple[str, str], Mode] = {}
_lock = threading.Lock()


class Sign(BaseModel):
    """What the probe wants back: a list of objects from a closed set, as extraction does."""

    model_config = ConfigDict(extra="forbid")
    item: Literal[1, 2, 3]
    sign: Literal[-1, 0, 1]


class Signs(BaseModel):
    """The probe's answer."""

    model_config = ConfigDict(extra="forbid")
    signs: list[Sign] = Field(min_length=1, max_length=3)


def probe(room: Room) -> dict[Mode, str]:
    """For each mode, empty if the endpoint gave a valid answer twice, else why not. Costs at most eight short calls."""
    found: dict[Mode, str] = {}
    for mode in MODES:
        found[mode] = ""
        for seed in (1, 2):
            question = Question(
                phase="probe",
                stable="Give the sign of each numbered item: 1 if it is good, -1 if it is bad, 0 if neither.",
                text="1: a warm day\n2: a burst pipe\n3: a number",
                shape=Signs,
                most=200,
                seed=seed,
            )
            try:
                room.ask(question, mode=mode)
            except Unusable as error:
                found[mode] = str(error)
                break
            except Unreachable:
                raise
            except EndpointFailed as error:
                found[mode] = str(error)
                break
    return found


def best(room: Room) -> Mode:
    """The first mode, in the order of `MODES`, that the endpoint masters; asked once a process. Raises EndpointFailed if there is none."""
    key = (room.endpoint.place, room.endpoint.model)
    with _lock:
        if key not in _known:
            found = probe(room)
            able = [mode for mode, fault in found.items() if not fault]
            if not able:
                faults = "; ".join(f"{mode}: {fault}" for mode, fault in found.items())
                raise EndpointFailed(f"{room.endpoint.place} gives no answer of a given shape in any mode ({faults})")
            _known[key] = able[0]
        return _known[key]
