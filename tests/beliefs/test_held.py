"""What an extractor is told of the beliefs held before a batch, and what the cascade makes of a contradiction, in a run's own path."""

from __future__ import annotations

import pytest

from simflow.plan import Extract
from simflow.ports import Extraction, Held


class Watching:
    """Hands on to another extractor and keeps the passages."""

    def __init__(self, inner):
        self.inner, self.id, self.passages = inner, inner.id, {}

    def extract(self, batch):
        self.passages |= {p.episode: p for p in batch}
        return self.inner.extract(batch)


def rows():
    return [
        {"tick": 1, "actor": 0, "kind": "post", "text": "+ tariff"},
        {"tick": 2, "actor": 1, "kind": "reply", "text": "- tariff", "parent": 1, "target": 0},
        {"tick": 3, "actor": 1, "kind": "like", "parent": 1, "target": 2},
        {"tick": 12, "actor": 0, "kind": "post", "text": "- tariff"},
        {"tick": 13, "actor": 1, "kind": "reply", "text": "- tariff", "parent": 4, "target": 0},
        {"tick": 14, "actor": 3, "kind": "post", "text": "+ council"},
    ]


@pytest.mark.parametrize("window", [3, 10, 20])
def test_passage_carries_what_its_actor_believed_before_the_batch(run, episodes, scripted, window):
    seen = Watching(scripted)
    run(episodes(rows()), 20, window, extractor=seen)
    assert seen.passages[1].held == seen.passages[2].held == ()
    assert seen.passages[4].held == (Held("opinion", None, "tariff", None, 1.0),)
    # Attitudes towards others than the one it speaks to are left out.
    assert {(h.kind, h.on_agent, h.on_topic, h.about, h.value) for h in seen.passages[5].held} == {
        ("opinion", None, "tariff", None, -1.0),
        ("attitude", 0, None, "tariff", -1.0),
    }
    assert seen.passages[6].held == ()


class Model:
    """In the place of a language model: notes what it is asked, and finds nothing."""

    id, counts = "model@1", None

    def __init__(self):
        self.asked, self.counts = [], {}

    def extract(self, batch):
        self.asked += [p.episode for p in batch]
        return Extraction((), tuple(p.episode for p in batch))

    def notes(self):
        return {}


def test_reading_that_contradicts_a_held_belief_goes_to_the_model(run, episodes, scripted, cell):
    import dataclasses

    from simflow.llm.cascade import Cascade

    cell = dataclasses.replace(cell, extract=Extract(every=10, audit=0.0))
    model = Model()
    made = Cascade(cell, None, room=object(), cheap=scripted, model=model)
    run(episodes(rows()), 20, extractor=made, of=cell)
    assert model.asked == [4]
