"""What other YAML 1.2 readers would read otherwise is refused with a reason; nothing is taken for something else in silence."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.scenario import source
from simflow.scenario.nodes import plain


def read(text, *, many=False):
    problems = []
    try:
        documents = source.parse(text, "x.yaml", problems, many=many)
    except source.Unreadable as error:
        return error.problem
    return problems[0] if problems else [plain(d) for d in documents]


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("a: {?foo: bar}\n", 1, 5, "begins with ?"),
        ("a: [?x]\n", 1, 5, "begins with ?"),
        ("a: &an:chor v\n", 1, 4, "has a colon"),
        ("a: [-]\n", 1, 5, "a - alone"),
        ("a: [x, -, y]\n", 1, 8, "a - alone"),
        ('a: "x"#c\n', 1, 7, "needs a space before its #"),
        ("a: [x, y]#c\n", 1, 10, "needs a space before its #"),
        ("a: [x,#c\n  y]\n", 1, 7, "needs a space before its #"),
        ("a: ># c\n  x\n", 1, 5, "needs a space before its #"),
        ("a: [x,\ny]\n", 2, 1, "goes on from the line before"),
        ("a:\n  b: [x,\n  y]\n", 3, 3, "goes on from the line before"),
        ('a: "x\ny"\n', 2, 1, "goes on from the line before"),
        ('a: "x\n\ty"\n', 2, 1, "goes on from the line before"),
        ("a: |\n    \n  x\n", 2, 1, "indented more than the text"),
        ("%YAML 1.1\n---\na: 1\n", 1, 1, "can only say"),
        ("%TAG ! x\n---\na: 1\n", 1, 1, "can only say"),
        ("%FOO\n---\na: 1\n", 1, 1, "can only say"),
    ],
)
def test_a_text_that_would_mean_something_else_is_refused_where_it_stands(text, line, column, says):
    problem = read(text)
    assert says in problem.message
    assert (problem.span.line, problem.span.column) == (line, column)
    assert problem.hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("%YAML 1.2\n---\na: 1\n", {"a": 1}),
        ("a: [x,\n  y # c\n]\nb: 1\n", {"a": ["x", "y"], "b": 1}),
        ("a: {\n  b: c#d,\n  e: 'f'  # g\n}\n", {"a": {"b": "c#d", "e": "f"}}),
        ("- [x,\n   y]\n- 'a\n  b'\n", [["x", "y"], "a b"]),
        ("a: x?y\nb: -1\nc: [-1, --]\n", {"a": "x?y", "b": -1, "c": [-1, "--"]}),
        ("a: |2\n    \n  x\n", {"a": "  \nx\n"}),
        ("a: |\n\n  x\n   y # z\n", {"a": "\nx\n y # z\n"}),
        ("a: |\n  x\n   ", {"a": "x\n \n"}),
        ("é: &u 'б#'  # к\n😀: 1\n", {"é": "б#", "😀": 1}),
        ("# first\na: 1 # last", {"a": 1}),
        ("[x,\ny]\n", ["x", "y"]),
        ('"x\ny"\n', "x y"),
    ],
)
def test_what_yaml_allows_is_read_as_before(text, value):
    assert read(text) == [value]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcßж-?#: ", min_size=1, max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(values, st.booleans(), st.sampled_from([30, 60, 1000]))
@settings(max_examples=200, deadline=None)
def test_what_a_writer_writes_is_read_back(value, flow, width):
    text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=flow, width=width)
    # The writer is a YAML 1.1 one: what its own reader takes for a date or a number with underscores is quoted by it already.
    assert read(text) == [value]


def test_nothing_of_the_yaml_test_suite_is_misread(corpora):
    from simflow.bench.suites import yaml_cases, yaml_outcome

    counted = {"right": 0, "on purpose": 0, "refused": 0}
    for path in sorted((corpora / "messy" / "yaml_test_suite").glob("*.yaml")):
        for case in yaml_cases(path):
            outcome = yaml_outcome(case)
            if outcome.split(":")[0] == case.expected:
                counted["on purpose" if "purpose" in outcome else "right"] += 1
            else:
                assert outcome == "refused", case.name
                counted["refused"] += 1
    assert counted["right"] > 300
    assert counted["refused"] <= 50, "valid texts that the parser does not know; each is refused with its place"


def test_the_tables_that_know_their_answers_are_read_right(corpora):
    from simflow.bench.suites import csv_answer

    folder = corpora / "messy" / "csv_spectrum"
    for path in sorted(folder.glob("*.csv")):
        assert csv_answer(path, corpora / "messy" / "csv_spectrum_json" / f"{path.stem}.json") == "accepted", path.name
