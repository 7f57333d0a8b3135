"""The extractor on generated texts in phrases that it was not trained on: the held-out half of the built-in world's language."""

from __future__ import annotations

from typing import Any

from simflow.evaluation.extract import Item, Labelled, evaluate, predict, scores
from simflow.evaluation.extract_train import sample
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.memory.extractors.lexicon import LANGUAGES
from simflow.plan import Cell, Language
from simflow.ports import Passage


def labelled(code: str, split: str, count: int, seed: int = 5) -> dict[str, Labelled]:
    """`opinion` (what posts and answers say of their topic) and `attitude` (how answers take their parent), in one language."""
    made = sample(code, split, count, seed)
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
        kind: Labelled(f"world/{code}/{split}/{kind}", tuple(items), made.topics, code, {})
        for kind, items in (("opinion", opinions), ("attitude", attitudes))
    }


def worlds(count: int = 1000, split: str = "held_out") -> dict[str, Any]:
    """Figures by language, of opinions, of attitudes and of both together (`relations`)."""
    found: dict[str, Any] = {}
    for code in LANGUAGES:
        sets = labelled(code, split, count)
        row: dict[str, Any] = {kind: evaluate(one) for kind, one in sets.items()}
        gold: list[int] = []
        said: list[int | None] = []
        for one in sets.values():
            extractor = BuiltinExtractor(Cell("labelled", "base", {}, 0, one.topics, language=Language(code=code)))
            gold += [item.label for item in one.items]
            said += predict(extractor, one.items)
        row["relations"] = scores(gold, said)
        found[code] = row
    return found
