"""The engine's cascades against cascades that happened."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from simflow.cli.eval_cascades import cascades as command
from simflow.errors import BadInput
from simflow.evaluation import cascades, cascades_data, cascades_engine
from simflow.evaluation.cascades_data import MINUTES, curve, read


def test_a_curve_counts_shares_levels_and_the_broadest_level():
    parent = np.array([-1, 0, 0, 1, 1, 1, 3])
    minutes = np.array([0.0, 5, 50, 55, 300, 300, 20_000])
    got = curve(parent, minutes)
    assert got.tolist() == [[1, 1, 1], [3, 2, 2], [5, 2, 3], [5, 2, 3], [5, 2, 3]]


def episodes(rng, count=12):
    for c in range(count):
        size = int(rng.integers(5, 60))
        yield {"id": f"c{c}/0", "thread": f"c{c}", "ts": "2024-03-01T12:00:00Z", "parent_id": None}
        for k in range(1, size):
            minute = int(rng.integers(1, 3000))
            yield {
                "id": f"c{c}/{k}",
                "thread": f"c{c}",
                "ts": f"2024-03-{1 + (720 + minute) // 1440:02d}T{(720 + minute) // 60 % 24:02d}:{minute % 60:02d}:00Z",
                "parent_id": f"c{c}/0",
            }


@pytest.fixture
def small_worlds(monkeypatch):
    """Four hours instead of a week, and few residents."""
    monkeypatch.setattr(cascades_engine, "RESIDENTS", 120)
    for module in (cascades_engine, cascades_data):
        monkeypatch.setattr(module, "MINUTES", (10, 30, 60, 120, 240))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in episodes(np.random.default_rng(1))))
    return tmp_path


def test_cascades_are_read_from_episodes(folder):
    found = read(folder)
    assert len(found.ids) == 12
    assert found.curves.shape == (12, len(MINUTES), 3)
    assert (np.diff(found.curves, axis=1) >= 0).all()
    assert np.array_equal(found.curves[:, -1], found.final)
    assert found.hours.sum() == found.final[:, 0].sum() + 12


def test_curves_and_episodes_of_the_same_cascades_agree(corpora):
    real = read(corpora / "weibo_ced")
    rows = [json.loads(line) for line in (corpora / "weibo_ced" / "episodes.jsonl").read_text().splitlines()]
    for name in real.ids[:8]:
        own = [r for r in rows if r["thread"] == name]
        place = {r["id"]: k for k, r in enumerate(own)}
        parent = np.array([place.get(r["parent_id"], -1) for r in own])
        assert curve(parent, np.zeros(len(own)))[0, 1] == real.final[real.ids.index(name), 1]


def test_a_bad_line_is_refused_with_its_place(tmp_path):
    (tmp_path / "cascade_curves.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(BadInput, match=r"cascade_curves.jsonl:1: not a cascade"):
        read(tmp_path)
    with pytest.raises(BadInput, match=r"no cascade_curves.jsonl or episodes.jsonl"):
        read(tmp_path / "nothing")


def test_the_engines_worlds_are_the_same_each_time_and_differ_by_seed(small_worlds, tmp_path):
    one = cascades_engine.library(2, cache=tmp_path)
    assert one.shape == (2 * cascades_engine.POSTS, len(MINUTES), 3)
    assert np.array_equal(one, cascades_engine.library(2, cache=tmp_path))
    assert np.array_equal(one[: cascades_engine.POSTS], cascades_engine.world(0, cascades_engine.temper(0)))
    assert not np.array_equal(one[: cascades_engine.POSTS], one[cascades_engine.POSTS :])
    assert (np.diff(one, axis=1) >= 0).all()
    assert one[:, -1, 0].max() > 1


def test_votes_go_to_the_likest_and_sum_to_one():
    made = np.stack([np.full((5, 3), size) for size in (1.0, 10.0, 10.5, 11.0, 9.5, 10.2, 500.0)])
    got = cascades.weights(made, np.full((4, 5, 3), 10.0))
    assert got.sum() == pytest.approx(1.0)
    assert got[0] == got[-1] == 0.0


def test_a_weighted_quantile_is_the_plain_one_for_equal_weights():
    curves = np.arange(11.0)[:, None, None] * np.ones((1, 2, 3))
    assert (cascades.quantile(curves, np.ones(11), 0.5) == 5.0).all()
    assert (cascades.quantile(curves, np.r_[np.zeros(10), 1.0], 0.5) == 10.0).all()


def test_a_forecast_after_an_hour_keeps_what_was_seen_and_never_shrinks():
    rng = np.random.default_rng(2)
    made = np.cumsum(rng.uniform(0, 50, (60, 5, 3)), axis=1)
    train = np.cumsum(rng.uniform(0, 50, (20, 5, 3)), axis=1)
    got = cascades.warm(made, train, train[:, -1], train[:5, :2])
    assert np.array_equal(got[:, :2], train[:5, :2])
    assert (np.diff(got, axis=1) >= 0).all()


def test_the_command_reports_both_ways(folder, small_worlds):
    arguments = [str(folder), "--worlds", "2", "--cache", str(folder / "cache")]
    report = json.loads(CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert report["cascades"] == 12
    assert set(report["error"]["engine"]) == {"size", "depth", "breadth"}
    assert "mean curve" in CliRunner().invoke(command, arguments, catch_exceptions=False).stdout


def test_too_few_cascades_are_refused(tmp_path):
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in episodes(np.random.default_rng(1), 3)))
    with pytest.raises(BadInput, match="too few"):
        cascades.evaluate(tmp_path, np.ones((20, 5, 3)))
