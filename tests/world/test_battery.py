"""The keyed generator under a battery of tests, along each of its keys. The words are fixed, so a red test is no bad luck."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from battery import results

from simflow.world.draws import Draws

WORDS = 1 << 18


def along_agents(n: int) -> np.ndarray:
    return Draws([11]).bits("act", 3, np.arange(n))


def along_ticks(n: int) -> np.ndarray:
    draws, agents = Draws([11]), np.arange(4)
    return np.concatenate([draws.bits("act", tick, agents) for tick in range(n // 4)])


def along_pairs(n: int) -> np.ndarray:
    side = int(np.sqrt(n))
    a, b = np.divmod(np.arange(side * side), side)
    return Draws([11]).pair_bits("feed", 3, a, b)


def along_mirrored_pairs(n: int) -> np.ndarray:
    side = int(np.sqrt(n))
    a, b = np.divmod(np.arange(side * side), side)
    draws = Draws([11])
    return np.stack([draws.pair_bits("feed", 3, a, b), draws.pair_bits("feed", 3, b, a)], axis=1)[a < b].ravel()


def along_seeds(n: int) -> np.ndarray:
    return np.concatenate([Draws([seed]).bits("act", 3, np.arange(16)) for seed in range(n // 16)])


def between_neighbours(n: int) -> np.ndarray:
    # What changes when the tick goes on by one: half of the bits, unrelated to each other.
    draws, agents = Draws([11]), np.arange(n)
    return draws.bits("act", 3, agents) ^ draws.bits("act", 4, agents)


STREAMS: dict[str, tuple[Callable[[int], np.ndarray], int]] = {
    "agents": (along_agents, WORDS),
    "ticks": (along_ticks, WORDS // 4),
    "pairs": (along_pairs, WORDS),
    "mirrored pairs": (along_mirrored_pairs, WORDS),
    "seeds": (along_seeds, WORDS // 4),
    "neighbours": (between_neighbours, WORDS),
}
MOST = 4.9
"""No z value of some 600 honest ones is beyond it in 1,500 tries."""


@pytest.mark.parametrize("name", STREAMS)
def test_no_test_of_the_battery_tells_the_generator_from_chance(name):
    stream, count = STREAMS[name]
    found = results(stream(count))
    assert {test: round(z, 1) for test, z in found.items() if abs(z) > MOST} == {}
    together = np.array(list(found.values()))
    assert abs((together**2).mean() - 1) < 0.6, "and taken together they are about as far off as chance is"


@pytest.mark.parametrize(
    "broken",
    [
        lambda w: np.arange(len(w), dtype=np.uint64) * np.uint64(6364136223846793005),  # a multiplier alone
        lambda w: w & ~np.uint64(1 << 7),  # a bit that is never set
        lambda w: np.repeat(w[: len(w) // 2], 2),  # each word twice
        lambda w: (w >> np.uint64(32)) | (w & np.uint64(0xFFFFFFFF00000000)),  # two halves that are the same
        lambda w: np.where(np.arange(len(w)) % 64 == 0, np.uint64(0), w),  # a zero now and then
    ],
)
def test_the_battery_finds_what_is_not_random(broken):
    words = np.random.default_rng(3).integers(0, 1 << 64, 1 << 16, dtype=np.uint64)
    assert max(abs(z) for z in results(words).values()) < MOST
    assert max(abs(z) for z in results(broken(words)).values()) > 8


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("SIMFLOW_DIEHARDER"), reason="minutes of CPU: `make random` runs it; the small battery ran")
@pytest.mark.skipif(shutil.which("dieharder") is None, reason="dieharder is not installed (a package of Debian)")
@pytest.mark.parametrize("test", ["0", "1", "2", "8", "15", "17", "100", "101", "102"])
def test_dieharder_passes_the_generator(test):
    """Birthdays, permutations, ranks, ones, craps, monobit and serial tests, on as many words as dieharder asks for (never rewound)."""
    command = ["dieharder", "-g", "200", "-d", test, "-p", "20", "-c", ","]
    draws, agents, said = Draws([11]), np.arange(1 << 16), ""
    # It closes its end when it has seen enough: writing to it then, or letting go of it, breaks the pipe.
    with (
        contextlib.suppress(BrokenPipeError),
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as done,
    ):
        assert done.stdin
        assert done.stdout
        with contextlib.suppress(BrokenPipeError):
            for tick in range(1 << 30):
                done.stdin.write(draws.bits("act", tick, agents).tobytes())
                if done.poll() is not None:
                    break
        said = done.stdout.read().decode()
    verdicts = re.findall(r"\b(PASSED|WEAK|FAILED)\b", said)
    assert verdicts, said
    assert "FAILED" not in verdicts, said
