"""Questions with known answers, the reader that answers them, and what is concluded."""

from __future__ import annotations

import ast
import dataclasses

import pytest

from simflow.evaluation import reader
from simflow.evaluation.confidence import Mark
from simflow.evaluation.confidence import marks as marks_of
from simflow.evaluation.confidence import report as report_of
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


def test_forty_questions_a_class_stay_within_what_is_promised(run, words):
    # A small world with vectors from words: what needs the sentence model (topical) is measured on demand.
    report = evaluate([run], questions=40, budgets=False, embedder=words)
    targets = report["targets"]
    assert targets["leaks"]["met"]
    for kind in ("current", "own_relation", "third_party", "stance_now", "stance_then", "never_happened", "leakage"):
        if kind in targets:
            assert report["arms"]["hybrid"]["classes"][kind]["interval"][1] >= targets[kind]["target"], kind
            assert targets[kind]["below_best_arm"] <= 0.02, kind
    assert targets["vectors_alone_fail"]["met"]


def test_several_runs_are_measured_together(run, words):
    one, both = (evaluate([run] * n, questions=6, budgets=False, embedder=words) for n in (1, 2))
    assert [p["n"] for p in both["runs"]] == [both["n"] / 2] * 2
    assert len(one["runs"]) == 1
    assert both["per_class"] == one["per_class"]


def test_confidences_are_compared_with_what_is_right():
    marks = [Mark("opinion, read", 0.9, right=n < 9) for n in range(10)] + [Mark("opinion, read", 0.55, right=n < 2) for n in range(10)]
    row = report_of(marks)["opinion, read"]
    assert [(b["n"], b["right"]) for b in row["bins"]] == [(10, 0.2), (10, 0.9)]
    assert row["calibration_error"] == pytest.approx(0.5 * 0.35)


def test_claims_of_a_run_are_judged_by_its_truth(run):
    found = marks_of(run)
    assert {m.group for m in found} >= {"attitude, by rule", "opinion, read"}
    assert all(0 < m.confidence <= 1 for m in found)


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
