from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.errors import BadInput, RunFailed
from simflow.memory.embedders.sentence import MODEL_VARIABLE, SentenceEmbedder
from simflow.ports import Embedder

SENTENCES = [
    '@rosa14 wrote: "I think the water tariff is far too high for pensioners."',
    '@ivo3 replied to @rosa14: "Bills rise, but the leaks must be stopped."',
    "short",
    "",
    "   ",
    'Olá, a conta de água vai subir 18 % em maio — "não concordo".',
    "вода 水 🚰 \ud800 broken",
    "word " * 400,
]


@pytest.fixture(scope="module")
def embedder() -> SentenceEmbedder:
    return SentenceEmbedder(threads=1)


@pytest.fixture(scope="module")
def alone(embedder):
    return [embedder.embed([s])[0] for s in SENTENCES]


def test_it_is_an_embedder(embedder):
    assert isinstance(embedder, Embedder)


@settings(max_examples=12, deadline=None)
@given(rows=st.lists(st.integers(0, len(SENTENCES) - 1), max_size=14), threads=st.sampled_from([1, 2]))
def test_a_sentence_has_the_same_bits_in_every_batch(rows, threads, embedder, alone):
    other = SentenceEmbedder(threads=threads)
    vectors = other.embed([SENTENCES[r] for r in rows])
    assert vectors.shape == (len(rows), 384)
    assert vectors.dtype == np.float32
    for vector, row in zip(vectors, rows, strict=True):
        assert vector.tobytes() == alone[row].tobytes()


def test_vectors_have_unit_length_and_texts_without_words_are_zero(alone):
    lengths = [float(np.linalg.norm(v)) for v in alone]
    assert lengths == pytest.approx([1, 1, 1, 0, 0, 1, 1, 1], abs=1e-6)


def test_a_paraphrase_is_closer_than_another_subject(embedder):
    price, paraphrase, other = embedder.embed(
        ["The water bill is too expensive.", "People pay too much for their water.", "My cat sleeps on the sofa."]
    )
    assert price @ paraphrase > price @ other + 0.3


def test_a_contradiction_is_closer_than_a_paraphrase(embedder):
    # Why stance never comes from vectors alone.
    claim, contradiction, paraphrase = embedder.embed(
        ["I support the water tariff.", "I oppose the water tariff.", "Charging more for water is the right thing to do."]
    )
    assert claim @ contradiction > claim @ paraphrase


def test_another_model_is_refused_unless_it_is_named_on_purpose(tmp_path, monkeypatch):
    fake = tmp_path / "model.onnx"
    fake.write_bytes(b"not a model")
    monkeypatch.setattr("simflow.memory.embedders.sentence._packaged_model", lambda: fake)
    with pytest.raises(RunFailed, match="not the sentence model"):
        SentenceEmbedder()
    monkeypatch.setenv(MODEL_VARIABLE, str(fake))
    named = SentenceEmbedder()
    with pytest.raises(RunFailed, match="cannot be loaded"):
        named.embed(["x"])


def test_the_id_tells_models_apart(embedder, tmp_path, monkeypatch):
    copy = tmp_path / "other.onnx"
    copy.write_bytes(embedder.model.read_bytes() + b" ")
    monkeypatch.setenv(MODEL_VARIABLE, str(copy))
    assert SentenceEmbedder().id != embedder.id
    monkeypatch.setenv(MODEL_VARIABLE, str(tmp_path / "absent.onnx"))
    with pytest.raises(BadInput, match="cannot be read"):
        SentenceEmbedder()
