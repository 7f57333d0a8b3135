"""Whether a confidence is what it says: of the claims made with probability p, about p are right. Measured on a run with a known truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simflow.evaluation.corpus_scores import wilson
from simflow.memory.claims import RULE
from simflow.memory.evidence import label_of
from simflow.store import RunData

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.000001)
"""Bounds of the bins of confidence."""


class Mark(NamedTuple):
    """One claim: its group (kind, and whether structure or words said it), how sure it was, and whether truth has the same label."""

    group: str
    confidence: float
    right: bool


def marks(run: RunData) -> list[Mark]:
    """The claims of opinions and attitudes that a run's truth can judge: the label of the same episode on the same topic, or towards the same agent."""
    topics = [t.name for t in run.cell.topics]
    said = {
        (row["episode"], topics[row["topic"]]): label_of(row["stance"])
        for row in run.truth("statements").to_pylist()
        if row["topic"] is not None and row["topic"] < len(topics)
    }
    dealt = {(row["episode"], row["target"]): row["label"] for row in run.truth("relations").to_pylist()}
    found = []
    columns = ["kind", "on_topic", "on_agent", "episode", "value", "confidence", "extractor"]
    for row in run.table("claims", columns=columns).to_pylist():
        if row["kind"] == "opinion":
            label = said.get((row["episode"], row["on_topic"]))
        elif row["kind"] == "attitude":
            label = dealt.get((row["episode"], row["on_agent"]))
        else:
            continue
        if label is not None and row["confidence"] > 0:
            by = "by rule" if row["extractor"] == RULE else "read"
            found.append(Mark(f"{row['kind']}, {by}", row["confidence"], label_of(row["value"]) == label))
    return found


def report(found: Sequence[Mark]) -> dict[str, Any]:
    """By group: how many, mean confidence, share that is right, expected calibration error (over the bins), and the bins themselves."""
    groups: dict[str, Any] = {}
    for name in sorted({m.group for m in found}):
        sure = np.array([m.confidence for m in found if m.group == name])
        right = np.array([m.right for m in found if m.group == name])
        at = np.digitize(sure, EDGES) - 1
        bins: list[dict[str, Any]] = []
        for number in np.unique(at).tolist():
            mine = at == number
            low, high = wilson(float(right[mine].sum()), int(mine.sum()))
            bins.append(
                {
                    "from": EDGES[number],
                    "to": min(EDGES[number + 1], 1.0),
                    "n": int(mine.sum()),
                    "confidence": round(float(sure[mine].mean()), 4),
                    "right": round(float(right[mine].mean()), 4),
                    "interval": [low, high],
                }
            )
        error = sum(b["n"] * abs(b["confidence"] - b["right"]) for b in bins) / len(sure)
        groups[name] = {
            "n": len(sure),
            "confidence": round(float(sure.mean()), 4),
            "right": round(float(right.mean()), 4),
            "calibration_error": round(error, 4),
            "bins": bins,
        }
    return groups
