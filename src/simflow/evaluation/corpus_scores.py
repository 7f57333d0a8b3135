"""Retrieval on a corpus: each arm's ranking against the evidence, beside plain BM25, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simflow.evaluation.corpus import Corpus, Question, Talk
from simflow.llm import evenness
from simflow.memory.fusion import ARMS, Conversation, Weights
from simflow.memory.lexical import Lexicon, plain_terms
from simflow.memory.vectors import embed_texts, readable
from simflow.ports import Embedder, Progress

NEWEST = "knowledge-update"
"""The category whose questions ask for the newest of several statements; `newest_first` of a whole arm is theirs."""
MEASURES = ("recall_at_5", "recall_at_10", "any_at_10", "session_any_at_10", "newest_first")
BASELINE = "bm25"


def evaluate(
    corpus: Corpus,
    embedder: Embedder,
    *,
    cache: Path | None = None,
    weights: Weights | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """`{"n": ..., "arms": {arm: {measure: share, "intervals": {measure: [low, high]}, "by_category": {...}}}}`.

    Shares are means over questions, in 0..1, None where nothing can be said; intervals are Wilson's at 95 %, which for means of shares
    (recall) are on the safe side. The arms are those of `simflow.memory.fusion` and `bm25`: words as they are, k1 1.2, b .75.
    """
    found: dict[str, list[tuple[str, dict[str, float]]]] = {arm: [] for arm in (*ARMS, BASELINE)}
    vectors = _vectors(corpus, embedder, cache, progress)
    done = 0
    for talk in corpus.talks:
        if not talk.questions:
            continue
        for arm, question, ranking in _rankings(talk, vectors, embedder, weights):
            found[arm].append((question.category, _judge(talk, question, ranking)))
        done += len(talk.questions)
        if progress:
            progress("questions", done, corpus.questions)
    return {
        "corpus": corpus.name,
        "n": corpus.questions,
        "scope": "pool" if corpus.pooled else "conversation",
        "conversations": len(corpus.talks),
        "turns": sum(len(t.turns) for t in corpus.talks),
        "notes": corpus.notes,
        "embedder": embedder.id,
        "arms": {arm: _summary(rows) for arm, rows in found.items()},
    }


def _vectors(corpus: Corpus, embedder: Embedder, cache: Path | None, progress: Progress | None) -> Mapping[str, Any]:
    said = [turn.sentence for talk in corpus.talks for turn in talk.turns]
    asked = [question.text for talk in corpus.talks for question in talk.questions]
    texts = list(dict.fromkeys([*said, *asked]))
    return dict(zip(texts, embed_texts(texts, embedder, cache, progress=progress), strict=True))


def _rankings(talk: Talk, vectors: Mapping[str, Any], embedder: Embedder, weights: Weights | None) -> list[tuple[str, Question, list[int]]]:
    turns = talk.turns
    conversation = Conversation(
        [t.text for t in turns],
        [t.actor for t in turns],
        [t.session for t in turns],
        np.array([vectors[t.sentence] for t in turns], np.float32),
        weights=weights,
    )
    plain = Lexicon([plain_terms(t.sentence) for t in turns], b=0.75)
    found = []
    for question in talk.questions:
        arms = conversation.arms(question.text, vectors[question.text], readable(embedder, question.text))
        found += [(arm, question, conversation.best(arms, arm, 10).tolist()) for arm in ARMS]
        scores = plain.scores(plain_terms(question.text))
        found.append((BASELINE, question, np.argsort(-scores, kind="stable")[:10].tolist()))
    return found


def _judge(talk: Talk, question: Question, ranking: Sequence[int]) -> dict[str, float]:
    wanted = set(question.evidence)
    judged = {f"recall_at_{k}": len(wanted & set(ranking[:k])) / len(wanted) for k in (5, 10)}
    judged["any_at_10"] = float(judged["recall_at_10"] > 0)
    sessions = {talk.turns[e].session for e in wanted} - {None}
    if sessions:
        judged["session_any_at_10"] = float(any(talk.turns[row].session in sessions for row in ranking))
    times = {(talk.turns[e].ts, *talk.turns[e].at[:2]) for e in wanted}
    if len(times) > 1:
        first = next((row for row in ranking if row in wanted), None)
        judged["newest_first"] = float(first == max(wanted))
    return judged


def _summary(rows: Sequence[tuple[str, dict[str, float]]]) -> dict[str, Any]:
    def of(keep: Callable[[str], bool]) -> dict[str, Any]:
        kept = [judged for category, judged in rows if keep(category)]
        values = {m: [j[m] for j in kept if m in j] for m in MEASURES}
        return {
            "n": len(kept),
            **{m: round(sum(v) / len(v), 4) if v else None for m, v in values.items()},
            "intervals": {m: list(wilson(sum(v), len(v))) for m, v in values.items() if v},
        }

    whole = of(lambda _: True)
    newest = of(lambda category: category == NEWEST)
    whole["newest_first"] = newest["newest_first"]
    whole["intervals"].pop("newest_first", None)
    if "newest_first" in newest["intervals"]:
        whole["intervals"]["newest_first"] = newest["intervals"]["newest_first"]
    whole["by_category"] = {name: of(lambda category, name=name: category == name) for name in dict.fromkeys(c for c, _ in rows)}  # type: ignore[misc]
    return whole


def wilson(hits: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in 0..1, to four places."""
    low, high = evenness.wilson(hits, n)
    return round(low, 4), round(high, 4)
