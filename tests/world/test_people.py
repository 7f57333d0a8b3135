import dataclasses
import json

import pytest
from small_worlds import make_cell, run

from simflow.errors import BadInput
from simflow.plan import Choice, Clock, Network, Normal, Person, Persona, Topic, Uniform
from simflow.world.builtin import BuiltinEngine
from simflow.world.settings import Settings

PEOPLE = (
    Person(
        "maria",
        "Maria Paz",
        "pensioner",
        "Retired nurse.",
        {"age": 71, "activity": 0.9},
        {"water tariff": -0.8},
        ("tom_b",),
        ("First!", "Second."),
    ),
    Person("tom_b", "Tom B.", "engineer", "", {}, {"water tariff": 1.0}, (), ()),
)


def with_people(**changes):
    return make_cell(**({"people": PEOPLE, "ticks": 150} | changes))


def test_people_of_a_file_are_residents_under_their_own_names():
    cell = with_people()
    step = run(cell)
    rows = {a["id"]: a for a in step.agents.to_pylist()}
    assert (rows["maria"]["name"], rows["maria"]["persona"], rows["maria"]["about"]) == ("Maria Paz", "pensioner", "Retired nurse.")
    assert '"age": 71' in rows["maria"]["traits"]
    counts = [a["persona"] for a in step.agents.to_pylist()]
    for persona in cell.personas:
        assert counts.count(persona.name) == persona.count  # people count towards their persona


def test_people_start_with_their_stances_and_follow_whom_they_name():
    cell = with_people()
    state = BuiltinEngine(cell).begin()
    rows = {a["id"]: a["agent"] for a in run(dataclasses.replace(cell, clock=cell.clock)).agents.to_pylist()}
    assert state["x"][rows["maria"], 0] / 2**32 == pytest.approx(-0.8)
    assert state["x"][rows["tom_b"], 0] == 2**32
    assert rows["tom_b"] in state["follows"][rows["maria"]]


def test_people_say_the_words_that_they_bring_once_each_in_order():
    step = run(with_people(), settings=Settings(post=2.0))
    maria = {a["id"]: a["agent"] for a in step.agents.to_pylist()}["maria"]
    posts = [e["text"] for e in step.episodes.to_pylist() if e["actor"] == maria and e["kind"] == "post"]
    assert posts[:2] == ["First!", "Second."]
    assert posts.count("First!") == 1
    assert len(posts) > 2


def test_an_edge_file_is_the_follow_graph():
    edges = (("maria", "tom_b"), ("tom_b", "maria"), ("3", "maria"), ("3", "4"))
    cell = with_people(network=Network("file", edges=edges), people=tuple(dataclasses.replace(p, follows=()) for p in PEOPLE))
    state = BuiltinEngine(cell).begin()
    found = {(i, int(j)) for i, row in enumerate(state["follows"]) for j in row if j >= 0}
    assert found == {(0, 1), (1, 0), (3, 0), (3, 4)}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"people": (dataclasses.replace(PEOPLE[0], persona="baker", follows=()),)}, "baker"),
        ({"people": (dataclasses.replace(PEOPLE[0], follows=("nobody",)),)}, "nobody"),
        ({"network": Network("file", edges=(("maria", "x"),))}, "'x'"),
        ({"network": Network(homophily_by="shoe size", homophily_strength=0.5)}, "shoe size"),
        ({"topics": ()}, "topic"),
        ({"personas": (), "people": ()}, "residents"),
    ],
)
def test_people_that_cannot_be_are_an_error_that_names_them(changes, says):
    cell = dataclasses.replace(with_people(), **changes)
    with pytest.raises(BadInput, match=says):
        BuiltinEngine(cell).begin()


def test_two_agents_of_one_name_are_an_error():
    twins = (PEOPLE[1], dataclasses.replace(PEOPLE[1], name="Another"))
    with pytest.raises(BadInput, match="tom_b"):
        run(with_people(people=twins))


def test_another_topic_changes_no_stance_on_the_first():
    """Draws are keyed by the topic's name, so that variants that add one can be compared."""
    cell = with_people()
    more = dataclasses.replace(cell, topics=(Topic("parking"), *cell.topics))
    one, other = BuiltinEngine(cell).begin(), BuiltinEngine(more).begin()
    assert (one["x"] == other["x"][:, 1:]).all()


def test_a_larger_persona_keeps_those_who_were_there():
    small = make_cell(personas=(Persona("a", 50, stance={"water tariff": Normal(0, 0.5)}),))
    large = make_cell(personas=(Persona("a", 80, stance={"water tariff": Normal(0, 0.5)}),))
    one, other = BuiltinEngine(small).begin(), BuiltinEngine(large).begin()
    for name in ("x", "activity", "susceptibility", "confidence"):
        assert (one[name] == other[name][:50]).all()


@pytest.mark.parametrize("code", ["en", "pt", "es", "uk"])
def test_each_language_has_names_and_words(code):
    step = run(make_cell(ticks=40, language=dataclasses.replace(make_cell().language, code=code)))
    assert all(a["id"].isascii() for a in step.agents.to_pylist())
    assert {e["lang"] for e in step.episodes.to_pylist()} == {code, None}


def test_people_s_own_words_are_about_what_they_name():
    person = dataclasses.replace(PEOPLE[0], posts=("I trust the council.", "The water tariff hurts."), follows=())
    step = run(with_people(people=(person,)), settings=Settings(post=2.0))
    topic = {s["episode"]: s["topic"] for s in step.truth["statements"].to_pylist()}
    found = {e["text"]: topic[e["episode"]] for e in step.episodes.to_pylist() if e["text"] in person.posts and e["kind"] == "post"}
    assert found == {"I trust the council.": 1, "The water tariff hurts.": 0}


def test_homophily_goes_by_a_trait_of_text_or_number():
    old = Persona("old", 60, traits={"age": Uniform(60, 90), "district": Choice((("harbour", 0.5), ("old town", 0.5)))})
    young = Persona("young", 60, traits={"age": Uniform(20, 40), "district": Choice((("harbour", 0.5), ("old town", 0.5)))})
    for trait in ("age", "district"):
        cell = make_cell(personas=(old, young), network=Network(links=6, homophily_by=trait, homophily_strength=1.0))
        rows = [json.loads(a["traits"])[trait] for a in run(dataclasses.replace(cell, clock=Clock(ticks=1))).agents.to_pylist()]
        state = BuiltinEngine(cell).begin()
        pairs = [(rows[i], rows[int(j)]) for i, row in enumerate(state["follows"]) for j in row if j >= 0]
        assert pairs
        if trait == "district":
            assert all(a == b for a, b in pairs)
        else:
            assert all((a < 50) == (b < 50) for a, b in pairs)
