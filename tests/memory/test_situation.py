from __future__ import annotations

import pyarrow as pa
import pytest

from simflow.episode import AGENTS
from simflow.memory.linking import Names
from simflow.memory.situation import Reader, describe
from simflow.memory.topics import Gazetteer
from simflow.plan import Clock, Event, Topic

PEOPLE = [
    ("rosa14", "Rosa Lind"),
    ("rosa20", "Rosa Berg"),
    ("ivo3", "Ivo Marsh"),
    ("city_council", "city council"),
    ("mark7", "Mark Will"),
    ("gina", "Gina"),
]


def agents():
    rows = [{"agent": i, "id": key, "name": name, "persona": None, "is_voice": False, "joined": 0} for i, (key, name) in enumerate(PEOPLE)]
    return pa.Table.from_pylist(rows, schema=AGENTS)


@pytest.fixture(scope="module")
def names():
    return Names(agents())


@pytest.fixture(scope="module")
def reader(names):
    events = (Event("council vote", "post", at=300), Event("leak map", "post", at=200), Event("shops feel it", "nudge", at=400))
    return Reader(names, Gazetteer((Topic("water tariff", words=("water bill",)), Topic("trust"))), events, Clock(minutes=60))


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("what does @rosa14 think?", [0]),
        ("@ROSA14 and @ivo3.", [0, 2]),
        ("Rosa Lind and rosa berg", [0, 1]),
        ("Ivo said so", [2]),
        ("ivo said so", []),  # an alias counts where it is written as a name
        ("mark my words, I will", []),
        ("the City Council", [3]),
        ("Gina", [5]),
        ("gina", []),
        ("mail a@b.c", []),
        ("Marsh", [2]),
        ("ROSA LIND wrote to Lind", [0]),
    ],
)
def test_agents_are_linked_by_handle_name_and_alias(names, text, who):
    assert list(names.link(text).agents) == who


def test_homonyms_are_kept_apart(names):
    found = names.link("Rosa was there")
    assert found.agents == ()
    assert found.ambiguous == {"Rosa": (0, 1)}
    assert names.link("Rosa (@rosa20) was there").agents == (1,)
    assert names.link("Rosa (@rosa20) was there").ambiguous == {}
    assert names.link("Rosa Lind came, then Rosa left").agents == (0,)


@pytest.mark.parametrize(
    ("text", "since", "as_of"),
    [
        ("what did he say at tick 200?", None, 200),
        ("as of tick 200", None, 200),
        ("before tick 200", None, 199),
        ("since tick 200", 200, None),
        ("between tick 100 and 200", 100, 200),
        ("between ticks 200 and tick 100", 100, 200),
        ("ticks 100-200", 100, 200),
        ("who influenced the debate in [100, 200]?", 100, 200),
        ("before the council vote", None, 299),
        ("before the vote, what was said?", None, 299),
        ("after the leak map", 200, None),
        ("on day 3", None, 71),
        ("before day 3", None, 47),
        ("2 days ago", None, 952),
        ("30 ticks ago", None, 970),
        ("no tick 200", None, 200),
        ("antes do council vote", None, 299),
        ("перед council vote", None, 299),
        ("at tick 99999", None, 999),  # nobody remembers the future
        ("what do they think?", None, None),
        ("before lunch", None, None),
        ("the year 2024 at 18:00", None, None),
    ],
)
def test_a_time_that_is_named_bounds_what_is_asked(reader, text, since, as_of):
    read = reader.read(text, 1000)
    assert (read.since, read.as_of) == (since, as_of)


def test_a_time_that_nothing_knows_is_said(reader):
    assert reader.read("what was said before the flood?", 1000).unclear == "before the flood?"[:-1]
    assert reader.read("before the vote", 1000).unclear is None


def test_asking_for_now_is_noticed_unless_a_time_is_named(reader):
    assert reader.read("What are people saying about the water bill?", 1000).current
    assert reader.read("what is being said now", 1000).current
    assert not reader.read("what was being said now, at tick 5", 1000).current
    assert not reader.read("I know what you mean", 1000).current


def test_a_situation_is_described_in_readable_ids(reader, names):
    plain = describe(reader.read("Rosa and @ivo3 on the water bill at tick 5", 1000), names, ["water tariff", "trust"])
    assert plain["agents"] == ["@ivo3"]
    assert plain["ambiguous"] == {"Rosa": ["@rosa14", "@rosa20"]}
    assert plain["topics"] == ["water tariff"]
    assert (plain["as_of"], plain["time"]) == (5, "at tick 5")
