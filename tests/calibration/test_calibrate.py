"""From data to a fragment that a scenario starts from."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from simflow.cli.calibrate import calibrate as command
from simflow.errors import BadInput
from simflow.evaluation import cascades_data, cascades_engine, opinions_fit
from simflow.evaluation.calibrate import _moments, clipped_normal, movers, reading
from simflow.evaluation.opinions_panels import panels
from simflow.plan import Normal
from simflow.scenario import load
from simflow.world.builtin import BuiltinEngine
from simflow.world.settings import Settings

SCENARIO = """\
scenario: after-the-data
from: fragment.yaml
topics: {water tariff: A plan., "18% more": Another.}
population: {agents: 30, personas: {pensioner: {share: 60%}, renter: {share: 40%}}}
"""


def write_panel(folder, weight=0.4, condition="social", groups=10, size=8, extremes=0.0):
    """extremes: part of the people who keep their answer or take over the others', at the same mean weight."""
    rng = np.random.default_rng(1)
    rows = []
    for g in range(groups):
        first = rng.uniform(10, 90, size)
        for k in range(size):
            own = float(rng.random() < weight) if rng.random() < extremes else weight
            moved = first[k] + own * (np.delete(first, k).mean() - first[k]) + rng.normal(0, 1)
            rows.append({"group": f"g{g}", "condition": condition, "actor": f"@{g}-{k}", "item": "x", "rounds": [first[k], moved]})
    (folder / "panel.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_moments_of_a_clipped_normal_are_those_of_draws():
    draws = np.clip(np.random.default_rng(1).normal(0.3, 0.7, 2_000_000), 0, 1)
    mean, variance = _moments(0.3, 0.7)
    assert mean == pytest.approx(draws.mean(), abs=1e-3)
    assert variance == pytest.approx(draws.var(), abs=1e-3)


@pytest.mark.parametrize(("mean", "variance"), [(0.4, 0.02), (0.4, 0.15), (0.85, 0.04), (0.1, 0.01)])
def test_a_clipped_normal_is_found_for_a_mean_and_a_variance(mean, variance):
    found = _moments(*clipped_normal(mean, variance))
    assert found == pytest.approx((mean, variance), abs=2e-3)


def test_more_variance_than_can_be_gets_the_most():
    mean, variance = _moments(*clipped_normal(0.4, 0.24))
    assert mean == pytest.approx(0.4, abs=2e-3)
    assert 0.12 < variance < 0.24


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.59, 0.85, 0.97])
def test_a_fit_stays_where_a_scenario_accepts_it(mean):
    centre, deviation = clipped_normal(mean, 1.0)
    assert 0.0 <= centre <= 1.0
    assert 0.0 < deviation <= 3.0
    assert _moments(centre, deviation)[0] == pytest.approx(mean, abs=5e-3)


def test_a_scenario_starts_from_what_a_panel_gave(tmp_path):
    write_panel(tmp_path)
    (tmp_path / "fragment.yaml").write_text("{}\n")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO)
    fragment = tmp_path / "fragment.yaml"
    arguments = [str(tmp_path), "-o", str(fragment), "--persona", "pensioner", "--topic", "water tariff", "--topic", "18% more"]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (0, "")
    cell = load(scenario).cells[0]
    assert cell.dynamics.model == "friedkin_johnsen"
    found = cell.personas[0].susceptibility
    assert set(found) == {"water tariff", "18% more"}
    drawn = found["18% more"]
    assert isinstance(drawn, Normal)
    assert _moments(drawn.mean, drawn.sd)[0] == pytest.approx(0.4, abs=0.03)


def test_personas_and_topics_can_come_from_a_scenario(tmp_path):
    write_panel(tmp_path)
    (tmp_path / "fragment.yaml").write_text("{}\n")
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    got = (
        CliRunner()
        .invoke(command, [str(tmp_path / "panel.jsonl"), "--for", str(tmp_path / "scenario.yaml")], catch_exceptions=False)
        .stdout
    )
    (tmp_path / "fragment.yaml").write_text(got)
    cell = load(tmp_path / "scenario.yaml").cells[0]
    assert all(set(p.susceptibility) == {"water tariff", "18% more"} for p in cell.personas)


def test_without_names_or_social_conditions_it_says_what_is_missing(tmp_path):
    write_panel(tmp_path, condition="control")
    with pytest.raises(BadInput, match="whose susceptibility"):
        CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False)
    with pytest.raises(BadInput, match="no condition"):
        movers([])


