"""The engine on panels of people: made ones whose truth is known, and real ones."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner

from simflow.cli.eval_opinions import opinions as command
from simflow.errors import BadInput
from simflow.evaluation.opinions import evaluate
from simflow.evaluation.opinions_engine import Habits, _chat, _peer, draw, forecast
from simflow.evaluation.opinions_fit import fit, folds, slope, social_mean, spread_ratio
from simflow.evaluation.opinions_panels import Panel, Scale, panels


def made(
    *, weight: float = 0.4, groups: int = 12, size: int = 15, rounds: int = 2, condition: str = "social", noise: float = 0.0, seed: int = 3
):
    """A panel of people who move `weight` of the way to the others' mean first answer, with noise on top."""
    rng = np.random.default_rng(seed)
    n = groups * size
    table = np.repeat(np.arange(groups), size)
    blank = Panel(
        "made", condition, np.full((n, rounds), np.nan), np.full(n, np.nan), table, table, np.zeros(n, np.int64), np.zeros(n, np.int64), ("x",),
        np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0),
    )  # fmt: skip
    answers = np.tile(np.clip(rng.normal(0, 1, n), -2.5, 2.5)[:, None], (1, rounds))
    first = dataclasses.replace(blank, answers=answers)
    answers = answers.copy()
    answers[:, -1] = first.first + weight * (first.others() - first.first) + rng.normal(0, noise, n)
    return dataclasses.replace(first, answers=np.clip(answers, -3, 3))


def test_one_round_is_the_weighted_average_that_friedkin_johnsen_says():
    panel = made()
    got = forecast(panel, Habits(np.full((1, 1), 0.4)))
    assert np.allclose(got, panel.last, atol=1e-8)


def test_more_rounds_equal_the_recursion_written_out():
    panel = made(rounds=4, size=6)
    x0 = panel.first
    x = x0.copy()
    for _ in range(3):
        means = np.array([x[(panel.table == t) & (np.arange(len(x)) != i)].mean() for i, t in enumerate(panel.table)])
        x = 0.3 * means + 0.7 * x0
    assert np.allclose(forecast(panel, Habits(np.full((1, 1), 0.3))), x, atol=1e-8)


def test_nobody_moves_in_a_control_condition():
    panel = made(condition="control")
    for habits in (Habits(np.full((1, 1), 0.9)), fit(panel)[0]):
        assert np.allclose(forecast(panel, habits), panel.first, atol=1e-9)
        assert np.allclose(draw(panel, habits, 1), panel.first, atol=1e-9)


def test_a_fit_finds_the_weight_that_made_the_answers():
    panel = made(weight=0.4, noise=0.05, groups=8)
    habits, form = fit(panel)
    assert not form.by_item
    moved = slope(forecast(panel, habits) - panel.first, social_mean(panel) - panel.first)
    assert moved == pytest.approx(0.4, abs=0.02)


def test_drawn_people_move_as_expected_on_average_and_differ():
    panel = made(groups=40)
    habits = Habits(np.full((1, 1), 0.4), all_or_none=1.0, reads=2)
    runs = np.array([draw(panel, habits, seed) for seed in range(60)])
    assert np.abs(runs.mean(axis=0) - forecast(panel, habits)).mean() < 0.09
    assert np.mean(np.isclose(runs[0], panel.first)) == pytest.approx(0.6, abs=0.05)
    assert np.array_equal(runs[3], draw(panel, habits, 3))


def test_spread_is_kept_by_people_who_take_over_one_answer_and_lost_by_people_who_average():
    panel = made(groups=60)
    average = Habits(np.full((1, 1), 0.5))
    assert spread_ratio(panel, draw(panel, average, 1)) == pytest.approx(0.47, abs=0.05)
    assert spread_ratio(panel, draw(panel, dataclasses.replace(average, all_or_none=1.0, reads=1), 1)) == pytest.approx(1.0, abs=0.05)


def test_a_fit_keeps_opinions_as_spread_as_the_people_did():
    panel = made(groups=40)
    kept = np.random.default_rng(1).random(len(panel.table)) < 0.6  # six in ten keep their answer, four take over the mean
    last = np.where(kept, panel.first, panel.others())
    panel = dataclasses.replace(panel, answers=np.stack([panel.first, last], axis=1))
    habits, _ = fit(panel)
    drawn = np.mean([spread_ratio(panel, draw(panel, habits, seed)) for seed in range(10)])
    assert drawn == pytest.approx(spread_ratio(panel, last), abs=0.03)
    assert habits.all_or_none > 0.8


def test_popular_answers_count_more_than_outliers():
    panel = made(groups=1, size=9)
    first = np.r_[np.zeros(8), 2.9]
    panel = dataclasses.replace(panel, answers=np.stack([first, first], axis=1))
    plain, popular = (forecast(panel, Habits(np.full((1, 1), 1.0), popularity=power)) for power in (0.0, 2.0))
    assert 0 < popular[0] < plain[0]


