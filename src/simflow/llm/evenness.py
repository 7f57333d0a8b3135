"""Whether a batch is read as well at its end as at its beginning, told without right answers."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

FLAT = 0.05
"""Points by which recall may differ between the halves of a batch."""
TAIL = 0.025
Counts = tuple[int, int]


class Evenness:
    """Counts, by half of the batch, the lines in which a relation was found at the first asking.

    Threads stand in a batch in an order that has nothing to do with what they say, so halves that yield unequally are read unequally.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew, as for batches of another size."""
        self.found = [0, 0]
        self.lines = [0, 0]

    def note(self, found: Sequence[bool]) -> None:
        """One batch's lines in order: whether a relation was found. The middle line of an odd number counts in neither half."""
        half = len(found) // 2
        for side, lines in enumerate((found[:half], found[len(found) - half :])):
            self.lines[side] += half
            self.found[side] += sum(lines)

    @property
    def uneven(self) -> bool:
        """Whether the 95 % interval of the difference lies wholly beyond `FLAT`."""
        low, high = difference((self.found[0], self.lines[0]), (self.found[1], self.lines[1]))
        return low > FLAT or high < -FLAT


def wilson(hits: float, of: int) -> tuple[float, float]:
    """95 % Wilson interval of a share."""
    if not of:
        return 0.0, 1.0
    z = 1.959964
    share = hits / of
    middle = share + z * z / (2 * of)
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@functools.lru_cache(maxsize=65536)
def at_least(hits: int, of: int) -> float:
    """Lower end of the exact 95 % interval of a share (Clopper & Pearson 1934): unlike Wilson's, it makes little of one in one."""
    if not hits:
        return 0.0
    ways = [math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1) for k in range(hits)]
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        fewer = sum(math.exp(way + k * math.log(share) + (of - k) * math.log1p(-share)) for k, way in enumerate(ways))
        low, high = (low, share) if 1 - fewer > TAIL else (share, high)
    return low


def difference(one: Counts, other: Counts) -> tuple[float, float]:
    """95 % interval of the first share less the second, each (hits, of): Newcombe's of 1998, from Wilson's of both; (-1, 1) of nothing."""
    if not one[1] or not other[1]:
        return -1.0, 1.0
    p, q = one[0] / one[1], other[0] / other[1]
    (p_low, p_high), (q_low, q_high) = wilson(*one), wilson(*other)
    below = math.hypot(p - p_low, q_high - q)
    above = math.hypot(p_high - p, q - q_low)
    return p - q - below, p - q + above
