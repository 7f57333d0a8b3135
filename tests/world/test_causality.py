"""What can reach whom, and which way it moves them."""

import dataclasses
import itertools

import numpy as np
import pytest
from small_worlds import make_cell, run

from simflow.plan import Clock, Dynamics, Event, Feed, Network, Persona, Platform, Uniform, Voice
from simflow.world.builtin import BuiltinEngine
from simflow.world.settings import Settings


@pytest.mark.parametrize("place", [0, 1, 10])
def test_silencing_an_agent_changes_nobody_before_a_path_of_exposures_from_it_arrives(place):
    """Residents see their followees alone; one of the more active ones is banned from the start."""
    platform = Platform(feed=Feed("chronological", posts=4), actions=("post", "reply", "repost", "like", "dislike"))
    cell = make_cell(agents=60, ticks=150, platform=platform)
    loud = run(cell)
    agent = int(np.argsort(np.bincount(loud.episodes["actor"].to_numpy(), minlength=60))[::-1][place])
    name = loud.agents["id"].to_pylist()[agent]
    quiet = run(dataclasses.replace(cell, events=(Event("out", "ban", 0, target=name),)))
    author = {e["episode"]: e["actor"] for e in loud.episodes.to_pylist()}
    # Earliest tick at which what the agent did can have reached each other one: seeing anything of somebody reached before.
    reached = {agent: -1}
    for row in sorted(loud.exposures.to_pylist(), key=lambda r: r["tick"]):
        source = author[row["episode"]]
        if source in reached:
            reached.setdefault(row["reader"], row["tick"])

    def history(step, who):
        acts = [(e["tick"], e["kind"], e["episode"], e["text"]) for e in step.episodes.to_pylist() if e["actor"] == who]
        stances = [(s["tick"], s["topic"], s["stance"]) for s in step.truth["stances"].to_pylist() if s["agent"] == who]
        return acts, stances

    for who in range(60):
        if who == agent:
            continue
        limit = reached.get(who, 10**9)
        for one, other in zip(history(loud, who), history(quiet, who), strict=True):
            assert [r for r in one if r[0] < limit] == [r for r in other if r[0] < limit]
    assert len(reached) > 10  # the test is about something: most are reached in the end
    assert any(history(loud, who) != history(quiet, who) for who in range(60) if who != agent)