def test_a_peer_is_another_row_of_the_table_in_proportion_to_how_liked_it_is():
    panel = made(groups=2, size=4)
    liked = np.array([1.0, 2.0, 3.0, 4.0] * 2)
    reader = np.repeat(np.arange(8), 20_000)
    peer = _peer(panel, reader, liked, np.random.default_rng(1))
    assert (peer != reader).all()
    assert (panel.table[peer] == panel.table[reader]).all()
    for row in range(8):
        others = [r for r in range(8) if r // 4 == row // 4 and r != row]
        expected = liked[others] / liked[others].sum()
        assert np.allclose(np.bincount(peer[reader == row], minlength=8)[others] / 20_000, expected, atol=0.015)


def test_what_is_said_in_a_chat_reaches_everybody_in_the_table_but_its_writer():
    panel = dataclasses.replace(
        made(groups=2, size=3), said_table=np.array([1, 0, 1]), said_by=np.array([4, -1, 5]), said=np.array([0.1, 0.2, 0.3])
    )
    reader, units = _chat(panel)
    assert sorted(zip(reader.tolist(), units.tolist(), strict=True)) == [
        (0, 0.2),
        (1, 0.2),
        (2, 0.2),
        (3, 0.1),
        (3, 0.3),
        (4, 0.3),
        (5, 0.1),
    ]


def test_every_row_is_held_out_once_and_groups_stay_whole():
    panel = made(groups=7)
    held = list(folds(panel))
    assert np.array_equal(np.sum(held, axis=0), np.ones(len(panel.table)))
    for rows in held:
        assert not set(panel.group[rows]) & set(panel.group[~rows])


def test_skewed_answers_are_measured_in_logs():
    answers = np.exp(np.random.default_rng(1).normal(5, 2, 500))
    assert Scale.of(answers).log
    assert not Scale.of(np.linspace(0, 100, 500)).log
    units = Scale.of(answers).units(np.sort(answers))
    assert (np.diff(units) >= 0).all()
    assert abs(units).max() <= 3


def write(folder, rows, messages=()):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "panel.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if messages:
        (folder / "messages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in messages))


def rows_of(groups=8, size=6, weight=0.5, seed=1):
    rng = np.random.default_rng(seed)
    for g in range(groups):
        first = rng.uniform(10, 90, size)
        for k in range(size):
            others = np.delete(first, k).mean()
            yield {
                "group": f"g{g}",
                "condition": "social",
                "actor": f"@p{g}-{k}",
                "item": "x",
                "rounds": [first[k], first[k] + weight * (others - first[k]) + rng.normal(0, 2)],
            }


def test_panels_are_read_with_what_was_shown_and_said(tmp_path):
    rows = [
        {"group": "g", "condition": "social", "actor": f"@{k}", "item": "x", "rounds": [10.0 * k, None, 5.0], "neighbor_mean": [15.0, 9.0]}
        for k in range(4)
    ]
    rows.append({"group": "g", "condition": "social", "actor": "@9", "item": "x", "rounds": [None, 1.0, 2.0]})
    write(
        tmp_path / "opinion_a",
        rows,
        [{"group": "g", "actor": "@1", "text": "I'd say 12, not 13.5"}, {"group": "h", "actor": "@1", "text": "3"}],
    )
    (panel,) = panels(tmp_path)
    assert (panel.name, panel.rounds, len(panel.table), panel.skipped) == ("a/social", 3, 4, 1)
    assert np.allclose(panel.last, panel.last[0])
    assert np.allclose(panel.shown, 0.0)
    assert panel.said_by.tolist() == [1, 1]
    assert np.allclose(panel.said, (np.array([12, 13.5]) - 15) / np.std([0, 10, 20, 30]))


def test_a_bad_line_is_refused_with_its_place(tmp_path):
    write(tmp_path, [{"group": "g"}])
    with pytest.raises(BadInput, match=r"panel.jsonl:1: no condition, actor"):
        panels(tmp_path)
    (tmp_path / "panel.jsonl").write_text("{\n")
    with pytest.raises(BadInput, match="not JSON"):
        panels(tmp_path)
    with pytest.raises(BadInput, match=r"no panel.jsonl"):
        panels(tmp_path / "nothing")


def test_the_command_reports_both_ways(tmp_path):
    write(tmp_path / "opinion_a", rows_of())
    report = json.loads(CliRunner().invoke(command, [str(tmp_path), "--json"], catch_exceptions=False).stdout)
    (row,) = report["conditions"]
    assert row["error"]["engine"] <= row["error"]["no_change"]
    assert row["weight"]["people"] == pytest.approx(0.5, abs=0.05)
    words = CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False).stdout
    assert "a/social" in words
    assert "error at or below weighted average" in words


@pytest.mark.slow
def test_on_real_panels_the_engine_errs_no_more_than_a_fitted_average_and_keeps_the_spread(corpora):
    report = evaluate(corpora / "opinion_clinicians")
    assert report["holds"] == {"error_at_or_below_weighted_average": True, "still_in_control": True, "spread_within_0.1": True}
