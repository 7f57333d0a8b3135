"""Sentences to vectors by an OpenAI-compatible endpoint: `models: {embedder: remote}`."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from functools import cached_property

import httpx2  # its errors come through when an answer's body is read
import numpy as np
import numpy.typing as npt
import openai

from simflow.errors import BadInput, EndpointFailed
from simflow.llm import transport
from simflow.llm.endpoint import Endpoint
from simflow.llm.wire import OPENAI
from simflow.plan import Cell

MODEL_VARIABLE, DIMENSION_VARIABLE = "SIMFLOW_EMBEDDING_MODEL", "SIMFLOW_EMBEDDING_DIMENSION"
DEFAULT = "text-embedding-3-small"
BATCH = 128
TRIES = 6
LARGEST = 64_000_000
"""Bytes of an answer: `BATCH` vectors of 8192 dimensions, written as long as numbers are, are a third of that."""


class RemoteEmbedder:
    """Vectors from `/embeddings` of the endpoint that OPENAI_BASE_URL and OPENAI_API_KEY name.

    SIMFLOW_EMBEDDING_MODEL names the model, SIMFLOW_EMBEDDING_DIMENSION asks for fewer dimensions than it has. The same text may come
    back with other last bits from another call: results are reproducible from the cache of vectors, which keeps each text's first answer.
    Raises BadInput for variables that cannot be used, EndpointFailed when the endpoint fails or answers something else than vectors.
    """

    def __init__(self, cell: Cell | None = None) -> None:
        del cell  # its `model` is the one that speaks, not the one that embeds
        model = os.environ.get(MODEL_VARIABLE) or DEFAULT
        self.endpoint = Endpoint.from_environment(model)
        given = os.environ.get(DIMENSION_VARIABLE)
        if given is not None and not (given.isascii() and given.isdigit() and 0 < int(given) <= 8192):
            raise BadInput(
                f"{DIMENSION_VARIABLE} is '{given}'", hint="a whole number of dimensions, such as 512; unset it for the model's own"
            )
        self._asked = int(given) if given else None
        self.id = f"remote/{model}/{given or 'native'}"

    @cached_property
    def dimension(self) -> int:
        """Dimensions of the vectors; without the variable, the endpoint is asked once."""
        return self._asked or len(self._call(["dimension"])[0])

    @cached_property
    def _client(self) -> openai.OpenAI:
        if not self.endpoint.key and not self.endpoint.base_url:
            raise BadInput(
                "there is no key for api.openai.com",
                hint="set OPENAI_API_KEY; for a server of your own set OPENAI_BASE_URL, which needs no key",
            )
        made = transport.client(
            self.endpoint.key, self.endpoint.base_url or OPENAI, self.endpoint.timeout, retries=TRIES - 1, largest=LARGEST
        )
        weakref.finalize(self, made.close)
        return made

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Shape (len(texts), dimension), unit length; zero for a text without words, which is not sent."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        spoken = [row for row, text in enumerate(texts) if text.strip()]
        for start in range(0, len(spoken), BATCH):
            rows = spoken[start : start + BATCH]
            vectors = np.array(self._call([texts[r] for r in rows]), np.float32)
            if vectors.shape != (len(rows), self.dimension) or not np.isfinite(vectors).all():
                raise EndpointFailed(
                    f"{self.endpoint.place} returned vectors of shape {vectors.shape}, not ({len(rows)}, {self.dimension})"
                )
            out[rows] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
        return out

    def _call(self, texts: list[str]) -> list[list[float]]:
        try:
            if self._asked:
                answer = self._client.embeddings.create(
                    model=self.endpoint.model, input=texts, dimensions=self._asked, encoding_format="float"
                )
            else:
                answer = self._client.embeddings.create(model=self.endpoint.model, input=texts, encoding_format="float")
            found = sorted(answer.data, key=lambda row: row.index)
            if [row.index for row in found] != list(range(len(texts))):
                raise EndpointFailed(f"{self.endpoint.place} returned {len(found)} vectors for {len(texts)} texts")
            return [row.embedding for row in found]
        except (openai.OpenAIError, httpx2.HTTPError, AttributeError, TypeError, ValueError) as error:
            why = self.endpoint.redact(" ".join(str(error).split())[:300])
            raise EndpointFailed(
                f"{self.endpoint.place} could not embed {len(texts)} texts with '{self.endpoint.model}': {why}",
                hint=f"is the model's name right ({MODEL_VARIABLE}), and does the endpoint offer /embeddings?",
            ) from None
