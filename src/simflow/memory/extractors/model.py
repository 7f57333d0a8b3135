"""Small multinomial classifiers over counts of cues: -1, 0, +1 with probabilities. Weights are data beside this file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import RunFailed

Vector = npt.NDArray[np.float64]
PARTS = {"stance": 19, "answer": 10, "relation": 15, "reply": 15}
"""Classifiers and the number of inputs of each: what a text says of its topic; how it answers; both with the parent's stance; its stance then."""


@dataclass(frozen=True, slots=True)
class Model:
    """`weights`: by part, shape (inputs + 1, 3), the last row is the bias. `id`: changes whenever they do."""

    id: str
    weights: dict[str, Vector]

    def probabilities(self, part: str, inputs: Vector) -> Vector:
        """Shape (3,), or (n, 3) for n rows of inputs: how likely -1, 0 and +1 are."""
        table = self.weights[part]
        scores = inputs @ table[:-1] + table[-1]
        scores = scores - scores.max(axis=-1, keepdims=True)
        odds: Vector = np.exp(scores)
        odds /= odds.sum(axis=-1, keepdims=True)
        return odds


def joint(own: Vector, answer: Vector, parent: Vector) -> tuple[Vector, Vector]:
    """Inputs of `relation` and of `reply`, from the probabilities of a reply's own words, of how it answers, and of its parent."""
    relation = np.concatenate([np.outer(own, parent).ravel(), answer, np.log(answer + 0.02)])
    reply = np.concatenate([np.outer(answer, parent).ravel(), own, np.log(own + 0.02)])
    return relation, reply


@cache
def load() -> Model:
    """The model that ships with the package. Raises RunFailed if its weights do not fit."""
    raw = (resources.files(__package__) / "model.json").read_bytes()
    weights = {name: np.array(rows, np.float64) for name, rows in json.loads(raw)["weights"].items()}
    if {name: len(table) - 1 for name, table in weights.items()} != PARTS:
        raise RunFailed("the weights of the built-in extractor do not fit its features", hint="python -m simflow.evaluation.extract_train")
    # The lexicons are part of what is computed, so they are part of the id.
    folder = resources.files(__package__) / "lexicons"
    words = b"".join((folder / f"{code}.toml").read_bytes() for code in ("en", "es", "pt", "uk"))
    words += (resources.files(__package__) / "sides.toml").read_bytes()
    return Model(f"builtin@{hashlib.sha256(raw + words).hexdigest()[:12]}", weights)


def dump(weights: dict[str, Vector], about: dict[str, Any]) -> str:
    """The file of a model, as text: five digits are enough, and the same everywhere."""
    rows = {name: [[round(float(v), 5) for v in row] for row in table] for name, table in weights.items()}
    return json.dumps({"about": about, "weights": rows}, indent=1) + "\n"
