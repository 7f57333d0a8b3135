"""Classic results, through the engine's own update."""

import dataclasses

import numpy as np
import pytest
from small_worlds import crowd, make_cell, run

from simflow.plan import Clock, Dynamics, Feed, Network, Persona, Platform, Uniform
from simflow.world.draws import GRID, Draws
from simflow.world.opinion import ONE, move
from simflow.world.posts import AUTHOR, COLUMNS, STANCE
from simflow.world.settings import Settings

BOUNDED = Dynamics("bounded_confidence", rate=1.0, anchor=0.0, noise=0.0, contrarians=0.0)


def said(x, author):
    post = np.zeros((len(author), len(COLUMNS)), np.int64)
    post[:, AUTHOR] = author
    post[:, STANCE] = x[author]
    return post


def clusters(x, gap=0.02, share=0.05):
    """Groups of more than a share of the people, on a scale of length 1."""
    x = np.sort(x)
    sizes = np.diff(np.concatenate([[0], np.flatnonzero(np.diff(x) > gap) + 1, [len(x)]]))
    return int((sizes >= share * len(x)).sum())


def deffuant(epsilon, seed, n=2000, sweeps=200):
    """Random pairs meet and go half way if they are closer than epsilon (scale 0..1), as matchings through `move`."""
    draws = Draws([seed])
    society = crowd(2 * draws.unit("start", 0, np.arange(n))[:, None] - 1, confidence=np.full(n, 2 * epsilon))
    start = society.x.sum()
    dynamics = dataclasses.replace(BOUNDED, rate=0.5)
    for sweep in range(sweeps):
        order = np.argsort(draws.bits("meet", sweep, np.arange(n)))
        partner = np.empty(n, np.int64)
        partner[order[::2]], partner[order[1::2]] = order[1::2], order[::2]
        society.x = move(society, dynamics, np.arange(n), np.arange(n), said(society.x[:, 0], partner)).new
    assert society.x.sum() == start  # what one gains the other loses, to the last bit
    return clusters(society.x[:, 0] / (2 * GRID))


@pytest.mark.parametrize("epsilon", [0.5, 0.4, 0.3])
def test_deffuant_ends_in_one_opinion_when_confidence_is_wide(epsilon):
    assert [deffuant(epsilon, seed) for seed in range(5)] == [1] * 5


@pytest.mark.parametrize("epsilon", [0.25, 0.2, 0.125, 0.1, 0.05])
def test_deffuant_ends_in_about_one_over_two_epsilon_opinions(epsilon):
    found = np.mean([deffuant(epsilon, seed) for seed in range(10)])
    assert abs(found - 1 / (2 * epsilon)) <= 0.25 / (2 * epsilon)


def krause(epsilon, seed, n=150, rounds=25):
    """Everybody goes to the mean of those within epsilon (scale 0..1), itself among them."""
    society = crowd(2 * Draws([seed]).unit("start", 0, np.arange(n))[:, None] - 1)
    for _ in range(rounds):
        x = society.x[:, 0]
        reader, author = np.nonzero(np.abs(x[:, None] - x) < 2 * epsilon * GRID)
        society.x = move(society, BOUNDED, np.arange(n), reader, said(x, author)).new
    return clusters(society.x[:, 0] / (2 * GRID))


def test_hegselmann_and_krause_end_in_one_opinion_from_a_quarter_on_and_in_more_below():
    assert [krause(0.25, seed) for seed in range(4)] == [1] * 4
    assert [krause(0.35, seed) for seed in range(4)] == [1] * 4
    assert 1 < np.mean([krause(0.2, seed) for seed in range(6)]) < 2.5
    assert 3 < np.mean([krause(0.1, seed) for seed in range(6)]) < 5


@pytest.mark.parametrize("shape", ["small_world", "preferential", "blocks"])
def test_friedkin_and_johnsen_reach_their_closed_form_through_feed_and_posts(shape):
    """Everybody posts in every tick and reads all followees: x = (I - L W)^-1 (I - L) x0."""
    cell = make_cell(
        agents=60,
        ticks=60,
        topics=("water tariff",),
        dynamics=Dynamics("friedkin_johnsen", noise=0.0),
        platform=Platform(actions=("post",), feed=Feed("chronological", posts=60)),
        network=Network(shape, links=6, homophily_by="persona", homophily_strength=0.5),
        clock=Clock(ticks=60, active=(1.0,) * 24),
    )
    open_minded = tuple(dataclasses.replace(p, susceptibility={"water tariff": Uniform(0.2, 0.6)}) for p in cell.personas)
    state = run(dataclasses.replace(cell, personas=open_minded), settings=Settings(sessions=1e6, busiest=1.0, post=100.0)).state
    n = 60
    weight = np.zeros((n, n))
    for reader, followed in enumerate(state["follows"]):
        for author in followed[followed >= 0]:
            weight[reader, author] = state["authority"][author]
    heard = weight.sum(axis=1) > 0
    weight[heard] /= weight[heard].sum(axis=1, keepdims=True)
    openness = np.diag(np.where(heard, state["susceptibility"][:, 0], 0.0))  # who reads nobody keeps x0
    x0 = state["x0"][:, 0] / GRID
    expected = np.linalg.solve(np.eye(n) - openness @ weight, (np.eye(n) - openness) @ x0)
    found = state["x"][:, 0] / GRID
    assert np.abs(found - expected).max() <= 5e-9
    assert np.abs(found - x0).max() > 0.01