def test_a_scenario_starts_from_what_cascades_gave(tmp_path, monkeypatch):
    monkeypatch.setattr(cascades_engine, "RESIDENTS", 80)
    for module in (cascades_engine, cascades_data):
        monkeypatch.setattr(module, "MINUTES", (10, 30, 60, 120, 240))
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / "home"))
    data = tmp_path / "data"
    data.mkdir()
    rows = [
        {"id": f"c{c}/{k}", "thread": f"c{c}", "ts": f"2024-03-01T1{k % 3}:{k:02d}:00Z", "parent_id": f"c{c}/0" if k else None}
        for c in range(4)
        for k in range(9)
    ]
    (data / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fragment = tmp_path / "fragment.yaml"
    CliRunner().invoke(command, [str(data), "-o", str(fragment), "--worlds", "2", "--utc-offset", "8"], catch_exceptions=False)
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    cell = load(tmp_path / "scenario.yaml").cells[0]
    assert cell.network.shape == "preferential"
    assert cell.clock.active is not None
    assert np.mean(cell.clock.active) == pytest.approx(1.0, abs=0.01)
    assert int(np.argmax(cell.clock.active)) in {18, 19, 20}  # ten to twelve o'clock, eight hours ahead
    # What was fitted is what the world runs on, and no comment.
    tempers = [cascades_engine.temper(k) for k in range(2)]
    settings = Settings.of(cell)
    found = [t for t in tempers if (t.share, t.links, t.fade) == (settings.repost, cell.network.links, cell.platform.feed.fade)]
    assert len(found) == 1
    assert settings.sessions == pytest.approx(found[0].sessions, rel=1e-4)


PEOPLE = """\
scenario: as-in-the-panel
from: fragment.yaml
topics: {question: What was asked.}
population: {agents: 1500, personas: {people: {share: 100%, stance: {question: -0.9..0.9}}}}
network: {links: 1}
platform: {actions: [post], rates: {post: 100%}, feed: {kind: mix, explore: 100%, recency: 0.001, popularity: 0, affinity: 0, follow: 0, noise: 1}}
dynamics: {noise: 0}
clock: {ticks: 3, tick: 10min, sessions: 130, active: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}
"""


def moved_in_the_world(folder, text=PEOPLE):
    """(slope of the change on the distance to what was read, spread after over before) of those who read once, through the whole engine."""
    scenario = folder / "scenario.yaml"
    scenario.write_text(text)
    cell = load(scenario).cells[0]
    engine = BuiltinEngine(cell)
    step = engine.advance(engine.begin(), 0, 2)  # all write, then all read
    said = dict(zip(step.truth["statements"]["episode"].to_pylist(), step.truth["statements"]["stance"].to_pylist(), strict=True))
    first, last = step.state["x0"][:, 0] / 2**32, step.state["x"][:, 0] / 2**32
    read = {}
    for row in step.exposures.to_pylist():
        read.setdefault(row["reader"], []).append(said[row["episode"]])
    who = np.array(sorted(read))
    distance = np.array([np.mean(read[k]) for k in who.tolist()]) - first[who]
    change = last[who] - first[who]
    return float((change * distance).sum() / (distance**2).sum()), float(last[who].std() / first[who].std()), len(who)


@pytest.mark.parametrize(("weight", "extremes"), [(0.4, 0.0), (0.4, 0.7), (0.15, 0.5)])
def test_a_world_that_starts_from_a_fragment_moves_as_the_panel_did(tmp_path, weight, extremes):
    write_panel(tmp_path, weight, groups=30, extremes=extremes)
    CliRunner().invoke(
        command,
        [str(tmp_path), "-o", str(tmp_path / "fragment.yaml"), "--persona", "people", "--topic", "question"],
        catch_exceptions=False,
    )
    panel = panels(tmp_path)[0]
    slope, spread, readers = moved_in_the_world(tmp_path)
    assert readers > 500
    assert slope == pytest.approx(opinions_fit.slope(panel.last - panel.first, opinions_fit.social_mean(panel) - panel.first), abs=0.06)
    assert spread == pytest.approx(opinions_fit.spread_ratio(panel, panel.last), abs=0.1)


@pytest.mark.parametrize("name", ["opinion_becker2022_delphi", "opinion_clinicians", "opinion_navajas2018"])
def test_a_world_that_starts_from_a_fragment_moves_as_people_did(tmp_path, corpora, name):
    where = str(corpora / name)
    fragment = tmp_path / "fragment.yaml"
    CliRunner().invoke(command, [where, "-o", str(fragment), "--persona", "people", "--topic", "question"], catch_exceptions=False)
    slope, spread, _ = moved_in_the_world(tmp_path)
    social = [panel for panel in panels(corpora / name) if panel.social]
    weight = float(re.search(r"weight ([\d.]+)", fragment.read_text())[1])  # to what they read, as the fragment's comment has it
    assert len(social) == 1
    assert slope == pytest.approx(weight, abs=0.04)
    assert spread == pytest.approx(opinions_fit.spread_ratio(social[0], social[0].last), abs=0.05)


@given(st.floats(0.02, 0.98), st.floats(0.0, 1.0), st.floats(0.2, 1.2))
def test_reading_is_the_best_that_a_plain_search_finds(mean, share, spread):
    posts, variance = reading(mean, share * mean * (1 - mean), spread)
    assert 1 <= posts <= 20
    assert 0.0 <= variance <= mean * (1 - mean) + 1e-12

    def gives(r, v):
        return (1 - mean) ** 2 + v + (mean**2 + v) / r

    low, high = gives(20, 0.0), gives(1, mean * (1 - mean))
    if low <= spread <= high:
        nearest = min(abs(gives(r, share * mean * (1 - mean)) - spread) for r in range(1, 21))
        assert abs(gives(posts, variance) - spread) <= nearest + 1e-9
