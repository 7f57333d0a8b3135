"""A text means what YAML 1.2 says, or is refused with a reason; nothing is taken for something else in silence, whatever its size."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.scenario import libyaml, source, yaml12
from simflow.scenario.nodes import plain
from simflow.scenario.problems import Unreadable


def read(text, *, many=False):
    problems = []
    try:
        documents = source.parse(text, "x.yaml", problems, many=many)
    except Unreadable as error:
        return error.problem
    return problems[0] if problems else [plain(d) for d in documents]


READERS = {"yaml12": yaml12.read, "libyaml": libyaml.events}


def fault_of(reader, text):
    with pytest.raises(yaml12.Broken) as caught:
        list(READERS[reader](text))
    return caught.value.fault


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("a: [-]\n", 4, "a - alone"),
        ("a: [x, -, y]\n", 7, "a - alone"),
        ('a: "x"#c\n', 6, "needs a space before its #"),
        ("a: [x, y]#c\n", 9, "needs a space before its #"),
        ("a: [x,#c\n  y]\n", 6, "needs a space before its #"),
        ("a: ># c\n  x\n", 4, "needs a space before its #"),
        ("a: [x,\ny]\n", 7, "is indented"),
        ("a:\n  b: [x,\n  y]\n", 14, "is indented"),
        ('a: "x\ny"\n', 6, "is indented"),
        ('a: "x\n]y"\n', 6, "is indented"),
        ("a: |\n    \n  x\n", 5, "indented more than the text"),
        ("a:\n|\n b\n", 3, ""),
        ("a:\n- \n|\n b\n", 6, ""),
        ("a: {*x :b}\n", 7, ""),
        ("%YAML 1.1\n---\na: 1\n", 0, "can only say"),
        ("%TAG ! x\n---\na: 1\n", 0, "can only say"),
        ("%FOO\n---\na: 1\n", 0, "can only say"),
        ("a:\n\tb: 1\n", 3, "a tab cannot indent"),
        ("\ta: 1\n", 0, "a tab cannot indent"),
        ("a: b: c\n", 4, "a second ': '"),
        ("a: - b\n", 3, ""),
        ("a:\n  b: 1\n c: 2\n", 11, ""),
        ('a: "\\q"\n', 4, "escape"),
    ],
)
def test_what_is_not_yaml_is_refused_where_it_stands_whatever_the_size_of_the_text(reader, text, at, says):
    fault = fault_of(reader, text)
    assert fault.at == at
    assert says in fault.message
    assert fault.hint


MISREAD = {
    "a: {?foo: bar}\n": {"a": {"?foo": "bar"}},
    "a: [?x]\n": {"a": ["?x"]},
    "a: [?*x]\n": {"a": ["?*x"]},
    "a: &an:chor v\n": {"a": "v"},
    "a: &x?y z\n": {"a": "z"},
    "a: [!!str &x?y z]\n": {"a": ["z"]},
    "a: {!!str :b}\n": {"a": {":b": None}},
    "a: [x,\n# c\n  y]\n": {"a": ["x", "y"]},
    ">\n#1\n": "#1\n",
}
"""Texts that libyaml takes for something else, or that only look as if it did, and what they mean."""


@pytest.mark.parametrize("text", MISREAD)
def test_what_libyaml_would_misread_is_read_as_it_is_meant_and_refused_in_a_large_text(text):
    assert read(text) == [MISREAD[text]]
    assert fault_of("libyaml", text).hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("- foo:\t bar\n- - baz\n  -\tbaz\n", [{"foo": "bar"}, ["baz", "baz"]]),
        ("\t{a: b}\n", {"a": "b"}),
        ("foo: 1\n\t\nbar: 2\n", {"foo": 1, "bar": 2}),
        ('{"a"\n: "b", "c":d, e: :f, "g"::h}\n', {"a": "b", "c": "d", "e": ":f", "g": ":h"}),
        ("{http://foo.com, omitted:, multi\n  line: x}\n", {"http://foo.com": None, "omitted": None, "multi line": "x"}),
        ("plain: 1\n: 2\n", {"plain": 1, "": 2}),
        ("a: &😁 1\nb: *😁\n", {"a": 1, "b": 1}),
        ("--- >\nline1\n# no comment\nline3\n", "line1 # no comment line3\n"),
        ("a: x\u2028y # c\u2028b\nd: 1\n", {"a": "x\u2028y", "d": 1}),
        ("a: |-\n \tx\n", {"a": "\tx"}),
    ],
)
def test_what_libyaml_cannot_read_is_read(text, value):
    assert read(text) == [value]


def test_a_large_text_is_read_by_libyaml_with_the_same_places(monkeypatch):
    text = "# б\na: [1, {x: 'é'}]\nb:\n  - c\n"
    small = source.parse(text, "x.yaml", [])[0]
    monkeypatch.setattr(source, "LARGE", 5)
    large = source.parse(text, "x.yaml", [])[0]

    def places(node):
        found = [(node.span.line, node.span.column, node.span.end_line, node.span.end_column)]
        for inner in getattr(node, "items", ()) or [part for e in getattr(node, "entries", {}).values() for part in (e.key, e.value)]:
            found += places(inner)
        return found

    assert plain(small) == plain(large)
    assert places(small) == places(large)


def test_a_large_text_with_a_line_break_of_yaml_1_1_is_refused_and_says_what_to_write():
    problem = read("a: x\u2028y\n" + "# filler\n" * source.LARGE)
    assert (problem.code, problem.span.line, problem.span.column) == ("SF102", 1, 5)
    assert "\\u2028" in problem.hint


PIECES = [
    *" \n\n\n:-?#,[]{}&*!|>'\"ab1é\t",
    ": ",
    "- ",
    "\n  ",
    "\n    ",
    "\n- ",
    "? ",
    "a: ",
    "b:\n",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "!!str ",
    "|\n  ",
]
PIECES += ["|-\n", ">+\n ", " # c\n", "\r\n", "[a, b]", "{a: b}", "'x'", '"y"', "\n  c: d", "- e\n", "''", '"\\n"', ", "]


def comparable(event, size):
    """What both readers have to say alike: all but where a value stands that is not there, and how many lines follow the last."""
    if event.kind == "document":
        return event.kind
    places = [event.start] if event.kind in {"map", "list"} else [event.start, event.end]
    if event.kind == "scalar" and not event.value and event.style is None:
        places = []
    return (*event[3:], event.kind, *(mark.at if mark.at >= size else mark for mark in places))


TEXTS = [
    "a: one\n  two\n\n\n  three\nb: 'x\n\n  y '\nc: \"p\\\n   q\n\n  r\"\n",
    "a: |\n  x\n   y\n\n  z\n\nb: >\n\n  u\n  v\n\n  w\n    more\n  x\nc: |+\n  k\n\nd: >-\n  l\n",
    "- - a\n  - b: c\n    d: [e, {f: g}]\n- ? h\n  : i\n-\n- j: &k 'l'\n  m: *k\n",
    "a:\n- b\n- c: !!str 1\n  d:\n    - e\n\n# f\ng: {h: i, 'j': [k,\n    l], m, n: }\n",
    "&a\nb: &c !!map\n  d: e\n--- !!seq\n- f\n...\n---\n- [a: b, [c]: d, ? e : f, ]\n",
    "'a''b': \"c\\td\\u00e9\"\n\"e\": 'f\n\n\n  g'\n? |\n  h\n: - i\n  - j\n",
]
edits = st.lists(st.tuples(st.integers(0, 120), st.sampled_from([0, 0, 1, 2]), st.sampled_from(["", *PIECES])), max_size=3)


def edited(text, changes):
    for at, out, piece in changes:
        text = text[: at % (len(text) + 1)] + piece + text[at % (len(text) + 1) + out :]
    return text


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.builds(edited, st.sampled_from(TEXTS), edits))
@settings(max_examples=700, deadline=None)
def test_both_readers_agree_on_every_text_that_libyaml_is_let_read(text):
    text += "\n"
    try:
        theirs = list(libyaml.events(text))
    except yaml12.Broken:
        return
    try:
        ours = list(yaml12.read(text))
    except yaml12.Broken as error:
        # A ! inside a tag is no character of a tag; whoever builds a tree refuses tags anyway.
        assert error.fault.code == "SF107" or "tag" in error.fault.message  # noqa: PT017 - any other fault is a difference
        return
    assert [comparable(e, len(text)) for e in ours] == [comparable(e, len(text)) for e in theirs]


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
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), include_characters="\n"), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcßж-?#: ", min_size=1, max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(values, st.booleans(), st.sampled_from([30, 60, 1000]))
@settings(max_examples=200, deadline=None)
def test_what_a_writer_writes_is_read_back(value, flow, width):
    text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=flow, width=width)
    # The writer is a YAML 1.1 one: what its own reader takes for a date or a number with underscores is quoted by it already.
    assert read(text) == [value]


def test_all_of_the_yaml_test_suite_is_read_right_or_refused_on_purpose(corpora):
    from simflow.bench.suites import yaml_cases, yaml_outcome

    counted = {"right": 0, "on purpose": 0}
    for path in sorted((corpora / "messy" / "yaml_test_suite").glob("*.yaml")):
        for case in yaml_cases(path):
            outcome = yaml_outcome(case)
            assert outcome.split(":")[0] == case.expected, case.name
            counted["on purpose" if "purpose" in outcome else "right"] += 1
    assert counted["right"] > 350
    assert counted["on purpose"] <= 50


def test_the_tables_that_know_their_answers_are_read_right(corpora):
    from simflow.bench.suites import csv_answer

    folder = corpora / "messy" / "csv_spectrum"
    for path in sorted(folder.glob("*.csv")):
        assert csv_answer(path, corpora / "messy" / "csv_spectrum_json" / f"{path.stem}.json") == "accepted", path.name
