"""What a scenario means once names are looked up, times are ticks and shares are counts."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simflow.scenario import check, load


def codes(problems):
    return [p.code for p in problems]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(1, 5000))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_counts_from_shares_sum_to_the_agents_and_are_off_by_less_than_one(tmp_path, weights, agents):
    total = sum(weights)
    personas = ", ".join(f"p{n}: {{share: {w / total!r}}}" for n, w in enumerate(weights))
    path = tmp_path / "s.yaml"
    path.write_text(f"scenario: x\ntopics: {{t: A.}}\npopulation: {{agents: {agents}, personas: {{{personas}}}}}\n")
    cell = load(path).cells[0]
    assert sum(p.count for p in cell.personas) == agents
    assert all(abs(p.count - agents * w / total) < 1 for p, w in zip(cell.personas, weights, strict=True))


def test_a_persona_without_a_share_takes_the_rest(cell):
    made = cell("population: {agents: 100, personas: {a: {share: 25%}, b: {count: 30}, c: {}, d: {}}}\n")
    assert [p.count for p in made.personas] == [25, 30, 23, 22]


def test_rounded_shares_are_a_warning_with_the_count(checked):
    plan, problems = checked("population: {agents: 10, personas: {a: {share: 25%}, b: {share: 75%}}}\n")
    assert plan is not None
    assert codes(problems) == ["SF802", "SF802"]
    assert "2.5" in problems[0].message


def test_react_means_like_and_dislike(cell):
    assert cell("platform: {actions: [post, react]}\n").platform.actions == ("post", "like", "dislike")


def test_activity_by_part_of_day_has_mean_one(cell):
    active = cell("clock: {active: {night: 5%, morning: 40%, day: 60%, evening: 100%}}\n").clock.active
    assert len(active) == 24
    assert sum(active) == pytest.approx(24)
    assert active[3] * 20 == pytest.approx(active[20])


def test_a_post_is_on_the_topic_whose_words_it_has_and_takes_its_voices_stance(cell):
    made = cell(
        "topics: {tariff: {words: [water bill]}, trust: {words: [mayor]}}\n"
        "population: {voices: {council: {stance: {trust: 0.4}}}}\n"
        "events: {a: {at: 1d, post: Your WATER BILL rises.}, b: {at: 1d, by: council, post: The mayor speaks.}, c: {at: 1d, post: Rain.}}\n"
    )
    assert [(e.topic, e.stance) for e in made.events] == [("tariff", None), ("trust", 0.4), ("tariff", None)]


def test_times_follow_the_tick(cell):
    made = cell("clock: {tick: 10min, ticks: 5d}\nextract: {every: 4h}\nevents: {a: {at: 1d, until: 36h, agenda: {times: 2}}}\n")
    assert (made.clock.minutes, made.clock.ticks, made.extract.every) == (10, 720, 24)
    assert (made.events[0].at, made.events[0].until) == (144, 216)


def test_the_scenarios_own_defaults_fit_each_other(checked):
    plan, problems = checked("about: Defaults.\n")
    assert problems == []
    clock, every = plan.cells[0].clock, plan.cells[0].extract.every
    assert clock.window % every == 0
    assert clock.ticks % every == 0
    assert clock.ticks % clock.window == 0


@pytest.mark.parametrize(("window", "every"), [(24, 24), (48, 24), (168, 28), (40, 40), (250, 25), (12, 12), (7, 7), (41, 40)], ids=str)
def test_extraction_keeps_step_with_the_windows_unless_it_is_told_otherwise(cell, checked, window, every):
    part = f"clock: {{ticks: {4 * window}, window: {window}}}\n"
    assert cell(part).extract.every == every
    assert codes(checked(part)[1]) == ([] if window % every == 0 else ["SF805"])
    assert cell(part + "extract: {every: 31}\n").extract.every == 31


def test_an_event_in_the_last_window_is_a_warning_only(checked):
    plan, problems = checked("events: {late: {at: 470, post: A., stance: 0}}\n")
    assert plan is not None
    assert codes(problems) == ["SF803"]


def test_unknown_names_are_each_reported_with_the_nearest(checked):
    _, problems = checked(
        "population: {personas: {pensioner: {}}, voices: {council: {}}}\n"
        "events:\n  a: {at: 1d, by: counsil, post: A.}\n  b: {at: 1d, nudge: {persona: pensionr, by: 0.1}}\n  c: {at: 1d, post: A., topic: tarif}\n"
    )
    assert [(p.code, p.hint) for p in problems] == [
        ("SF404", "did you mean 'council'?"),
        ("SF403", "did you mean 'pensioner'?"),
        ("SF402", "did you mean 'tariff'?"),
    ]


def test_what_the_engine_cannot_do_is_refused_by_name(checked):
    _, problems = checked("language: {code: fr}\n")
    assert codes(problems) == ["SF501"]
    assert "language 'fr'" in problems[0].message


def test_a_persona_that_speaks_through_a_model_makes_one_mixed_engine(cell):
    made = cell("population: {agents: 10, personas: {a: {engine: llm}, b: {}}}\nmodels: {model: gpt-4o-mini}\n")
    assert made.models.engine == "llm"
    assert [p.engine for p in made.personas] == ["llm", "builtin"]


def test_the_examples_of_the_repository_have_no_problem_at_all(root, monkeypatch):
    monkeypatch.delenv("SIMFLOW_CORPORA", raising=False)
    for path in sorted((root / "scenarios").glob("*.yaml")):
        plan, problems = check(path)
        if path.name == "rumour-replay.yaml":
            assert codes(problems)[:1] == ["SF512"]
            continue
        assert plan is not None, "\n".join(p.render() for p in problems)
        assert problems == [], [p.render() for p in problems]


def test_scenarios_in_other_languages_keep_their_words(root):
    plan = load(root / "scenarios/tarif-na-vodu.yaml")
    assert plan.cells[0].topics[0].scale == ("виступає проти", "вагається щодо", "підтримує")
    assert plan.cells[0].topics[0].about == "Підвищення плати за воду на 18% з травня."
    assert load(root / "scenarios/tarifa-agua.yaml").cells[0].checks[1].args["stance"] == "opposes"


def test_the_measures_that_a_check_may_name_are_those_that_are_taken(root):
    from simflow import features
    from simflow.measures.window import window_measures
    from simflow.scenario.keys.events import TRIGGERS
    from simflow.world import timeline
    from simflow.world.builtin import BuiltinEngine

    one = load(root / "scenarios/hello.yaml").cells[0]
    engine = BuiltinEngine(one)
    step = engine.advance(engine.begin(), 0, 48)
    table = window_measures(
        0,
        0,
        48,
        topics=[t.name for t in one.topics],
        agents=step.agents,
        episodes=step.episodes,
        exposures=step.exposures,
        truth=step.truth,
        feed=5,
    )
    rows = table.to_pylist()
    taken = {r["measure"] for r in rows}
    assert taken <= set(features.MEASURES)
    # In two days nobody mutes or leaves, and no engine writes all kinds; everything else must be there.
    assert {m for m in features.MEASURES if not m.startswith("events_")} <= taken
    personas = {p.name for p in one.personas}
    assert {r["measure"] for r in rows if r["group"] in personas} == set(features.BY_PERSONA)
    assert set(TRIGGERS) == set(timeline.MEASURES)


def test_a_check_names_a_measure_that_exists(checked):
    _, problems = checked("checks: [{measure: {name: varance, at_most: 0.4}}, {episodes: {kind: replies, at_least: 1}}]\n")
    assert [p.hint for p in problems] == ["did you mean 'variance'?", "did you mean 'reply'?"]


def test_what_the_engines_cannot_do_together_is_refused_by_name(checked):
    _, problems = checked("population: {personas: {one: {engine: replay}, two: {}}}\n")
    assert [p.code for p in problems] == ["SF501"]
    assert "'replay' and 'builtin' cannot share a world" in problems[0].message


def test_a_trait_may_depend_on_another_and_says_what_is_wrong_where_it_cannot(cell, checked):
    made = cell("population: {personas: {one: {traits: {age: 18..90, income: {given: age, ..34: 20 ± 3, else: 40}}}}}\n")
    income = made.personas[0].traits["income"]
    assert (income.trait, income.cases[0].high, income.cases[0].low) == ("age", 34, None)
    for traits, code, says in (
        ("{a: {given: b, ..3: 1}, b: {given: c, ..3: 1}, c: {given: a, ..3: 1}}", "SF419", "a -> b -> c -> a"),
        ("{a: {given: a, ..3: 1}}", "SF419", "a -> a"),
        ("{home: {flat: 50%, house: 50%}, a: {given: home, flat: 1}}", "SF419", "'home' may be 'house'"),
        ("{home: {flat: 50%, house: 50%}, a: {given: home, flt: 1, else: 2}}", "SF419", "never 'flt'"),
        ("{age: 1..9, a: {given: age, old: 1}}", "SF419", "cases are words"),
        ("{a: {given: nothing, ..3: 1}}", "SF407", "no trait 'nothing'"),
        ("{age: 1..9, a: {given: age}}", "SF305", "needs cases"),
        ("{age: 1..9, a: {given: age, 9..3: 1}}", "SF305", "down to 3"),
    ):
        plan, problems = checked(f"population: {{personas: {{one: {{traits: {traits}}}}}}}\n")
        assert plan is None
        assert [p.code for p in problems] == [code], traits
        assert says in problems[0].message


@pytest.mark.parametrize(
    "folder",
    ["/etc", "../up", "a/../../b", "~/x", "C:\\x", "\\\\host\\x", ".simflow", "a/.simflow/b", '"a\\tb"', '"a\\x00b"', "a\\..\\..\\b"],
)
def test_outputs_cannot_leave_the_project(checked, folder):
    plan, problems = checked(f"outputs: {{folder: {folder}}}\n")
    assert plan is None
    assert codes(problems) == ["SF422"]


def test_outputs_are_tables_by_name_in_a_folder_of_the_project(cell, checked):
    made = cell("outputs: [measures, edges]\n").outputs
    assert (made.tables, made.folder, made.format, made.report) == (("measures", "edges"), "outputs", "csv", True)
    assert cell("outputs: {folder: ./a//b/}\n").outputs.folder == "a/b"
    assert cell("about: None.\n").outputs is None
    _, problems = checked("outputs: [measurs]\n")
    assert problems[0].hint == "did you mean 'measures'?"


def test_the_tables_that_outputs_may_name_are_those_that_there_are():
    from simflow import episode, features

    assert set(features.TABLES) == {*episode.TABLES, "measures"}


def test_entities_have_kinds_that_relations_are_towards(cell, checked):
    made = cell(
        "extract:\n  entities: {place: [harbour, old town], organisation: {about: A., names: {water company: [utility], city hall: }}}\n"
        "  relations: {trust: {on: organisation}, liking: {on: place}}\n"
    )
    assert [(k.name, [(e.name, e.words) for e in k.entities]) for k in made.extract.entities] == [
        ("place", [("harbour", ()), ("old town", ())]),
        ("organisation", [("water company", ("utility",)), ("city hall", ())]),
    ]
    assert [s.name for s in made.subjects] == ["tariff", "harbour", "old town", "water company", "city hall"]
    for part, code in (
        ("{relations: {trust: {on: organistion}}}", "SF420"),
        ("{entities: {place: [tariff]}, relations: {liking: {on: place}}}", "SF421"),
        ("{entities: {place: [harbour], port: [harbour]}, relations: {a: {on: place}, b: {on: port}}}", "SF421"),
        ("{entities: {topic: [harbour]}, relations: {liking: {on: topic}}}", "SF421"),
        ("{entities: {place: []}, relations: {a: {on: place}}}", "SF302"),
        ("{entities: {place: [a, a]}, relations: {a: {on: place}}}", "SF302"),
        ("{entities: {place: [a]}, relations: {a: {on: place, about: topic}}}", "SF414"),
    ):
        _, problems = checked(f"extract: {part}\n")
        assert code in codes(problems), part
    plan, problems = checked("extract: {entities: {place: [harbour]}}\n")
    assert plan is not None
    assert codes(problems) == ["SF808"]


def test_a_relation_that_the_built_in_extractor_cannot_find_is_a_warning(checked):
    relations = "extract: {relations: {opinion: {on: topic}, attitude: {on: agent}, influence: {on: agent}%s}}\n"
    assert not checked(relations % "")[1]
    for kind in ("trust: {on: agent}", "view: {on: topic}"):
        _, problems = checked(relations % f", {kind}")
        assert [(p.code, p.severity) for p in problems] == [("SF814", "warning")]
        assert not checked(relations % f", {kind}" + "models: {extractor: llm, model: small}\n")[1]
    assert codes(checked("extract: {relations: {opinion: {on: agent}}}\n")[1]) == ["SF814"]
    assert not checked("extract: {entities: {place: [harbour]}, relations: {liking: {on: place}}}\n")[1]


def test_a_model_for_residents_who_do_not_speak_through_one_is_a_warning(checked):
    part = "population: {personas: {one: {model: small%s}, two: {}}}\n"
    assert codes(checked(part % "")[1]) == ["SF808"]
    assert not checked(part % ", engine: llm")[1]
    assert not checked(part % "" + "models: {engine: llm, model: small}\n")[1]


def test_a_word_that_means_two_things_is_a_warning(checked):
    _, problems = checked(
        "extract: {entities: {place: {names: {harbour: [Docks]}}}, relations: {liking: {on: place}}}\ntopics: {a: {words: [docks]}, b: {}}\n"
    )
    assert [(p.code, p.message) for p in problems] == [
        ("SF815", "'Docks' means the topic 'a' and the place 'harbour': a text that has it speaks of both")
    ]
    assert codes(checked("topics: {a: {words: [b]}, b: {}}\n")[1]) == ["SF815"]
    assert not checked("topics: {a: {words: [A, x]}, b: {words: [y]}}\n")[1]


def test_wordings_that_equations_cannot_tell_apart_are_a_warning(checked):
    base = "events: {rise: {at: 1d, post: First., stance: 0.2}}\nexperiment: {variants: {a: {}, b: {events.rise.post: Second.}}}\n"
    _, problems = checked(base)
    assert [(p.code, p.span.line) for p in problems] == [("SF813", 4)]
    assert "words alone move nobody" in problems[0].message
    assert not checked(base.replace("Second.", "Second., events.rise.stance: 0.4"))[1]
    assert not checked(base + "models: {engine: llm, model: gpt-4o-mini}\n")[1]


def test_a_post_without_a_stance_is_a_warning_unless_its_author_has_one(checked):
    voices = "population: {voices: {council: {stance: {tariff: 0.5}}, watch: {}}}\n"
    _, problems = checked(
        voices + "events: {a: {at: 1d, by: council, post: A.}, b: {at: 1d, by: watch, post: B.}, c: {at: 1d, post: C.}}\n"
    )
    assert [p.code for p in problems] == ["SF813", "SF813"]
    assert ["'b'" in problems[0].message, "'c'" in problems[1].message] == [True, True]


def test_what_a_platform_does_not_offer_needs_no_settings(checked):
    _, problems = checked("platform: {rates: {report: 10%, like: 20%}, hide_after: 3, groups: {all: {share: 50%}}, trend_span: 2d}\n")
    assert sorted(codes(problems)) == ["SF808"] * 4
    assert not checked("platform: {actions: [post, report, group, trend], hide_after: 3, groups: {all: {share: 50%}}, trend_span: 2d}\n")[1]


def test_groups_have_people_who_exist(checked):
    _, problems = checked(
        "population: {personas: {pensioner: {}}, voices: {council: {}}}\n"
        "platform: {actions: [group], groups: {a: {personas: [pensionr]}, b: {agents: [council]}, c: {agents: [nobody]}}}\n"
    )
    assert codes(problems) == ["SF403", "SF404", "SF404"]
