"""The extractor on generated texts in phrases that it was not trained on: the held-out half of the built-in world's language, and those of another hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simflow.evaluation.extract import Item, Labelled, evaluate, predict, scores
from simflow.evaluation.extract_hands import UNSEEN, hand
from simflow.evaluation.extract_train import sample
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.memory.extractors.lexicon import LANGUAGES
from simflow.plan import Cell, Language
from simflow.ports import Passage
from simflow.world.language.tables import Tables, load

RESAMPLES, LEVEL = 2000, 0.95
"""Of the bootstrap."""


SETS: dict[str, Callable[[str], Tables]] = {"held_out": lambda code: load(code, "held_out"), "other_hand": lambda code: hand(code, UNSEEN)}
"""What texts are written with, by language: phrases by the hand that wrote the ones learnt from, and by one that nothing was learnt from."""


def labelled(code: str, name: str, count: int, seed: int = 5) -> dict[str, Labelled]:
    """`opinion` (what posts and answers say of their topic) and `attitude` (how answers take their parent), in one language. name: one of `SETS`."""
    made = sample(SETS[name](code), count, seed)
    opinions, attitudes = [], []
    for at in range(count):
        topic = made.topics[int(made.topic[at])].name
        post = Passage(2 * at, at, "post", 1, "rosa1", None, None, made.posts[at], lang=code)
        words, parent = made.replies[at], made.posts[at]
        reply = Passage(2 * at + 1, at, "reply", 2, "bo2", 1, "rosa1", words, 2 * at, parent, 2 * at, parent, lang=code)
        opinions += [
            Item(post, "opinion", topic, int(made.stance[at]) - 1),
            Item(reply, "opinion", topic, int(made.reply_stance[at]) - 1),
        ]
        attitudes.append(Item(reply, "attitude", None, int(made.relation[at]) - 1))
    return {
        kind: Labelled(f"{name}/{code}/{kind}", tuple(items), made.topics, code, {})
        for kind, items in (("opinion", opinions), ("attitude", attitudes))
    }


def worlds(count: int = 1000) -> dict[str, Any]:
    """Figures by set and language, of opinions, of attitudes and of both together (`relations`)."""
    return {name: {code: _figures(code, name, count) for code in LANGUAGES} for name in SETS}


def _figures(code: str, name: str, count: int) -> dict[str, Any]:
    sets = labelled(code, name, count)
    row: dict[str, Any] = {kind: evaluate(one) for kind, one in sets.items()}
    items: list[Item] = []
    said: list[int | None] = []
    for one in sets.values():
        extractor = BuiltinExtractor(Cell("labelled", "base", {}, 0, one.topics, language=Language(code=code)))
        items += one.items
        said += predict(extractor, one.items)
    row["relations"] = {
        **scores([item.label for item in items], said),
        "texts": 2 * count,
        "relation_f1_interval": interval(items, said),
    }
    return row


def interval(items: Sequence[Item], said: Sequence[int | None], seed: int = 0) -> list[float]:
    """95 % interval of the relation F1 by a percentile bootstrap over texts: what is read of one text stays together (Efron 1979)."""
    texts = {episode: at for at, episode in enumerate(dict.fromkeys(item.passage.episode for item in items))}
    parts = np.zeros((len(texts), 2))
    for item, label in zip(items, said, strict=True):
        parts[texts[item.passage.episode]] += (2 * (label == item.label), 1 + (label is not None))
    rng = np.random.default_rng(seed)
    sums = np.stack([parts[rng.integers(0, len(parts), len(parts))].sum(axis=0) for _ in range(RESAMPLES)])
    tail = (1 - LEVEL) / 2
    return [round(float(v), 4) for v in np.quantile(sums[:, 0] / sums[:, 1], [tail, 1 - tail])]