def campaign(stance, seed):
    events = tuple(
        Event(f"word {k}", "broadcast", 10 + 8 * k, by="city council", text="The tariff.", topic="water tariff", stance=stance)
        for k in range(12)
    )
    personas = (Persona("resident", 90, stance={"water tariff": Uniform(-0.3, 0.3)}),)
    cell = make_cell(
        agents=90,
        ticks=130,
        seed=seed,
        personas=personas,
        voices=(Voice("city council", 0.5),),
        events=events,
        dynamics=Dynamics(confidence=9.0, contrarians=0.0, noise=0.0),
        topics=("water tariff",),
    )
    return run(cell).state["x"][:90, 0].mean()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_stronger_message_does_not_move_people_less(seed):
    ends = [campaign(stance, seed) for stance in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    assert ends == sorted(ends)
    assert ends[-1] - ends[0] > 0.05 * 2**32


def test_more_doses_do_not_move_people_less():
    def ends(doses):
        events = tuple(
            Event(f"w{k}", "broadcast", 5 + 3 * k, by="city council", text="!", topic="water tariff", stance=0.9) for k in range(doses)
        )
        cell = make_cell(
            agents=40,
            ticks=60,
            topics=("water tariff",),
            voices=(Voice("city council"),),
            events=events,
            dynamics=Dynamics(confidence=9.0, contrarians=0.0, anchor=0.0),
            platform=Platform(actions=()),
        )
        return run(cell).state["x"][:40, 0]

    doses = [ends(n) for n in (0, 3, 9, 18)]
    for fewer, more in itertools.pairwise(doses):
        assert (more >= fewer).all()
    assert (doses[-1] > doses[0]).all()


def test_reposts_branch_as_a_branching_process_does():
    """Residents that only repost: a cascade has 1 / (1 - R0) posts on average, R0 = followers x chance of a repost."""
    people, links, chance, roots = 4000, 8, 0.0625, 400
    rate = chance / ((0.3 + 1 / 3) * 0.5)  # full agreement, a stance of 0, one topic: see `react`
    base = make_cell(
        agents=people,
        ticks=40,
        topics=("water tariff",),
        personas=(Persona("reader", people, stance={"water tariff": Uniform(0.0, 0.0)}),),
        network=Network("small_world", links=links, rewire=1.0),
        platform=Platform(actions=("repost",), feed=Feed("chronological", posts=5)),
        dynamics=Dynamics(noise=0.0),
        clock=Clock(ticks=40, active=(1.0,) * 24),
    )
    ids = BuiltinEngine(base)
    names = run(dataclasses.replace(base, clock=Clock(ticks=1))).agents["id"].to_pylist()
    assert ids.needs_recall is False
    events = tuple(Event(f"r{k}", "post", 1 + k % 4, by=names[k * (people // roots)], text="Water.", stance=0.0) for k in range(roots))
    settings = Settings(sessions=1e6, busiest=1.0, repost=rate)
    step = run(dataclasses.replace(base, events=events), settings=settings)
    sizes = np.unique([e["root"] for e in step.episodes.to_pylist()], return_counts=True)[1]
    assert len(sizes) == roots
    expected = 1 / (1 - links * chance)
    assert abs(sizes.mean() - expected) < 4 * sizes.std() / np.sqrt(roots)


@pytest.mark.parametrize("spread", [0.8, 1.6, 2.4])
def test_a_rumour_reaches_the_final_size_of_an_epidemic(spread):
    """SIR: who has shared it once is out. Each of `links` followees passes it on with the same chance, so s = s0 + (1 - s0)(1 - (1 - p s)^links)."""
    people, links, seeds = 4000, 8, 80
    chance = spread / links
    rate = chance / ((0.3 + 1 / 3) * 0.5)  # full agreement, a stance of 0, one topic: see `react`
    cell = make_cell(
        agents=people,
        ticks=60,
        topics=("water tariff",),
        personas=(Persona("reader", people, stance={"water tariff": Uniform(0.0, 0.0)}),),
        network=Network("small_world", links=links, rewire=1.0),
        platform=Platform(actions=("repost",), feed=Feed("chronological", posts=20)),
        dynamics=Dynamics(noise=0.0),
        clock=Clock(ticks=60, active=(1.0,) * 24),
    )
    names = run(dataclasses.replace(cell, clock=Clock(ticks=1))).agents["id"].to_pylist()
    told = [k * (people // seeds) for k in range(seeds)]
    events = tuple(Event(f"r{k}", "post", 1, by=names[k], text="Water.", stance=0.0) for k in told)
    engine = BuiltinEngine(dataclasses.replace(cell, events=events), Settings(sessions=1e6, busiest=1.0, repost=rate, attention=20))
    state, out = engine.begin(), set()
    for tick in range(60):
        step = engine.advance(state, tick, tick + 1)
        state = step.state
        new = set(step.episodes["actor"].to_pylist()) - out
        if tick > 1 and not new:
            break
        state["left"] = state["left"].copy()
        state["left"][sorted(new)] = tick + 1
        out |= new
    else:
        pytest.fail("it should have ended")
    size = first = seeds / people
    for _ in range(1000):
        size = first + (1 - first) * (1 - (1 - chance * size) ** links)
    found = len(out) / people
    # The variance of the final size of a large epidemic is about s(1 - s) / (n (1 - R0 (1 - s))^2), more where it is young.
    slope = chance * links * (1 - size)
    sd = np.sqrt(size * (1 - size) * (1 + spread) / people) / (1 - slope)
    assert abs(found - size) < 4 * sd
    assert sd < 0.06
