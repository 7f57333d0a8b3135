from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simflow.memory import tokens
from simflow.memory.block import build, heading, section
from simflow.memory.budget import Line, choose

KINDS = ["persona", "relation", "episode", "scan"]
CAPS = {"persona": 40, "relation": 60, "episode": 80, "scan": 40}


def made(lines, caps=CAPS, total=None):
    return build(lines, caps, agent=0, tick=5, about="x", reading={}, total=total)


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(
        st.builds(
            Line,
            kind=st.sampled_from(KINDS),
            text=st.text(st.sampled_from("ab z.,'\"!?éж水🚰1"), max_size=60),
            value=st.floats(0.01, 5),
            order=st.tuples(st.floats(0, 9)),
        ),
        max_size=14,
    ),
    caps=st.fixed_dictionaries({kind: st.integers(0, 60) for kind in KINDS}),
)
def test_nothing_is_lost_and_no_cap_is_broken(lines, caps):
    block = made(lines, caps)
    assert block.tokens == tokens.count(block.text) <= sum(caps.values())
    assert block.used["persona"] <= caps["persona"] + 1  # a heading may count a token more beside its line than alone
    told = [(line.kind, line.text, line.value) for line in block.lines]
    left = [(d.line.kind, d.line.text, d.line.value) for d in block.dropped]
    assert sorted(told + left) == sorted((line.kind, line.text, line.value) for line in lines)
    assert all(d.why for d in block.dropped)


def line(kind, words, value=1.0, order=0.0):
    return Line(kind, " ".join(["word"] * words), value, (order,))


def test_what_one_kind_does_not_use_flows_to_relations_then_episodes_then_the_scan():
    lines = [line("relation", 50, order=i) for i in range(3)] + [line("episode", 60, order=i) for i in range(3)]
    block = made(lines)
    used = [x.kind for x in block.lines]
    assert used.count("relation") == 2  # one within its cap, one from what the persona and the scan left
    assert used.count("episode") == 1


def test_a_persona_state_never_grows_beyond_its_cap():
    block = made([line("persona", 45)])
    assert block.lines == ()
    assert "cap of 40" in block.dropped[0].why


def test_the_dearest_tokens_go_first():
    chosen = choose([line("episode", 50, value=2.0), line("episode", 10, value=1.0), line("episode", 10, value=0.1)], {"episode": 30}, {})
    assert [x.value for x in chosen.lines] == [1.0, 0.1]
    assert chosen.dropped[0].line.value == 2.0


def test_lines_stand_in_the_order_of_their_sections():
    block = made([line("scan", 2, order=2), Line("scan", "first", 0.1, (1.0,)), line("persona", 1)])
    assert block.text.index("Who you are") < block.text.index("What is being said")
    assert block.text.index("first") < block.text.index("word word")


def test_the_block_says_how_much_was_left_out():
    block = made([line("relation", 300), line("persona", 3)])
    assert "(1 more left out)" in block.text
    assert block.plain()["dropped"][0]["why"].endswith("do not fit the block's 220")


def test_a_section_has_its_heading_and_an_empty_one_has_none():
    assert section([line("relation", 1)], "relation") == f"## {heading('relation')}\n- word\n"
    assert section([], "relation") == ""
    assert made([]).text == ""


@pytest.mark.parametrize("text", ["Hello world, again and again", "水管漏水了，非常严重", "🚰🚰🚰🚰", "naïve ćevapi", "\ud800 lone", ""])
@pytest.mark.parametrize("limit", [0, 1, 3, 100])
def test_a_cut_text_is_a_beginning_within_its_limit(text, limit):
    kept = tokens.cut(text, limit)
    assert tokens.count(kept) <= limit
    assert text.encode("utf-8", "replace").decode().startswith(kept)
    if limit == 100:
        assert kept == text.encode("utf-8", "replace").decode()
