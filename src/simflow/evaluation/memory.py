"""How good a run's memory is: each question class for each arm, with intervals, and whether the graph earns its cost on this scenario."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simflow.evaluation import confidence, reader
from simflow.evaluation.corpus_scores import wilson
from simflow.evaluation.questions import CLASSES, Known, Question, build
from simflow.memory.block import Block
from simflow.memory.facade import MemoryView
from simflow.plan import Memory
from simflow.ports import Embedder
from simflow.store import RunData

ARMS = ("vectors", "graph", "hybrid")
RELATIONAL = ("own_relation", "third_party", "stance_now", "stance_then", "influence")
BUDGETS = (100, 200, 400, 800, 1600)
TARGETS = {
    "topical": 0.75,
    "current": 0.98,
    "own_relation": 0.95,
    "third_party": 0.95,
    "stance_now": 0.90,
    "stance_then": 0.95,
    "influence": 0.65,
    "never_happened": 1.0,
    "leakage": 1.0,
}
"""What the hybrid should reach; `influence` is precision at 5, `current` recall at 8."""


@dataclass(frozen=True, slots=True)
class Result:
    """One question under one arm. score: 0..1. future, secret: episodes in the block that the viewer cannot know.

    alone: the score if only the lines of relations are read, so that what extraction made of the words is seen apart; None where nobody reads.
    """

    question: Question
    arm: str
    score: float
    answered: bool
    tokens: int
    future: int
    secret: int
    alone: float | None = None


def evaluate(
    runs: Sequence[RunData],
    *,
    questions: int = 40,
    seed: int = 0,
    budgets: bool = True,
    embedder: Embedder | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Build the questions of some runs of one scenario and put them to their memories, arm by arm.

    questions: of each class, at most, over all runs together. budgets: also ask a part of them under smaller and larger budgets. Raises NotFound
    for an empty run, and what the facade raises. The result is plain JSON values: figures over all questions, and `runs` with those of each.
    """
    share = -(-questions // len(runs))
    results: list[Result] = []
    parts: list[dict[str, Any]] = []
    spent: Counter[str] = Counter()
    tight: dict[str, dict[str, list[Result]]] = {}
    marks: list[confidence.Mark] = []
    for number, run in enumerate(runs):
        known, view = Known(run), MemoryView(run, embedder=embedder)
        asked = build(known, share, seed)
        found: list[Result] = []
        for done, question in enumerate(asked, 1):
            for arm in ARMS:
                began = time.process_time()
                block = ask(view, question, replace(run.cell.memory, mode=arm, scope=question.scope))  # type: ignore[arg-type]
                spent[arm] += time.process_time() - began  # type: ignore[assignment]
                found.append(judge(question, arm, block, known))
            if progress is not None:
                progress(number * len(asked) + done, len(runs) * len(asked))
        if budgets:
            _ask_tight(view, known, asked, tight, -(-40 // len(runs)))
        marks += confidence.marks(run)
        results += found
        hybrid = {kind: figure(rows) for kind, rows in _by_class(r for r in found if r.arm == "hybrid").items()}
        parts.append({"run": run.record.id, "ticks": run.end, "episodes": len(known.episodes), "n": len(asked), "hybrid": hybrid})
    asked_all = [r.question for r in results if r.arm == "hybrid"]
    report: dict[str, Any] = {
        "runs": parts,
        "episodes": sum(p["episodes"] for p in parts),
        "n": len(asked_all),
        "per_class": dict(Counter(q.kind for q in asked_all)),
        "labels": {kind: dict(Counter(str(q.label) for q in asked_all if q.kind == kind)) for kind in RELATIONAL[:4]},
        "arms": {arm: _arm([r for r in results if r.arm == arm], spent[arm]) for arm in ARMS},
        "beliefs_alone": {kind: _alone([r for r in results if r.arm == "hybrid" and r.question.kind == kind]) for kind in RELATIONAL[:4]},
        "traps": _traps([r for r in results if r.arm == "hybrid"]),
        "budgets": {size: {kind: figure(rows) for kind, rows in row.items()} for size, row in tight.items()},
        "confidence": confidence.report(marks),
    }
    report["targets"] = _targets(report["arms"])
    report["verdict"] = _verdict(results, report["arms"])
    return report


def ask(view: MemoryView, question: Question, memory: Memory) -> Block:
    """The block for a question."""
    return view.recall(question.viewer, question.tick, question.text, memory=memory)


def judge(question: Question, arm: str, block: Block, known: Known) -> Result:
    """Score one block. Anything in it that lies in the future, or that the viewer never witnessed, is counted, whatever the score."""
    shown = {e for line in block.lines if line.kind != "persona" for e in (*line.refs, line.episode) if e is not None}
    shown = {e for e in shown if e in known.episodes}
    future = sum(known.episodes[e]["tick"] >= question.tick for e in shown)
    seen = set(known.witness.seen(question.viewer).before(question.tick).tolist())
    secret = len(shown - seen) if question.scope == "witnessed" else 0
    score, answered = _score(question, block, known)
    alone = None
    if question.label is not None:
        beliefs = replace(block, lines=tuple(line for line in block.lines if line.kind == "relation"))
        alone = float(reader.answer(question, beliefs, known) == question.label)
    return Result(question, arm, score, answered, block.tokens, future, secret, alone)


def _score(question: Question, block: Block, known: Known) -> tuple[float, bool]:
    shown = list(dict.fromkeys(line.episode for line in block.lines if line.episode is not None))
    if question.kind == "topical":
        return float(bool(set(shown) & set(question.gold))), bool(shown)
    if question.kind == "current":
        return len(set(shown) & set(question.gold)) / len(question.gold), bool(shown)
    if question.kind == "influence":
        named = reader.leaders(block, known)
        return len(set(named) & set(question.ranked)) / len(question.ranked), bool(named)
    if question.kind in {"never_happened", "leakage"}:
        claimed = reader.claims_pair(block, known, question.people) or bool(set(shown) & set(question.gold))
        return float(not claimed), True
    said = reader.answer(question, block, known)
    return float(said == question.label), said is not None


def _arm(results: Sequence[Result], seconds: float) -> dict[str, Any]:
    return {
        "classes": {kind: figure(rows) for kind, rows in _by_class(results).items()},
        "future_leaks": sum(r.future for r in results),
        "witness_leaks": sum(r.secret for r in results),
        "tokens": round(sum(r.tokens for r in results) / len(results), 1) if results else 0,
        "cpu_ms": round(1000 * seconds / len(results), 2) if results else 0,
    }


def _by_class(results: Iterable[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        found[result.question.kind].append(result)
    return {kind: found[kind] for kind in CLASSES if kind in found}


def _alone(results: Sequence[Result]) -> dict[str, Any] | None:
    return figure([replace(r, score=r.alone) for r in results if r.alone is not None]) if results else None


def figure(results: Sequence[Result]) -> dict[str, Any]:
    """A share with its Wilson interval, and the share that was answered at all."""
    total = sum(r.score for r in results)
    low, high = wilson(total, len(results))
    return {
        "n": len(results),
        "value": round(total / len(results), 4),
        "interval": [round(low, 4), round(high, 4)],
        "answered": round(sum(r.answered for r in results) / len(results), 4),
    }


def _traps(results: Sequence[Result]) -> dict[str, Any]:
    found: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        for trap in result.question.traps:
            found[trap].append(result)
    return {trap: figure(rows) for trap, rows in sorted(found.items())}


def _ask_tight(view: MemoryView, known: Known, asked: Sequence[Question], found: dict[str, dict[str, list[Result]]], most: int) -> None:
    base = view.cell.memory
    whole = base.persona_tokens + base.relation_tokens + base.episode_tokens
    some = {kind: [q for q in asked if q.kind == kind][:most] for kind in ("topical", "own_relation", "stance_now")}
    for budget in BUDGETS:
        share = budget / whole
        memory = replace(
            base,
            mode="hybrid",
            persona_tokens=int(base.persona_tokens * share),
            relation_tokens=int(base.relation_tokens * share),
            episode_tokens=int(base.episode_tokens * share),
        )
        for kind, questions in some.items():
            judged = [judge(q, "hybrid", ask(view, q, replace(memory, scope=q.scope)), known) for q in questions]  # type: ignore[arg-type]
            if judged:
                found.setdefault(str(budget), {}).setdefault(kind, []).extend(judged)


def _targets(arms: dict[str, Any]) -> dict[str, Any]:
    hybrid = arms["hybrid"]["classes"]
    found = {
        kind: {"target": wanted, "value": hybrid[kind]["value"], "met": hybrid[kind]["value"] >= wanted}
        for kind, wanted in TARGETS.items()
        if kind in hybrid
    }
    for kind in hybrid:
        best = max(arms[arm]["classes"][kind]["value"] for arm in ARMS)
        found.setdefault(kind, {})["below_best_arm"] = round(best - hybrid[kind]["value"], 4)
    leaks = {f"{name}_{arm}": arms[arm][f"{name}_leaks"] for arm in ARMS for name in ("future", "witness")}
    found["leaks"] = {"target": 0, "value": sum(leaks.values()), "met": not any(leaks.values())}
    if "own_relation" in hybrid:
        alone = arms["vectors"]["classes"]["own_relation"]["value"]
        found["vectors_alone_fail"] = {"target": "own_relation < 0.6", "value": alone, "met": alone < 0.6}
    return found


def _verdict(results: Sequence[Result], arms: dict[str, Any]) -> dict[str, Any]:
    """Paired comparison of hybrid and vectors on the relational questions (McNemar, exact), and what the graph costs."""
    scores: dict[str, list[float]] = {arm: [r.score for r in results if r.arm == arm and r.question.kind in RELATIONAL] for arm in ARMS}
    gained = sum(h > v for h, v in zip(scores["hybrid"], scores["vectors"], strict=True))
    lost = sum(h < v for h, v in zip(scores["hybrid"], scores["vectors"], strict=True))
    n = len(scores["hybrid"])
    if not n:
        return {"earns_its_cost": None, "says": "there are no relational questions in this run"}
    failing = 1 - sum(scores["vectors"]) / n
    p = _binomial(gained, lost)
    earns = gained > lost and p < 0.05 and (gained - lost) / n >= 0.02
    chance = f"= {p:.2g}" if p else "< 1e-300"
    more = arms["hybrid"]["tokens"] - arms["vectors"]["tokens"]
    says = (
        f"The graph {'earns' if earns else 'does not earn'} its cost here: of {n} relational questions vectors alone fail {failing:.0%}; "
        f"with the graph {gained} are better and {lost} worse (p {chance}), for {more:+.0f} tokens and "
        f"{arms['hybrid']['cpu_ms'] - arms['vectors']['cpu_ms']:+.1f} ms of CPU a turn."
    )
    return {
        "earns_its_cost": earns,
        "relational": n,
        "vectors_fail": round(failing, 4),
        "gained": gained,
        "lost": lost,
        "p": p,
        "says": says,
    }


def _binomial(gained: int, lost: int) -> float:
    n, k = gained + lost, min(gained, lost)
    if n == 0:
        return 1.0
    return float(min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n))
