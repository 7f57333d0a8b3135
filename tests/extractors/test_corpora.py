"""Labelled text that people wrote."""

from __future__ import annotations

import json

import pytest

from simflow.errors import BadInput
from simflow.evaluation.extract import read, scores


@pytest.mark.parametrize("name", ["semeval2016t6", "rumoureval2017", "cmv_modes", "covidpol_ptbr", "cic_es", "cic_ca"])
def test_each_set_is_read_whole(corpora, name):
    found = read(corpora / name)
    assert {i.label for i in found.items} == {-1, 0, 1}
    assert len({i.passage.episode for i in found.items}) == len(found.items)


def test_labels_beside_the_episodes_are_joined(tmp_path):
    (tmp_path / "episodes.jsonl").write_text('{"id": "a", "text": "I support it", "target": "buses", "lang": "en"}\n')
    (tmp_path / "labels.jsonl").write_text('{"id": "a", "labels": {"stance": "favor"}}\n')
    assert [i.label for i in read(tmp_path).items] == [1]


def test_a_bad_line_is_named(tmp_path):
    (tmp_path / "episodes.jsonl").write_text(json.dumps({"id": "a", "text": "x"}) + "\n{broken\n")
    with pytest.raises(BadInput, match=r"episodes\.jsonl:2"):
        read(tmp_path)


def test_scores_by_hand():
    found = scores([1, -1, 0, 1], [1, 1, None, None])
    assert found["sign_accuracy"]["value"] == 0.5
    assert found["coverage"] == 0.5
    assert found["polar_coverage"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["f1_for"] == pytest.approx(0.5)
    assert found["f1_neither"] == pytest.approx(2 / 3, abs=1e-4)


def test_as_of_reads_return_the_stance_valid_at_each_step(corpora, run_switches):
    right, steps, people = run_switches(corpora / "rumoureval2017" / "stance_switches.jsonl")
    assert (right, people) == (people, 71)
    assert steps > people
