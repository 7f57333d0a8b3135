"""Keyed randomness: every number is a function of (seed, purpose, tick, ids), never of how many were drawn before.

A chain of splitmix64 finalisers (Steele, Lea & Flood 2014). The seed is an array with one entry a replicate, so that stacked
replicates draw exactly what single runs draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[Any]

GRID = float(1 << 32)
"""Stances are whole numbers of 2**-32."""

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_ODD = 0xD1B54A32D192ED03
_M1, _M2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_NP_M1, _NP_M2 = np.uint64(_M1), np.uint64(_M2)
_NP_GOLDEN, _NP_ODD = np.uint64(_GOLDEN), np.uint64(_ODD)
_UNIT = 2.0**-53
_LANE = np.uint64(0xFFFF)
_ROOT3 = 1.7320508075688772


def grid(value: F64) -> I64:
    """Nearest whole number of 2**-32."""
    return np.rint(value * GRID).astype(np.int64)


def mixed(value: int) -> int:
    """The splitmix64 finaliser of one 64-bit number."""
    value &= _MASK
    value = ((value ^ (value >> 30)) * _M1) & _MASK
    value = ((value ^ (value >> 27)) * _M2) & _MASK
    return value ^ (value >> 31)


def mix(values: U64) -> U64:
    """The splitmix64 finaliser of each number; `values` is overwritten."""
    values ^= values >> _S30
    values *= _NP_M1
    values ^= values >> _S27
    values *= _NP_M2
    values ^= values >> _S31
    return values


@lru_cache(maxsize=4096)
def word(text: str) -> int:
    """A stable 64-bit number of a text, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def name_key(text: str) -> int:
    """A stable number in 1..2**62 of a name, to refer to it from an array."""
    return (word(text) >> 2) | 1


class Draws:
    """Keyed numbers for the residents of one or more replicates.

    seeds: one a replicate. `replicate` (n,) and `local` (n,) say to which replicate each row belongs and its index there; None for
    a single replicate, whose rows are their own indices.
    """

    def __init__(self, seeds: Sequence[int], replicate: Ints | None = None, local: Ints | None = None) -> None:
        self.seeds = tuple(seeds)
        self._roots = [mixed(seed ^ _ODD) for seed in seeds]
        self.replicate = replicate
        self.local = local
        self._ids = None if local is None else _spread(local)
        self._codes: dict[str, list[int]] = {}

    def bits(self, purpose: str, tick: int, agents: Ints) -> U64:
        """64 random bits for each of `agents`, shape (len(agents),)."""
        ids = _spread(agents) if self._ids is None else self._ids[agents]
        ids += self._base(purpose, tick, agents)
        return mix(ids)

    def pair_bits(self, purpose: str, tick: int, agents: Ints, others: Ints) -> U64:
        """64 random bits for each (agent, other): `others` are content keys or small numbers, the same length as `agents`."""
        keys = others.astype(np.uint64)
        keys *= _NP_ODD
        keys += self.bits(purpose, tick, agents)
        return mix(keys)

    def several_units(self, purpose: str, tick: int, agents: Ints, count: int) -> F64:
        """Uniform on [0, 1), (len(agents), count): the draws for the pairs (agent, 0 .. count - 1)."""
        keys = np.arange(count).astype(np.uint64) * _NP_ODD + self.bits(purpose, tick, agents)[:, None]
        return unit(mix(keys))

    def unit(self, purpose: str, tick: int, agents: Ints) -> F64:
        """Uniform on [0, 1) with 53 bits for each of `agents`."""
        return unit(self.bits(purpose, tick, agents))

    def pair_unit(self, purpose: str, tick: int, agents: Ints, others: Ints) -> F64:
        """Uniform on [0, 1) for each (agent, other)."""
        return unit(self.pair_bits(purpose, tick, agents, others))

    def _base(self, purpose: str, tick: int, agents: Ints) -> Any:
        # tick may be negative (-1: before the first); the mask makes it a 64-bit word.
        codes = self._codes.get(purpose)
        if codes is None:
            code = word(purpose)
            codes = self._codes[purpose] = [mixed(root ^ code) for root in self._roots]
        step = (tick * _GOLDEN) & _MASK
        if self.replicate is None:
            return np.uint64(mixed(codes[0] + step))
        return mix(np.array(codes, dtype=np.uint64) + np.uint64(step))[self.replicate[agents]]


def _spread(ids: Ints) -> U64:
    spread = ids.astype(np.uint64)
    spread += np.uint64(1)
    spread *= _NP_GOLDEN
    return spread


def unit(bits: U64) -> F64:
    """Uniform on [0, 1) from 64 bits, exact in float64."""
    return (bits >> _S11).astype(np.float64) * _UNIT


def bell(bits: U64) -> F64:
    """Mean 0, standard deviation 1, within +-3.47: the sum of the four 16-bit lanes (Irwin-Hall), so no logarithm is needed."""
    total = (bits & _LANE) + ((bits >> np.uint64(16)) & _LANE) + ((bits >> np.uint64(32)) & _LANE) + (bits >> np.uint64(48))
    centred: F64 = ((total.astype(np.float64) + 2.0) * 2.0**-16 - 2.0) * _ROOT3
    return centred
