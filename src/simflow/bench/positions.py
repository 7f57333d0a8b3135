"""Recall by place in the batch, on any model: every line is read once in the first half of a batch and once in the second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from simflow.llm.evenness import FLAT

if TYPE_CHECKING:
    from simflow.llm.extractor import ModelExtractor
    from simflow.ports import Finding, Passage

DRAWS = 2000


def settle(
    make: Callable[[int], ModelExtractor], texts: Sequence[Passage], right: Callable[[Passage, Sequence[Finding]], bool], largest: int
) -> dict[str, Any]:
    """Sizes from `largest` down, halved, until the halves of a batch are read alike to `FLAT`: `{"sizes": [...], "settles_on": size}`.

    make: an extractor for a size. right: whether what was found in a passage is what it says. A batch of one line has no halves: it is
    flat by definition, and is where a model ends that reads no batch evenly.
    """
    rows: list[dict[str, Any]] = []
    size = largest
    while size > 1:
        rows.append(halves(make(size), texts, right, size))
        if rows[-1]["flat"]:
            break
        size //= 2
    return {"sizes": rows, "settles_on": size}


def halves(
    extractor: ModelExtractor, texts: Sequence[Passage], right: Callable[[Passage, Sequence[Finding]], bool], size: int
) -> dict[str, Any]:
    """Recall by half of the first answers alone, without repairs.

    `difference`: in the first half less in the second, over the same lines, with the 95 % percentile interval of a bootstrap over batches.
    """
    import numpy as np

    batches = []
    for batch in extractor.batches(texts, size):
        half = len(batch) // 2
        if not half:
            continue
        whole = batch[: 2 * half]
        hits = []
        for order in (whole, whole[half:] + whole[:half]):
            found = extractor.once(order)
            hits.append([right(p, [f for f in found if f.episode == p.episode]) for p in order])
        first, second = sum(hits[0][:half]) + sum(hits[1][:half]), sum(hits[0][half:]) + sum(hits[1][half:])
        batches.append((first, second, 2 * half))
    counts = np.array(batches, float).reshape(-1, 3)
    lines = counts[:, 2].sum()
    drawn = counts[np.random.default_rng(7).integers(0, len(counts), (DRAWS, len(counts)))].sum(1) if len(counts) else np.ones((1, 3))
    spread = (drawn[:, 0] - drawn[:, 1]) / drawn[:, 2]
    difference = float((counts[:, 0] - counts[:, 1]).sum() / max(lines, 1))
    return {
        "size": size,
        "batches": len(counts),
        "lines": int(lines),
        "recall_first_half": round(float(counts[:, 0].sum() / max(lines, 1)), 4),
        "recall_second_half": round(float(counts[:, 1].sum() / max(lines, 1)), 4),
        "difference": round(difference, 4),
        "interval": [round(float(np.quantile(spread, q)), 4) for q in (0.025, 0.975)],
        "flat": abs(difference) <= FLAT,
    }


def table(name: str, result: dict[str, Any]) -> list[str]:
    """The figures for people."""
    lines = ["", f"recall by half of the batch, {name} model, first answers, each line in both halves"]
    for row in result["sizes"]:
        low, high = row["interval"]
        lines.append(
            f"  {row['size']:>3} a batch {row['lines']:>6,} lines  first {row['recall_first_half']:.3f}  second {row['recall_second_half']:.3f}"
            f"  difference {row['difference']:+.3f} [{low:+.3f}, {high:+.3f}]{'' if row['flat'] else '  not flat'}"
        )
    return [*lines, f"  settles on {result['settles_on']} a batch"]
