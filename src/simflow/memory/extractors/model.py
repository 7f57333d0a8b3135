"""Small multinomial classifiers over counts of cues: -1, 0, +1 with probabilities. Weights are data beside this file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import RunFailed
from simflow.memory.extractors import wording

Vector = npt.NDArray[np.float64]
PARTS = {"stance": 28, "answer": 16, "relation": 18, "reply": 15}
"""Classifiers and the number of inputs of each: what a text says of its topic; how it answers; both with the parent's stance; its stance then."""


@dataclass(frozen=True, slots=True)
class Model:
    """`weights`: by part, shape (inputs + 1, 3), the last row is the bias. `id`: changes whenever they do.

    `phrases`: what the books know beside their own, by language: (heading, phrase).
    """

    id: str
    weights: dict[str, Vector]
    phrases: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    _books: dict[tuple[str, str], wording.Book] = field(default_factory=dict, repr=False, compare=False)

    def book(self, code: str, part: str) -> wording.Book:
        """The book of one language with what the model knows beside it."""
        if (code, part) not in self._books:
            self._books[code, part] = wording.load(code, part, self.phrases.get(code, ()))
        return self._books[code, part]

    def probabilities(self, part: str, inputs: Vector) -> Vector:
        """Shape (3,), or (n, 3) for n rows of inputs: how likely -1, 0 and +1 are."""
        return softmax(inputs, self.weights[part])


def softmax(inputs: Vector, table: Vector) -> Vector:
    """What a multinomial classifier says of rows of inputs, by its table of weights: probabilities along the last axis."""
    scores = inputs @ table[:-1] + table[-1]
    scores = scores - scores.max(axis=-1, keepdims=True)
    odds: Vector = np.exp(scores)
    odds /= odds.sum(axis=-1, keepdims=True)
    return odds


def joint(own: Vector, answer: Vector, parent: Vector, values: tuple[float, float] = (0.0, 0.0)) -> tuple[Vector, Vector]:
    """Inputs of `relation` and of `reply`: from the probabilities of a reply's own words, of how it answers, and of its parent.

    values: how strongly for or against both are taken to be, -1..1: two people of one camp can still be far apart.
    """
    gap = abs(values[0] - values[1])
    relation = np.concatenate([np.outer(own, parent).ravel(), answer, np.log(answer + 0.02), [gap, gap * gap, values[0] * values[1]]])
    reply = np.concatenate([np.outer(answer, parent).ravel(), own, np.log(own + 0.02)])
    return relation, reply


def value(odds: Vector, *, strong: bool) -> float:
    """A stance as a number, -1..1: the middle of a strong or a plain one, weighed by how likely each side is."""
    return float(odds[2] - odds[0]) * (0.75 if strong else 0.35)


@cache
def load() -> Model:
    """The model that ships with the package. Raises RunFailed if its weights do not fit."""
    raw = (resources.files(__package__) / "model.json").read_bytes()
    read = json.loads(raw)
    weights = {name: np.array(rows, np.float64) for name, rows in read["weights"].items()}
    phrases = {
        code: tuple((heading, line) for heading, known in table.items() for line in known) for code, table in read["phrases"].items()
    }
    if {name: len(table) - 1 for name, table in weights.items()} != PARTS:
        raise RunFailed("the weights of the built-in extractor do not fit its features", hint="python -m simflow.evaluation.extract_train")
    # The lexicons are part of what is computed, so they are part of the id.
    folder = resources.files(__package__) / "lexicons"
    words = b"".join((folder / f"{code}.toml").read_bytes() for code in ("en", "es", "pt", "uk"))
    words += b"".join((resources.files(__package__) / "phrases" / f"{code}.txt").read_bytes() for code in ("en", "es", "pt", "uk"))
    words += (resources.files(__package__) / "sides.toml").read_bytes()
    return Model(f"builtin@{hashlib.sha256(raw + words).hexdigest()[:12]}", weights, phrases)


def dump(weights: dict[str, Vector], phrases: dict[str, dict[str, list[str]]], about: dict[str, Any]) -> str:
    """The file of a model, as text: five digits are enough, and the same everywhere."""
    rows = {name: [[round(float(v), 5) for v in row] for row in table] for name, table in weights.items()}
    return json.dumps({"about": about, "weights": rows, "phrases": phrases}, indent=1, ensure_ascii=False) + "\n"
