"""A fast embedder: a vector for each token, added up. Distilled from the sentence model; hundreds of times faster, and coarser."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import RunFailed
from simflow.memory.embedders.sentence import VOCABULARY, VOCABULARY_SHA256, clean, latin
from simflow.plan import Cell

MODEL = Path(__file__).with_name("static.npz")


class StaticEmbedder:
    """Sentences to unit vectors; word order plays no part. Raises RunFailed if the model is missing or damaged."""

    def __init__(self, cell: Cell | None = None, *, model: Path = MODEL) -> None:
        del cell
        try:
            with np.load(model, allow_pickle=False) as arrays:
                codes, scale = arrays["codes"], arrays["scale"]
        except (OSError, ValueError, KeyError) as error:
            raise RunFailed(f"{model} cannot be read: {error}", hint="install simflow again") from error
        self._vectors = codes.astype(np.float32) * scale[:, None]
        self.dimension = int(codes.shape[1])
        digest = hashlib.sha256(codes.tobytes() + scale.tobytes()).hexdigest()
        self.id = f"static-minilm/{digest[:12]}/{VOCABULARY_SHA256[:12]}"

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import BertWordPieceTokenizer  # noqa: PLC0415 - whoever only asks for the id does not pay for it

        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def reads(self, text: str) -> float:
        """How much of a text it can read, 0..1: it learnt from English, and other scripts come to it as single characters."""
        return latin(text)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Shape (len(texts), dimension), unit length; zero for a text without any known word. Independent of batching."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        found = self._tokenizer.encode_batch([clean(t) for t in texts], add_special_tokens=False)
        for row, encoding in enumerate(found):
            if encoding.ids:
                total = self._vectors[encoding.ids].sum(axis=0, dtype=np.float32)
                length = float(np.sqrt((total * total).sum(dtype=np.float32)))
                if length > 0:
                    out[row] = total / np.float32(length)
        return out
