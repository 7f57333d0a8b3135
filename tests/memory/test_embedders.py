from __future__ import annotations

import numpy as np
import pytest

from simflow.errors import NotFound
from simflow.memory.embedders import load, named
from simflow.plan import Cell, Models
from simflow.ports import Embedder


@pytest.mark.parametrize("name", ["builtin", "static", "remote"])
def test_each_embedder_is_found_by_its_name(name):
    made = named(name)
    assert made.id
    if name != "remote":
        assert isinstance(made, Embedder)


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(NotFound, match="no embedder 'word2vec'") as error:
        load(Cell("s", "base", {}, 0, topics=(), models=Models(embedder="word2vec")))
    assert "builtin" in error.value.hint


def test_ids_of_embedders_differ():
    assert named("builtin").id != named("static").id


def test_the_static_embedder_keeps_the_neighbours_of_the_sentence_model():
    texts = ["The water bill is too expensive.", "People pay too much for water.", "My cat sleeps on the sofa.", ""]
    vectors = named("static").embed(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0], abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_static_vectors_have_the_same_bits_in_every_batch():
    static = named("static")
    texts = ["one two", "three", "", "a longer text about the mayor and the pipes", "water 水 🚰"]
    together = static.embed(texts)
    for row, text in enumerate(texts):
        assert static.embed([text])[0].tobytes() == together[row].tobytes()
