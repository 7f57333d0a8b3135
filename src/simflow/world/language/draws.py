"""Keyed draws for texts: each number is a function of (seed, episode key, slot) alone, never of an order or a state."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simflow.world.draws import U64, mix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_PURPOSE = 0x6C616E6775616765  # "language" in ASCII: keeps these draws apart from the world's


def draws(seed: int, keys: npt.NDArray[np.int64], slots: int) -> U64:
    """Shape (slots, len(keys)), uniform in 0..2**32 - 1."""
    start = mix(np.array([(seed ^ _PURPOSE) & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64) + _GOLDEN)
    rows = mix((keys.astype(np.uint64) ^ start) + _GOLDEN)
    values = mix(np.arange(slots, dtype=np.uint64) + _GOLDEN)[:, None] ^ rows
    values += _GOLDEN
    mix(values)
    values >>= np.uint64(32)
    return values
