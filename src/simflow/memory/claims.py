"""Claims: what one episode says about one slot. Appended, never changed; a later row with the same key replaces an earlier one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from simflow.episode import CLAIMS
from simflow.ports import Finding

RULE = "rule"
"""`extractor` of what structure says, without reading."""
PARKED = "parked"
"""Reserved kind: an episode that could not be extracted. value -1 when that happened, +1 once it was; `quote` holds the reason."""


class Slot(NamedTuple):
    """What statements are about: they compete, or add up, within one slot."""

    kind: str
    of: int
    on_agent: int | None
    on_topic: str | None
    about: str | None


class Claim(NamedTuple):
    """A row of CLAIMS, in its order."""

    claim: int
    kind: str
    of: int
    on_agent: int | None
    on_topic: str | None
    about: str | None
    value: float
    confidence: float
    tick: int
    learnt: int
    episode: int
    quote: str | None
    extractor: str

    @property
    def slot(self) -> Slot:
        """What it is about."""
        return Slot(self.kind, self.of, self.on_agent, self.on_topic, self.about)


def content_key(*parts: object) -> int:
    """A non-negative 63-bit key of the parts; the same in every process."""
    text = "\x1f".join("" if p is None else str(p) for p in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def make(finding: Finding, *, tick: int, learnt: int, extractor: str) -> Claim:
    """A finding as a claim. Its key is (slot, episode): what is found anew about the same episode corrects what was found before."""
    slot = Slot(finding.kind, finding.of, finding.on_agent, finding.on_topic, finding.about)
    return Claim(
        content_key("claim", *slot, finding.episode),
        *slot,
        value=_single(min(max(float(finding.value), -1.0), 1.0)),
        confidence=_single(min(max(float(finding.confidence), 0.0), 1.0)),
        tick=tick,
        learnt=learnt,
        episode=finding.episode,
        quote=finding.quote,
        extractor=extractor,
    )


def _single(value: float) -> float:
    # As it will be read back: what is folded now must equal what is folded after a restart.
    return float(np.float32(value))


def park(episode: int, actor: int, *, tick: int, learnt: int, reason: str | None, extractor: str) -> Claim:
    """Note that an episode could not be extracted (`reason`), or that it now has been (None)."""
    return Claim(
        content_key(PARKED, episode, learnt),
        PARKED,
        actor,
        None,
        None,
        None,
        -1.0 if reason is not None else 1.0,
        0.0,
        tick,
        learnt,
        episode,
        reason,
        extractor,
    )


def table(claims: Iterable[Claim]) -> pa.Table:
    """Claims as a table of schema CLAIMS, in the order given."""
    rows = list(claims)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(CLAIMS)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, CLAIMS, strict=True)], schema=CLAIMS)


def rows(claims: pa.Table) -> list[Claim]:
    """A table of schema CLAIMS as claims."""
    if not claims.num_rows:
        return []
    return [Claim(*row) for row in zip(*(claims[name].to_pylist() for name in CLAIMS.names), strict=True)]


def standing(claims: Iterable[Claim], known_at: int | None = None) -> list[Claim]:
    """What was known by tick `known_at` (None: by now): the newest row of each key, without what has been retracted (confidence 0)."""
    newest: dict[int, Claim] = {}
    for claim in claims:
        if claim.kind == PARKED or (known_at is not None and claim.learnt > known_at):
            continue
        held = newest.get(claim.claim)
        if held is None or claim.learnt >= held.learnt:
            newest[claim.claim] = claim
    return [c for c in newest.values() if c.confidence > 0]
