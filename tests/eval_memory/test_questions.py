"""Questions with known answers, the reader that answers them, and what is concluded."""

from __future__ import annotations

import ast
import dataclasses

import pytest

from simflow.evaluation import reader
from simflow.evaluation.memory import _binomial, ask, evaluate, judge
from simflow.evaluation.questions import CLASSES, Deal, Known, Question, build, verdict
from simflow.memory.block import Block
from simflow.memory.budget import Line
from simflow.memory.facade import MemoryView


@pytest.fixture(scope="module")
def known(run):
    return Known(run)


@pytest.fixture(scope="module")
def asked(known):
    return build(known, 12, 1)


def block(*lines):
    return Block(0, 100, "", "", 0, 0, tuple(lines), (), {}, {}, {})


def test_most_classes_are_found_in_a_small_run(asked):
    assert {q.kind for q in asked} >= set(CLASSES) - {"stance_now", "stance_then"}


def test_the_same_seed_asks_the_same_questions(known, asked):
    assert build(known, 12, 1) == asked
    assert build(known, 12, 2) != asked


def test_gold_episodes_were_witnessed_before_the_question(known, asked):
    for question in asked:
        if question.kind in {"topical", "current", "stance_now", "stance_then"}:
            seen = set(known.witness.seen(question.viewer).before(question.tick).tolist())
            assert set(question.gold) <= seen


def test_leakage_questions_are_about_what_the_viewer_never_saw(known, asked):
    for question in asked:
        if question.kind == "leakage":
            assert not set(question.gold) & set(known.witness.seen(question.viewer).before(question.tick).tolist())


def test_no_arm_shows_the_future_or_what_was_not_witnessed(run, known, asked, words):
    view = MemoryView(run, embedder=words)
    for question in asked:
        for mode in ("vectors", "graph", "hybrid"):
            memory = dataclasses.replace(run.cell.memory, mode=mode, scope=question.scope)
            result = judge(question, mode, ask(view, question, memory), known)
            assert (result.future, result.secret) == (0, 0), question


def test_a_leak_would_be_counted(known, asked):
    question = next(q for q in asked if q.kind == "leakage")
    secret = question.gold[0]
    result = judge(question, "hybrid", block(Line("episode", "told", 1.0, (0.0,), episode=secret)), known)
    assert result.secret == 1
    assert result.score == 0
    late = next(e for e, row in known.episodes.items() if row["tick"] >= question.tick)
    assert judge(question, "hybrid", block(Line("relation", "x", 1.0, (0.0,), refs=(late,))), known).future == 1


def test_the_graph_answers_what_vectors_cannot(run, words):
    report = evaluate([run], questions=12, budgets=True, embedder=words)
    own = {arm: report["arms"][arm]["classes"]["own_relation"]["value"] for arm in report["arms"]}
    assert own["hybrid"] > own["vectors"]
    assert report["targets"]["leaks"]["met"]
    assert report["verdict"]["relational"] > 0
    assert set(report["budgets"]) == {"100", "200", "400", "800", "1600"}


def test_a_relation_needs_three_dealings_that_point_one_way():
    assert verdict([Deal(1, 1, 1), Deal(2, 1, 2)], 10) is None
    assert verdict([Deal(1, 1, 1), Deal(2, 1, 2), Deal(3, 1, 3)], 10) == 1
    assert verdict([Deal(1, -1, 1), Deal(2, 1, 2), Deal(3, -1, 3), Deal(4, 1, 4)], 10) is None


def test_the_reader_reads_facts_as_words(known):
    a, b = known.residents[:2]
    names = f"@{known.ids[a]}", f"@{known.ids[b]}"
    line = Line("relation", f"{names[0]} disagrees with {names[1]} about night buses since tick 3 (4 times, last at tick 40)", 1.0, (0.0,))
    assert reader.answer(Question("third_party", 5, 90, "", (a, b)), block(line), known) == -1
    assert reader.answer(Question("third_party", 5, 90, "", (b, a)), block(line), known) is None
    stance = Line(
        "relation", f"{names[0]} supports water tariff since tick 50 (once at tick 50); opposed it from tick 3 until tick 50", 1.0, (0.0,)
    )
    assert reader.answer(Question("stance_now", 5, 90, "", (a,), 0), block(stance), known) == 1
    assert reader.answer(Question("stance_then", 5, 90, "", (a,), 0, at=20), block(stance), known) == -1
    assert reader.answer(Question("stance_then", 5, 90, "", (a,), 0, at=2), block(stance), known) is None


def test_exact_mcnemar():
    assert _binomial(0, 0) == 1.0
    assert _binomial(10, 0) == pytest.approx(2 / 1024)


def test_only_evaluation_and_measures_read_truth(root):
    offenders = []
    for path in (root / "src" / "simflow").rglob("*.py"):
        if path.relative_to(root / "src" / "simflow").parts[0] in {"evaluation", "measures", "store"}:
            continue
        calls = (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
        offenders += [f"{path.relative_to(root)}:{n.lineno}" for n in calls if n.func.attr == "truth"]
    assert offenders == []
