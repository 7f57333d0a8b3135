"""Distil the static embedder from the sentence model: `python -m simflow.memory.embedders.distil_static OUT.npz`.

Each token of the vocabulary is embedded alone by the sentence model; the vectors are centred, turned to their principal components, cut to
a few of them, and weighted down where the token is frequent (the vocabulary is in order of frequency, so its rank stands in for a count).
Source: Tulkens & van Dongen 2024, Model2Vec; Arora et al. 2017, a simple but tough-to-beat baseline for sentence embeddings.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simflow.memory.embedders.sentence import BATCH_TOKENS, SentenceEmbedder

DIMENSION = 192
CLS, SEP = 101, 102
FIRST_WORD = 1996
"""Token of the most frequent word; what stands before it are marks, single characters and places that nothing uses."""


def distil(teacher: SentenceEmbedder, dimension: int = DIMENSION) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """`codes` int8[tokens, dimension] and `scale` float32[tokens]; their product is the weighted vector of each token."""
    return compress(tokens_alone(teacher), dimension)


def tokens_alone(teacher: SentenceEmbedder) -> npt.NDArray[np.float32]:
    """The teacher's vector of each token of its vocabulary as a sentence of its own."""
    size = teacher.vocabulary_size
    alone = np.zeros((size, teacher.dimension), np.float32)
    step = BATCH_TOKENS // 3
    for start in range(0, size, step):
        tokens = [[CLS, token, SEP] for token in range(start, min(start + step, size))]
        alone[start : start + len(tokens)] = teacher.run(tokens)
    return alone


def compress(alone: npt.NDArray[np.float32], dimension: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Principal components of the token vectors, weighted by frequency, as int8 codes with a scale for each token."""
    size = len(alone)
    centred = alone.astype(np.float64) - alone.mean(axis=0)
    _, turned = np.linalg.eigh(centred.T @ centred)
    vectors = centred @ turned[:, ::-1][:, :dimension]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    vectors *= weights(size)[:, None]
    peak = np.maximum(np.abs(vectors).max(axis=1), 1e-9)
    return np.rint(vectors / peak[:, None] * 127).astype(np.int8), (peak / 127).astype(np.float32)


def weights(size: int) -> npt.NDArray[np.float64]:
    """How much a token says: a / (a + p) with p by Zipf's law from its rank and a = 0.001; marks and unused places say nothing."""
    rank = np.maximum(np.arange(size) - FIRST_WORD + 1, 1)
    frequency = 1 / (rank * np.log(size))
    kept: npt.NDArray[np.float64] = 1e-3 / (1e-3 + frequency)
    kept[: FIRST_WORD - 100] = 0.02  # single characters and marks; the last hundred before the words are letters of other scripts
    kept[:999] = 0
    return kept


def main(path: Path) -> None:
    """Write the model."""
    codes, scale = distil(SentenceEmbedder())
    np.savez_compressed(path, codes=codes, scale=scale)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