def mixed(dynamics, rounds, n=150, seed=1):
    """Everybody reads 5 random others in each round; the stances after each."""
    draws = Draws([seed])
    society = crowd(2 * draws.unit("start", 0, np.arange(n))[:, None] - 1, confidence=np.full(n, 0.4), rejection=np.full(n, 0.9))
    for tick in range(rounds):
        author = (draws.several_units("read", tick, np.arange(n), 5) * n).astype(np.int64)
        society.x = move(society, dynamics, np.arange(n), np.repeat(np.arange(n), 5), said(society.x[:, 0], author.ravel())).new
        yield society.x[:, 0]


def test_social_judgement_without_repulsion_never_leaves_the_hull_of_opinions():
    low, high = -ONE, ONE
    for x in mixed(dataclasses.replace(BOUNDED, model="social_judgement", rate=0.3), 100):
        assert low <= x.min()
        assert x.max() <= high
        low, high = x.min(), x.max()


def test_social_judgement_with_repulsion_drives_everybody_to_the_ends():
    *_, x = mixed(dataclasses.replace(BOUNDED, model="social_judgement", rate=0.3, repulsion=0.3), 400)
    assert (x / GRID).var() > 0.95


def test_degroot_ends_in_consensus_inside_the_hull():
    *_, x = mixed(dataclasses.replace(BOUNDED, model="degroot", rate=0.5), 200)
    assert np.ptp(x) / GRID < 1e-6


def test_voters_who_copy_somebody_keep_the_mean_on_average():
    """Each takes over the opinion of one other at random: a martingale, and one opinion in the end."""
    n, runs = 30, 150
    ends, agreed = [], 0
    for seed in range(runs):
        draws = Draws([seed])
        society = crowd(np.where(np.arange(n) < 12, 1.0, -1.0)[:, None])
        for tick in range(60):
            author = (draws.unit("copy", tick, np.arange(n)) * n).astype(np.int64)
            dynamics = dataclasses.replace(BOUNDED, model="degroot")
            society.x = move(society, dynamics, np.arange(n), np.arange(n), said(society.x[:, 0], author)).new
        ends.append(society.x.mean() / GRID)
        agreed += abs(ends[-1]) == 1.0
    assert abs(np.mean(ends) - (12 - 18) / 30) < 4 * np.std(ends) / np.sqrt(runs)
    assert agreed > 0.7 * runs


def test_contrarians_move_away():
    society = crowd(np.array([[0.0], [0.4]]), contrarian=np.array([1, 0], np.int8))
    moved = move(society, dataclasses.replace(BOUNDED, rate=0.5), np.array([0]), np.array([0]), said(society.x[:, 0], np.array([1])))
    assert moved.new[0, 0] / GRID == pytest.approx(-0.2)


@pytest.mark.parametrize("model", ["bounded_confidence", "social_judgement", "degroot", "friedkin_johnsen"])
def test_each_change_is_contributions_plus_self_term_plus_clip_exactly(model):
    rng = np.random.default_rng(5)
    n = 40
    society = crowd(rng.uniform(-1, 1, (n, 3)), contrarian=(rng.random(n) < 0.3).astype(np.int8), confidence=rng.uniform(0.2, 1, n))
    society.x0 = crowd(rng.uniform(-1, 1, (n, 3))).x
    society.stubbornness = rng.uniform(0, 0.4, (n, 3))
    who = np.sort(rng.integers(0, n, 300))
    post = said(society.x[:, 0], rng.integers(0, n, 300))
    post[:, 3] = rng.integers(-1, 3, 300)
    moved = move(society, Dynamics(model, rate=0.9, repulsion=0.8, anchor=0.1), np.arange(n), who, post)
    assert (moved.new == society.x + moved.contributions + moved.self_term + moved.clip).all()
    assert np.abs(moved.new).max() <= ONE
    summed = np.zeros_like(moved.contributions)
    on = post[:, 3] >= 0
    np.add.at(summed, (who[on], post[on, 3]), moved.contribution[on])
    assert (summed == moved.contributions).all()
    assert (moved.contribution[~on] == 0).all()


def test_the_order_of_exposures_cannot_matter():
    rng = np.random.default_rng(6)
    society = crowd(rng.uniform(-1, 1, (30, 2)), authority=np.rint(rng.uniform(0.5, 1.5, 30) * 65536) / 65536)
    who, author = rng.integers(0, 30, 500), rng.integers(0, 30, 500)
    one = move(society, BOUNDED, np.arange(30), who, said(society.x[:, 0], author)).new
    order = rng.permutation(500)
    assert (move(society, BOUNDED, np.arange(30), who[order], said(society.x[:, 0], author[order])).new == one).all()


def test_stubbornness_and_susceptibility_differ_by_persona_and_topic():
    cell = make_cell(agents=90, ticks=200, dynamics=Dynamics(rate=0.5, anchor=0.0, contrarians=0.0))
    deaf = dataclasses.replace(cell.personas[0], susceptibility={"water tariff": Uniform(0.0, 0.0)})
    state = run(dataclasses.replace(cell, personas=(deaf, *cell.personas[1:]))).state
    moved = np.abs(state["x"] - state["x0"])[:90] > 0
    assert not moved[:30, 0].any()
    assert moved[:30, 1].mean() > 0.5
    assert moved[30:, 0].mean() > 0.5


def test_without_influence_nobody_moves():
    state = run(make_cell(ticks=120, dynamics=Dynamics(rate=0.0, anchor=0.0))).state
    assert (state["x"] == state["x0"]).all()


def test_alone_in_the_world_one_keeps_one_s_opinion():
    cell = make_cell(agents=3, personas=(Persona("hermit", 1),), ticks=100)
    state = run(cell).state
    assert (state["x"] == state["x0"]).all()
