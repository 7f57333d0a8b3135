"""Keyed draws for texts: each number is a function of (seed, episode key, slot) alone, never of an order or a state."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(0xBF58476D1CE4E5B9)
_TWO = np.uint64(0x94D049BB133111EB)
_PURPOSE = 0x6C616E6775616765  # "language" in ASCII: keeps these draws apart from the world's


def mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea & Flood 2014), element by element."""
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * _ONE
    values = (values ^ (values >> np.uint64(27))) * _TWO
    return values ^ (values >> np.uint64(31))


def draws(seed: int, keys: npt.NDArray[np.int64], slots: int) -> npt.NDArray[np.uint64]:
    """Shape (len(keys), slots), uniform in 0..2**32 - 1."""
    start = mix(np.array([(seed ^ _PURPOSE) & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64))
    rows = mix(keys.astype(np.uint64) ^ start)
    return mix(rows[:, None] ^ mix(np.arange(slots, dtype=np.uint64))[None, :]) >> np.uint64(32)
