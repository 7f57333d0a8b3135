"""`from:`, variables, variants, sweeps, repeats."""

from __future__ import annotations

import pytest

from simflow.scenario import check, load
from simflow.scenario.problems import Problems


def codes(problems):
    return [(p.code, p.span.line if p.span else None) for p in problems]


def test_maps_merge_lists_replace_and_null_removes(tmp_path):
    (tmp_path / "below.yaml").write_text(
        "network: {links: 4, rewire: 20%}\nplatform: {actions: [post, reply]}\nowner: them\n"
        "population: {personas: {one: {voice: a}, two: {voice: b}}}\n"
    )
    (tmp_path / "top.yaml").write_text(
        "scenario: x\nfrom: below.yaml\ntopics: {t: A.}\nnetwork: {links: 6}\nplatform: {actions: [post]}\nowner: null\n"
        "population: {personas: {two: null, three: {voice: c}}}\n"
    )
    cell = load(tmp_path / "top.yaml").cells[0]
    assert (cell.network.links, cell.network.rewire, cell.platform.actions, cell.owner) == (6, 0.2, ("post",), None)
    assert [p.name for p in cell.personas] == ["one", "three"]


def test_later_files_of_a_list_win_and_paths_are_relative_to_the_file_that_names_them(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.yaml").write_text("from: b.yaml\nnetwork: {links: 3}\n")
    (tmp_path / "sub/b.yaml").write_text("network: {links: 2, rewire: 50%}\nowner: b\n")
    (tmp_path / "c.yaml").write_text("owner: c\n")
    (tmp_path / "top.yaml").write_text("scenario: x\ntopics: {t: A.}\nfrom: [sub/a.yaml, c.yaml]\n")
    cell = load(tmp_path / "top.yaml").cells[0]
    assert (cell.network.links, cell.network.rewire, cell.owner) == (3, 0.5, "c")


def test_a_problem_in_a_file_below_stands_in_that_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below.yaml").write_text("network:\n  lniks: 4\n")
    (tmp_path / "top.yaml").write_text("scenario: x\nfrom: below.yaml\ntopics: {t: A.}\n")
    _, problems = check("top.yaml")
    assert [p.place for p in problems] == ["below.yaml:2:3"]


def test_a_missing_file_and_a_circle_stand_at_the_key_that_names_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.yaml").write_text("from: top.yaml\n")
    (tmp_path / "top.yaml").write_text("scenario: x\ntopics: {t: A.}\nfrom: [none.yaml, b.yaml]\n")
    _, problems = check("top.yaml")
    assert {(p.code, p.place) for p in problems} == {("SF101", "top.yaml:3:8"), ("SF201", "b.yaml:1:7")}


def test_variables_fill_texts_and_keep_their_kind(checked):
    for quoted in ("{agents: '${n}'}", "\n  agents: ${n}"):
        plan, problems = checked(
            f"vars: {{n: 40, rise: 18%, said: 'up ${{rise}}'}}\npopulation: {quoted}\nabout: Bills ${{said}}, $${{n}} in all.\n"
        )
        assert not problems
        assert plan.cells[0].about == "Bills up 18%, ${n} in all."
        assert sum(p.count for p in plan.cells[0].personas) == 40


def test_variables_are_filled_after_variants(checked):
    plan, _ = checked("vars: {rise: 18%}\nabout: Up ${rise}.\nexperiment: {variants: {low: {}, high: {vars.rise: 30%}}}\n")
    assert [c.about for c in plan.cells] == ["Up 18%.", "Up 30%."]


def test_a_variable_cannot_be_made_from_itself(checked):
    _, problems = checked("vars: {a: '${b}', b: '${a}'}\nabout: ${a}\n")
    assert {p.code for p in problems} == {"SF203"}


def test_text_that_comes_from_a_variable_is_not_filled_again(checked):
    plan, _ = checked("vars: {a: '$${b}'}\nabout: Say ${a}.\n")
    assert plan.cells[0].about == "Say ${b}."


EVENTS = "events: {rise: {at: 1d, post: First.}, end: {at: 5d, nudge: {by: 0.1}}}\n"


def test_what_a_variant_would_remove_and_is_not_there_has_the_nearest_name_as_hint(checked):
    part = "events: {announcement: {at: 1d, post: Bills rise., stance: 0}}\nexperiment: {variants: {a: {}, b: {events.%s: null}}}\n"
    _, problems = checked(part % "anouncement")
    assert [(p.code, p.severity, p.hint) for p in problems] == [("SF806", "warning", "did you mean 'announcement'?")]
    _, problems = checked(part % "other")
    assert [p.hint for p in problems] == ["give it a value, or take the line out"]
    assert not checked(part % "announcement")[1]


def test_dotted_keys_reach_events_and_null_removes_them(checked):
    events = EVENTS.replace("First.", "First., stance: 0.5")
    plan, problems = checked(
        events
        + "experiment:\n  variants:\n    base: {}\n    other: {events.rise.post: Second., events.rise.stance: 0.1}\n    quiet: {events.end: null}\n"
    )
    assert not problems
    assert [[e.name for e in c.events] for c in plan.cells] == [["rise", "end"], ["rise", "end"], ["rise"]]
    assert plan.cells[1].events[0].text == "Second."


def test_a_dotted_key_that_does_not_exist_is_an_error_at_its_line(checked):
    _, problems = checked("experiment:\n  variants:\n    a:\n      network.lniks: 4\n")
    assert codes(problems) == [("SF301", 6)]
    assert "links" in problems[0].hint


def test_every_cell_is_validated_not_only_the_first(checked):
    _, problems = checked("experiment:\n  variants: {fine: {}, broken: {network.rewire: 3}}\n  sweep: {network.links: [4, -1]}\n")
    assert sorted(codes(problems)) == [("SF303", 4), ("SF303", 5)]


def test_cells_are_variants_times_sweep_values_times_seeds(checked):
    plan, _ = checked(
        "experiment: {seed: 7, repeats: 2, variants: {a: {}, b: {network.links: 4}}, sweep: {network.rewire: [0.1, 0.2], clock.ticks: [120, 240]}}\n"
    )
    assert len(plan.cells) == 2 * 2 * 2 * 2
    assert len({c.name for c in plan.cells}) == 16
    assert {c.seed for c in plan.cells} == {7, 8}
    assert {(c.network.rewire, c.clock.ticks) for c in plan.cells} == {(0.1, 120), (0.1, 240), (0.2, 120), (0.2, 240)}


def test_opposite_signs_have_different_names(checked):
    plan, _ = checked(
        "dynamics: {model: social_judgement}\nevents: {e: {at: 1d, nudge: {by: 0.1}}}\nexperiment: {sweep: {events.e.nudge.by: [-0.2, 0.2]}}\n"
    )
    assert len({c.name for c in plan.cells}) == 2


def test_names_with_dots_can_be_reached(checked):
    plan, _ = checked("events: {v1.2: {at: 1d, post: A.}}\nexperiment: {variants: {b: {events.v1.2.post: B.}}}\n")
    assert plan.cells[0].events[0].text == "B."


def test_load_raises_all_problems_at_once(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("scenario: x\ntopics: {t: A.}\nnetwork: {lniks: 4}\nclock: {windw: 3}\npopulation: {agents: many}\n")
    with pytest.raises(Problems) as caught:
        load(path)
    assert [p.span.line for p in caught.value.problems if p.severity == "error"] == [3, 4, 5]
    assert caught.value.exit_code == 2
