"""People files of other tools, as their users have them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.plan import Person
from simflow.scenario.people import cells, read_people, write_people
from simflow.scenario.people.gather import persons
from simflow.scenario.people.records import Record, Records, read_csv, read_json, read_jsonl
from simflow.scenario.problems import Unreadable

text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)


def of(rows: list[dict], **options):
    columns = list(dict.fromkeys(c for r in rows for c in r))
    return persons(
        Records([Record(n, r) for n, r in enumerate(rows, 1)], columns=columns), "auto", options.get("columns", {}), options.get("persona")
    )


# ------------------------------------------------------------------------------------------------- nothing is lost, nothing runs


@given(st.lists(st.fixed_dictionaries({"name": text, "about": text, "posts": st.lists(text, max_size=3)}), min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_back_the_same(rows):
    first = of(rows).people
    assert persons(read_jsonl(write_people(first), "x"), "auto", {}, None).people == first
    assert [(p.name, p.about, list(p.posts)) for p in first] == [(r["name"], r["about"], r["posts"]) for r in rows]


@given(st.lists(text, min_size=1, max_size=8))
def test_everybody_has_an_id_of_their_own_that_can_stand_after_an_at_sign(names):
    ids = [p.id for p in of([{"name": n} for n in names]).people]
    assert len({i.casefold() for i in ids}) == len(names)
    assert all(i and not any(c.isspace() or c == "@" for c in i) for i in ids)


@pytest.mark.parametrize(
    "cell",
    [
        "__import__('os').system('touch /tmp/simflow-was-here')",
        "[__import__('os')]",
        "[open('/etc/passwd')]",
        "[1, 2",
        "[" * 10_000,
        "('a', 'b')",
        "['a', \"b\"]",
        "[1, 2]",
    ],
)
def test_list_literals_are_parsed_and_nothing_is_evaluated(cell, tmp_path):
    found = cells.items(cell)
    assert all(isinstance(i, str | int | list) for i in found)
    assert "posix" not in repr(found)


def test_list_literals_of_python_and_json_are_lists():
    assert cells.items("['a', \"it's\"]") == ["a", "it's"]
    assert cells.items("[1, 2]") == [1, 2]
    assert cells.items("nan") == []
    assert cells.texts("[hello] he said [") == ["[hello] he said ["]


def test_people_are_joined_by_name_and_never_by_place():
    rows = [{"name": "Ann", "follows": ["bea", "@CID", "nobody"]}, {"name": "Cid"}, {"name": "Bea", "follows": ["Ann"]}]
    found = of(rows)
    assert [(p.id, p.follows) for p in found.people] == [("Ann", ("Bea", "Cid")), ("Cid", ()), ("Bea", ("Ann",))]
    assert [(p.id, p.follows) for p in of(rows[::-1]).people] == [("Bea", ("Ann",)), ("Cid", ()), ("Ann", ("Bea", "Cid"))]
    assert found.notes["references to somebody who is not in the file, left out"] == 1


def test_numbers_of_other_rows_are_resolved_through_the_column_that_numbers_them():
    rows = [
        {"": "7", "username": "ann", "user_char": "A.", "following_agentid_list": "[9, 8]"},
        {"": "8", "username": "bea", "user_char": "B.", "following_agentid_list": "[7]"},
        {"": "9", "username": "cid", "user_char": "C.", "following_agentid_list": "[]"},
    ]
    expected = {"ann": ("cid", "bea"), "bea": ("ann",), "cid": ()}
    for order in (rows, rows[::-1]):
        assert {p.id: p.follows for p in of(order).people} == expected


def test_without_such_a_column_numbers_mean_nobody():
    found = of([{"username": "ann", "user_char": "A.", "following_agentid_list": "[0, 1]"}])
    assert found.people[0].follows == ()
    assert found.notes["references to somebody who is not in the file, left out"] == 2


def test_columns_that_become_nothing_are_reported_with_the_reason():
    found = of([{"name": "Ann", "Unnamed: 0": 0, "spatial": {"a": 1}, "novel": "x" * 500, "age": 40, "empty": ""}])
    assert set(found.dropped) == {"Unnamed: 0", "spatial", "novel", "empty"}
    assert found.people == [Person("Ann", "Ann", "", "", {"age": 40.0})]


# ------------------------------------------------------------------------------------------------------------------ formats


def test_the_separator_is_the_one_that_the_first_line_has():
    for sign in ",;\t|":
        rows = read_csv(f"name{sign}age\nAnn{sign}4\n", "x").rows
        assert [r.data for r in rows] == [{"name": "Ann", "age": "4"}]


def test_cells_may_hold_separators_quotes_and_line_breaks():
    rows = read_csv('name,bio\nAnn,"says ""hi"",\nthen goes"\nBea,x\n', "x").rows
    assert rows[0].data["bio"] == 'says "hi",\nthen goes'
    assert [r.line for r in rows] == [2, 4]


@pytest.mark.parametrize(
    ("content", "read", "line"),
    [
        ("a,b\n1,2\n1,2,3\n", read_csv, 3),
        ('[{"a": 1},\n {"a": NaN}]', read_json, 2),
        ('[{"a": 1},\n {"a" 2}]', read_json, 2),
        ('{"a": 1}\n\n{"a": }\n', read_jsonl, 3),
        ("[" * 100_000, read_json, 1),
        ('{"a": ' + "9" * 10_000 + "}", read_json, 1),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused_with_its_line(content, read, line):
    with pytest.raises(Unreadable) as caught:
        read(content, "x")
    assert caught.value.problem.span.line == line
    assert caught.value.problem.render()


@given(st.binary(max_size=60))
@settings(max_examples=150, deadline=None)
def test_no_bytes_crash_a_reader(raw):
    for read in (read_csv, read_json, read_jsonl):
        try:
            persons(read(raw.decode("utf-8", "replace"), "x"), "auto", {}, None)
        except Unreadable as error:
            error.problem.render()


def test_other_encodings_are_read_when_they_are_declared(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes("name\nZoë\n".encode("cp1252"))
    with pytest.raises(Unreadable, match="UTF-8"):
        read_people(path)
    assert read_people(path, encoding="cp1252").people[0].name == "Zoë"


# -------------------------------------------------------------------------------------------------------- the scenario's side


def test_people_count_among_their_persona(cell):
    made = cell(
        "population: {people: people.csv, agents: 10, personas: {one: {share: 50%}, two: {share: 50%}}}\n",
        people__csv="name,persona,stance:tariff\nAnn,one,0.5\nBea,two,-0.25\n",
    )
    assert [(p.name, p.persona, p.stance) for p in made.people] == [("Ann", "one", {"tariff": 0.5}), ("Bea", "two", {"tariff": -0.25})]
    assert [p.count for p in made.personas] == [5, 5]


def test_without_agents_the_file_says_how_many_there_are(cell):
    made = cell("population: {people: people.csv}\n", people__csv="name\nAnn\nBea\n")
    assert [(p.name, p.count) for p in made.personas] == [("resident", 2)]


def test_events_and_questions_can_name_people(cell):
    made = cell(
        "population: {people: people.csv}\nevents: {a: {at: 1d, by: Ann, post: Hello.}}\nask: {q: {who: [Bea], question: Why?}}\n",
        people__csv="name\nAnn\nBea\n",
    )
    assert made.events[0].by == "Ann"
    assert made.ask[0].agents == ("Bea",)


# -------------------------------------------------------------------------------------------------------- files of other tools

EXPECTED = {
    "oasis/twitter_False_Business_0.csv": ("oasis", 111),
    "oasis/twitter_197_progressive.csv": ("oasis", 196),
    "oasis/twitter_197_conservative.csv": ("oasis", 196),
    "oasis/twitter_user_all_id_time.csv": ("oasis", 111),
    "oasis/user_data_36.json": ("oasis", 36),
    "agentsociety/profiles_with_aoi_first300.json": ("agentsociety", 300),
    "tinytroupe": ("tinytroupe", 18),
    "genagents": ("genagents", 18),
    "smallville": ("smallville", 3),
    "generativeagents_cn": ("smallville", 25),
    "eleitores_df_ptbr/banco-eleitores-df_400.json": ("plain", 400),
    "eleitores_df_ptbr/banco-eleitores-df_pre_correcao_120.json": ("plain", 120),
    "mirofish_intercom/persona_templates.json": ("plain", 4),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_persona_files_become_people_without_edits(corpora, name):
    found = read_people(corpora / "tool_inputs" / name)
    assert (found.tool, len(found.people)) == EXPECTED[name]
    assert all(p.id for p in found.people)
    assert len({p.id.casefold() for p in found.people}) == len(found.people)
    assert persons(read_jsonl(write_people(found.people), "x"), "auto", {}, None).people == found.people


def test_rows_of_the_index_are_all_accounted_for(corpora):
    folder = corpora / "tool_inputs"
    index = [json.loads(line) for line in (folder / "INDEX.jsonl").read_text("utf-8").splitlines()]
    for row in index:
        if row["path"] in EXPECTED and "records" in row and row["top"] == "list":
            assert len(read_people(folder / row["path"]).people) == row["records"]
        if row["path"] in EXPECTED and row.get("delimiter"):
            assert len(read_people(folder / row["path"]).people) == row["rows"] - 1


def test_who_follows_whom_survives_from_an_oasis_file(corpora):
    found = read_people(corpora / "tool_inputs/oasis/twitter_197_progressive.csv")
    import ast
    import csv

    with (corpora / "tool_inputs/oasis/twitter_197_progressive.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ids = {row[""]: person.id for row, person in zip(rows, found.people, strict=True)}
    for row, person in zip(rows, found.people, strict=True):
        wanted = [ids[str(n)] for n in ast.literal_eval(row["following_agentid_list"]) if str(n) in ids and str(n) != row[""]]
        assert list(person.follows) == list(dict.fromkeys(wanted))
