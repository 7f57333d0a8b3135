"""YAML 1.2 core rules, exact spans, limits."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.scenario import source, tree
from simflow.scenario.nodes import Items, Node, Scalar, Table, plain
from simflow.scenario.problems import Problem, Unreadable


def parse(text: str) -> tuple[Node, list[Problem]]:
    problems: list[Problem] = []
    return source.parse(text, "x.yaml", problems)[0], problems


def outcome(text: str) -> tuple[list[Node], list[Problem]]:
    problems: list[Problem] = []
    try:
        return source.parse(text, "x.yaml", problems), problems
    except Unreadable as error:
        return [], [*problems, error.problem]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18:00", "18:00"),
        ("on", "on"),
        ("no", "no"),
        ("y", "y"),
        ("0777", 777),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("2026-11-30", "2026-11-30"),
        ("~", None),
        ("", None),
        ("True", True),
        ("!!str 12", "12"),
        ("'12'", "12"),
        ("=", "="),
    ],
)
def test_plain_scalars_follow_yaml_1_2(text, value):
    node, problems = parse(f"key: {text}")
    assert plain(node) == {"key": value}
    assert not problems


def test_the_key_on_is_text():
    assert plain(parse("on: topic")[0]) == {"on": "topic"}


words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)


@given(st.dictionaries(words, words, min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_spans_cover_exactly_the_characters_of_keys_and_values(data):
    text = "\n".join(f"{json.dumps(k, ensure_ascii=False)}: {json.dumps(v, ensure_ascii=False)}" for k, v in data.items())
    node, problems = parse(text)
    assert plain(node) == data
    assert not problems
    assert isinstance(node, Table)
    lines = text.split("\n")
    for entry in node:
        assert isinstance(entry.value, Scalar)
        for scalar in (entry.key, entry.value):
            span = scalar.span
            assert span.line == span.end_line
            assert json.loads(lines[span.line - 1][span.column - 1 : span.end_column - 1]) == scalar.text


def test_columns_count_characters_after_emoji_accents_and_cyrillic():
    node, _ = parse("вода 💧é: {тариф: 0.5, 水: x}")
    assert isinstance(node, Table)
    inner = node.entries["вода 💧é"].value
    assert isinstance(inner, Table)
    assert (inner.entries["тариф"].key.span.column, inner.entries["水"].value.span.column) == (11, 26)


def test_duplicate_keys_are_found_and_the_rest_is_still_read():
    node, problems = parse("a: 1\nb: 2\na: 3\n")
    assert [(p.code, p.span.line) for p in problems] == [("SF105", 3)]
    assert plain(node) == {"a": 1, "b": 2}


def test_aliases_stand_for_what_they_name():
    assert plain(parse("a: &x [1, {b: 2}]\nc: *x\n")[0]) == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}


def bomb(levels: int, width: int = 9) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


HOSTILE = {
    "alias bomb": bomb(30),
    "deep aliases": "a0: &a0 x\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 2000)),
    "deep flow": "a: " + "[" * 100_000,
    "deep maps": "a: " + "{a: " * 5_000,
    "deep block": "\n".join(" " * n + "a:" for n in range(900)),
    "self alias": "a: &a [*a]",
    "many keys": "\n".join(f"k{n}: v" for n in range(70_000)),
    "long line": "a: " + "x" * 900_000,
    "many quotes": "a: " + "'" * 300_000,
    "percent directives": "%YAML 1.2\n" * 2000 + "---\na: 1\n",
    "many documents": "---\na\n" * 100_000,
    "open flow": "a: [" + "x, " * 200_000,
    "tags": "!a " * 3000 + "x",
    "anchors": "\n".join(f"k{n}: &a{n} v" for n in range(40_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_ends_in_a_tree_or_a_problem(name):
    documents, problems = outcome(HOSTILE[name])
    assert all(d.size <= tree.MAX_NODES for d in documents)
    if not documents:
        assert problems[-1].code in {"SF103", "SF104", "SF108", "SF102", "SF111"}
        assert problems[-1].span.line >= 1


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_tree_or_a_problem_with_a_place(text):
    _, problems = outcome(text)
    for problem in problems:
        assert problem.span is not None
        assert problem.span.line >= 1
        assert problem.span.column >= 1
        problem.render()


@given(st.binary(max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_text_or_refused_with_a_place(raw):
    text, problem = None, None
    try:
        text = source.decode(raw, "x.yaml")
    except Unreadable as error:
        problem = error.problem
    assert (text is None) != (problem is None)
    if problem is not None:
        assert problem.code == "SF102"
        assert problem.span.line >= 1
    else:
        assert raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8") == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_named(encoding):
    with pytest.raises(Unreadable, match="UTF-"):
        source.decode("scenario: x\n".encode(encoding), "x.yaml")


def test_a_byte_order_mark_is_no_character():
    assert source.decode(b"\xef\xbb\xbfa: 1", "x.yaml") == "a: 1"


def test_the_first_broken_byte_is_shown():
    with pytest.raises(Unreadable) as caught:
        source.decode("a: 1\nb: é".encode("latin-1") + b" \n", "x.yaml")
    assert (caught.value.problem.span.line, caught.value.problem.span.column) == (2, 4)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system [ls]", "!!binary aGk=", "!custom x", "!!set {a, b}"])
def test_tags_are_refused_and_never_followed(tag):
    _, problems = parse(f"a: {tag}")
    assert [p.code for p in problems] == ["SF107"]


def test_merge_keys_are_refused_with_a_hint():
    _, problems = parse("a: &a {x: 1}\nb: {<<: *a}\n")
    assert [p.code for p in problems] == ["SF110"]
    assert "from" in (problems[0].hint or "")


def test_a_quoted_merge_sign_is_an_ordinary_key():
    node, problems = parse('"<<": 1')
    assert plain(node) == {"<<": 1}
    assert not problems


def test_line_endings_of_all_kinds_count_alike():
    for end in ("\n", "\r\n", "\r"):
        node, _ = parse(end.join(["a: 1", "b: 2", "c: {d: 3}"]))
        assert isinstance(node, Table)
        assert node.entries["c"].key.span.line == 3


def test_lists_hold_spans_too():
    node, _ = parse("a: [x, 'y z']\n")
    assert isinstance(node, Table)
    items = node.entries["a"].value
    assert isinstance(items, Items)
    assert [
        re.sub("'", "", node.entries["a"].value.span.text.lines[0][i.span.column - 1 : i.span.end_column - 1]) for i in items.items
    ] == ["x", "y z"]
