from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from simflow.cli.eval_corpus import corpus as command
from simflow.errors import BadInput, NotFound
from simflow.evaluation.corpus import read
from simflow.evaluation.corpus_scores import MEASURES, evaluate, wilson


class Letters:
    id = "letters/1"
    dimension = 26

    def embed(self, texts):
        counts = np.array([[t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts], np.float32).reshape(-1, 26)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def folder(tmp_path, episodes, questions):
    for name, rows in (("episodes", episodes), ("questions", questions)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


def talk(n=14, conv="c"):
    words = ["apple", "bridge", "candle", "donkey", "engine", "forest", "guitar"]
    return [
        {
            "id": f"{conv}{i}",
            "conv": conv,
            "tick": i // 4,
            "seq": i,
            "session": i // 4,
            "actor": "Ann" if i % 2 else "Bob",
            "text": f"the {words[i % 7]} {i}",
        }
        for i in range(n)
    ]


def test_the_shape_is_the_agreed_one(tmp_path):
    place = folder(tmp_path, talk(), [{"id": "q", "question": "what about the guitar?", "category": "x", "evidence": ["c6", "c13"]}])
    result = evaluate(read(place), Letters())
    assert (result["n"], result["scope"]) == (1, "conversation")
    assert set(result["arms"]) == {"vector", "lexical", "recency", "graph", "hybrid", "bm25"}
    for arm in result["arms"].values():
        assert set(MEASURES) < set(arm)
        assert set(arm["by_category"]) == {"x"}
        assert arm["recall_at_5"] <= arm["recall_at_10"] <= arm["any_at_10"]
        low, high = arm["intervals"]["recall_at_10"]
        assert 0 <= low <= arm["recall_at_10"] <= high <= 1
    assert result["arms"]["bm25"]["recall_at_10"] == 1
    assert result["arms"]["recency"]["recall_at_5"] == 0.5
    assert result["arms"]["hybrid"]["newest_first"] is None
    assert result["arms"]["hybrid"]["by_category"]["x"]["newest_first"] in (0, 1)


def test_recency_tells_the_newest_first_and_an_old_arm_does_not(tmp_path):
    rows = [{"id": f"e{i}", "tick": i, "text": f"I have {i} cats"} for i in range(12)]
    place = folder(tmp_path, rows, [{"id": "q", "question": "how many cats", "category": "knowledge-update", "evidence": ["e11", "e3"]}])
    arms = evaluate(read(place), Letters())["arms"]
    assert arms["recency"]["newest_first"] == 1
    assert arms["bm25"]["newest_first"] == 0  # twelve equals: the oldest comes first


def test_small_conversations_are_asked_together(tmp_path):
    place = folder(tmp_path, talk(4, "a") + talk(4, "b"), [{"id": "q", "question": "apple", "evidence": ["a0"]}])
    assert read(place).pooled
    assert len(read(place).talks) == 1
    assert len(read(place, pooled=False).talks) == 2
    sessions = {turn.session for turn in read(place).talks[0].turns}
    assert sessions == {"a/0", "b/0"}


def test_what_cannot_be_asked_is_counted(tmp_path):
    questions = [{"id": "q", "question": "apple", "evidence": ["c0", "gone"]}, {"id": "r", "question": "never said", "evidence": []}]
    found = read(folder(tmp_path, [*talk(), {"id": "empty", "text": "", "conv": "c"}], questions))
    assert found.notes == {"evidence that is no episode": 1, "questions without evidence": 1, "episodes without text": 1}
    assert found.questions == 1


@pytest.mark.parametrize(
    ("episodes", "questions", "words"),
    [
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], [], r"episodes.jsonl:2: the id 'a' is used twice"),
        (["{"], [], r"episodes.jsonl:1: not a JSON object"),
        ([{"id": "a"}], [], r"episodes.jsonl:1: needs id and text"),
        (["[]"], [], r"episodes.jsonl:1: needs id and text"),
        ([{"id": "a", "text": "x", "tick": "soon"}], [], r"episodes.jsonl:1: tick and seq are numbers"),
        ([{"id": "a", "text": "x"}], [{"id": "q", "question": "?", "evidence": "a"}], r"questions.jsonl:1: evidence is a list"),
        ([{"id": "a", "text": "x"}], [{"id": "q", "question": "?", "evidence": []}], r"no question with evidence"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path, episodes, questions, words):
    with pytest.raises(BadInput, match=words):
        read(folder(tmp_path, episodes, questions))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(NotFound, match=r"episodes\.jsonl is missing"):
        read(tmp_path)


def test_wilson_is_the_textbook_interval():
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 0) == (0, 1)


def test_the_command_prints_json_and_words(tmp_path, monkeypatch):
    monkeypatch.setattr("simflow.memory.embedders.named", lambda name: Letters())
    place = folder(tmp_path, talk(), [{"id": "q", "question": "guitar", "evidence": ["c6"]}])
    run = CliRunner().invoke(command, [str(place), "--json", "--cache", str(tmp_path / "cache")])
    assert json.loads(run.stdout)["arms"]["hybrid"]["any_at_10"] == 1
    words = CliRunner().invoke(command, [str(place), "--cache", str(tmp_path / "cache")]).stdout
    assert "1 questions, 1 conversations, 14 turns" in words


def test_the_fusion_beats_plain_words_on_a_real_conversation(corpora, tmp_path):
    # One conversation of a published set, with letter counts for vectors: `simflow eval corpus` measures the sets with the sentence model.
    rows = {
        n: [json.loads(line) for line in (corpora / "locomo" / f"{n}.jsonl").read_text("utf-8").splitlines()]
        for n in ("episodes", "questions")
    }
    first = rows["episodes"][0]["conv"]
    place = folder(tmp_path, *([r for r in rows[n] if r["conv"] == first] for n in ("episodes", "questions")))
    arms = evaluate(read(place), Letters())["arms"]
    assert arms["hybrid"]["recall_at_10"] > arms["bm25"]["recall_at_10"] + 0.02
