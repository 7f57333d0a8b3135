"""Each verb does what it says, and only that."""

import dataclasses

import numpy as np
import pytest
from small_worlds import make_cell, run

from simflow.errors import BadInput
from simflow.plan import Audience, Event, Feed, Persona, Platform, Trigger, Voice
from simflow.world.builtin import BuiltinEngine
from simflow.world.timeline import measure as value

COUNCIL = (Voice("city council", 0.8, "The city."), Voice("leak watch", 0.15))


def happening(*events, **changes):
    cell = make_cell(**({"agents": 60, "ticks": 80, "voices": COUNCIL, "events": tuple(events)} | changes))
    return cell, run(cell)


def episodes(step, **wanted):
    return [e for e in step.episodes.to_pylist() if all(e[k] == v for k, v in wanted.items())]


def test_a_voice_posts_word_for_word_and_reaches_its_followers():
    text = "From 1 May household water bills rise by 18%: see @ada1, 'quoted', {braces} & emoji 💧."
    _, step = happening(Event("announcement", "post", 24, by="city council", text=text))
    (post,) = episodes(step, event="announcement")
    assert (post["tick"], post["kind"], post["text"], post["sentence"]) == (24, "post", text, f'@city_council wrote: "{text}"')
    voice = step.agents.to_pylist()[60]
    assert (voice["id"], voice["name"], voice["is_voice"], voice["persona"]) == ("city_council", "city council", True, None)
    readers = {r["reader"] for r in step.exposures.to_pylist() if r["episode"] == post["episode"]}
    follows = BuiltinEngine(make_cell(agents=60, ticks=80, voices=COUNCIL)).begin()["follows"]
    followers = set(np.flatnonzero((follows == 60).any(axis=1)).tolist())
    assert 0.6 < len(followers) / 60 < 0.95
    assert len(readers & followers) > 0.9 * len(followers)


def test_a_post_by_nobody_comes_from_the_newsroom_which_then_exists():
    _, quiet = happening()
    _, step = happening(Event("a", "post", 10, text="One."), Event("b", "post", 30, text="Two."))
    assert "newsroom" not in quiet.agents["id"].to_pylist()
    room = step.agents.to_pylist()[-1]
    assert (room["id"], room["is_voice"], room["joined"]) == ("newsroom", True, 10)
    assert [e["actor"] for e in step.episodes.to_pylist() if e["event"]] == [room["agent"]] * 2


def test_two_posts_of_one_voice_in_one_tick_are_two_episodes():
    _, step = happening(*(Event(f"e{k}", "post", 9, by="leak watch", text=f"Leak {k}") for k in range(3)))
    assert [e["text"] for e in episodes(step, tick=9) if e["event"]] == ["Leak 0", "Leak 1", "Leak 2"]


def test_a_resident_can_be_made_to_post_and_speaks_for_itself():
    cell = make_cell()
    name = run(cell).agents["id"].to_pylist()[3]
    step = run(dataclasses.replace(cell, events=(Event("leak", "post", 5, by=name, text="I saw the memo.", topic="water tariff"),)))
    (post,) = episodes(step, event="leak")
    assert post["actor"] == 3
    said = {s["episode"]: s["stance"] for s in step.truth["statements"].to_pylist()}
    before = [s["stance"] for s in step.truth["stances"].to_pylist() if s["agent"] == 3 and s["topic"] == 0 and s["tick"] < 5][-1]
    assert said[post["episode"]] == pytest.approx(before / 2**32)


def test_the_topic_of_an_event_is_found_by_its_words():
    _, step = happening(
        Event("a", "post", 5, by="leak watch", text="The council lied about the leaks. No trust left!"),
        Event("b", "post", 6, by="leak watch", text="TARIFF up again"),
        Event("c", "post", 7, by="leak watch", text="Lovely weather today."),
        Event("d", "post", 8, by="leak watch", text="Lovely weather today.", topic="council trust", stance=-0.7),
    )
    topic = {s["episode"]: (s["topic"], round(s["stance"], 3)) for s in step.truth["statements"].to_pylist()}
    found = {e["event"]: topic.get(e["episode"]) for e in step.episodes.to_pylist() if e["event"]}
    assert found == {"a": (1, 0.0), "b": (0, 0.0), "c": None, "d": (1, -0.7)}


def test_what_is_about_no_topic_moves_nobody():
    _, step = happening(Event("c", "post", 7, by="city council", text="Lovely weather today."))
    (post,) = episodes(step, event="c")
    moved = [i for i in step.truth["impacts"].to_pylist() if i["episode"] == post["episode"]]
    assert moved
    assert all(i["contribution"] == 0 and i["topic"] == -1 for i in moved)


def test_repeated_events_repeat_until_their_end():
    _, step = happening(Event("weekly", "post", 5, until=50, every=15, by="leak watch", text="Weekly map."))
    assert [e["tick"] for e in episodes(step, event="weekly")] == [5, 20, 35, 50]


def test_a_broadcast_reaches_its_whole_audience_at_once_and_nobody_else():
    cell, step = happening(
        Event("siren", "broadcast", 20, by="city council", text="Boil your water.", to=Audience(personas=("pensioner",)))
    )
    (post,) = episodes(step, event="siren")
    seen = [(r["tick"], r["reader"], r["rank"]) for r in step.exposures.to_pylist() if r["episode"] == post["episode"]]
    assert sorted(seen) == [(21, agent, 0) for agent in range(cell.personas[0].count)]


def test_a_nudge_moves_its_audience_by_the_amount_within_bounds():
    cell, step = happening(Event("scare", "nudge", 30, topic="water tariff", amount=-0.4, to=Audience(personas=("engineer",))))
    before, engine = BuiltinEngine(cell), BuiltinEngine(dataclasses.replace(cell, events=()))
    one, other = before.advance(before.begin(), 0, 30).state, engine.advance(engine.begin(), 0, 31)
    hit = BuiltinEngine(cell).advance(one, 30, 31)
    moved = (hit.state["x0"] - other.state["x0"]) / 2**32
    assert moved[40:60, 0] == pytest.approx(np.maximum(-1 - other.state["x0"][40:60, 0] / 2**32, -0.4))
    assert not moved[:40].any()
    assert not moved[:, 1].any()
    rows = [s for s in step.truth["stances"].to_pylist() if s["tick"] == 30 and 40 <= s["agent"] < 60 and s["topic"] == 0]
    assert len(rows) == 20
    assert all(s["self_term"] <= round(-0.4 * 2**32) + 2**26 for s in rows)


def exposures_to(step, author):
    who = {e["episode"]: e["actor"] for e in step.episodes.to_pylist()}
    return [r["tick"] for r in step.exposures.to_pylist() if who[r["episode"]] == author]


def weekly(verb, **changes):
    post = Event("map", "post", 2, every=3, by="city council", text="The map of leaks.", until=70)
    return happening(post, Event("hush", verb, 20, until=50, target="city council"), **changes)[1]


def test_a_mute_hides_an_account_while_it_lasts():
    ticks = exposures_to(weekly("mute"), 60)
    assert [t for t in ticks if t < 20]
    assert not [t for t in ticks if 20 <= t < 50]
    assert [t for t in ticks if t >= 50]


def test_a_banned_resident_neither_acts_nor_is_seen_until_the_ban_ends():
    cell = make_cell(agents=60, ticks=160)
    busiest = int(np.bincount(run(cell).episodes["actor"].to_numpy(), minlength=60).argmax())
    name = run(cell).agents["id"].to_pylist()[busiest]
    step = run(dataclasses.replace(cell, events=(Event("out", "ban", 40, until=100, target=name),)))
    acts = [e["tick"] for e in step.episodes.to_pylist() if e["actor"] == busiest]
    assert [t for t in acts if t < 40]
    assert not [t for t in acts if 40 <= t < 100]
    assert [t for t in acts if t >= 100]
    assert not [t for t in exposures_to(step, busiest) if 40 <= t < 100]


def test_those_who_join_are_new_agents_with_an_episode_and_then_take_part():
    _, step = happening(Event("newcomers", "join", 20, persona="renter", amount=10), ticks=200)
    new = [a for a in step.agents.to_pylist() if a["joined"] == 20]
    assert [a["agent"] for a in new] == list(range(62, 72))
    assert {a["persona"] for a in new} == {"renter"}
    joins = episodes(step, kind="join")
    assert [(e["tick"], e["actor"], e["event"]) for e in joins] == [(20, a, "newcomers") for a in range(62, 72)]
    acting = {e["actor"] for e in step.episodes.to_pylist() if e["kind"] != "join"}
    assert len(acting & set(range(62, 72))) >= 8


def test_those_who_leave_fall_silent():
    _, step = happening(Event("exodus", "leave", 30, persona="renter", amount=8), ticks=200)
    gone = {e["actor"] for e in episodes(step, kind="leave", event="exodus")}
    assert len(gone) == 8
    assert gone <= set(range(20, 40))
    assert not [e for e in step.episodes.to_pylist() if e["actor"] in gone and e["tick"] > 30]


def test_personas_may_join_late_and_leave_early():
    cell = make_cell(ticks=120)
    late = dataclasses.replace(cell.personas[0], joins=40, leaves=80)
    step = run(dataclasses.replace(cell, personas=(late, *cell.personas[1:])))
    acts = [e for e in step.episodes.to_pylist() if e["actor"] < late.count]
    assert {e["tick"] for e in acts if e["kind"] == "join"} == {40}
    assert {e["tick"] for e in acts if e["kind"] == "leave"} == {80}
    assert all(40 <= e["tick"] <= 80 for e in acts)
    assert len(acts) > 2 * late.count
    assert {a["joined"] for a in step.agents.to_pylist()[: late.count]} == {40}


def test_a_feed_event_changes_what_its_audience_is_shown_while_it_lasts():
    def longest(step, low, high):
        ranks = [r["rank"] for r in step.exposures.to_pylist() if low <= r["tick"] < high]
        return max(ranks) + 1

    _, step = happening(Event("less", "feed", 30, until=60, feed=Feed(posts=1)), ticks=100)
    assert (longest(step, 0, 30), longest(step, 30, 60), longest(step, 60, 100)) == (5, 1, 5)
    _, some = happening(Event("less", "feed", 0, feed=Feed(posts=1), to=Audience(personas=("renter",))))
    most = {}
    for row in some.exposures.to_pylist():
        most[row["reader"]] = max(most.get(row["reader"], 0), row["rank"])
    assert all(most.get(agent, 0) == 0 for agent in range(20, 40))
    assert max(most.get(agent, 0) for agent in range(20)) == 4


def test_personas_may_have_feeds_of_their_own():
    cell = make_cell()
    short = dataclasses.replace(cell.personas[0], feed=Feed(posts=2))
    step = run(dataclasses.replace(cell, personas=(short, *cell.personas[1:])))
    assert max(r["rank"] for r in step.exposures.to_pylist() if r["reader"] < short.count) == 1
    assert max(r["rank"] for r in step.exposures.to_pylist()) == 4


def test_an_agenda_makes_its_topic_talked_about_in_proportion():
    def posts(step):
        topic = {s["episode"]: s["topic"] for s in step.truth["statements"].to_pylist()}
        return np.bincount(
            [topic[e["episode"]] for e in episodes(step, kind="post") if not e["event"] and 40 <= e["tick"] < 160], minlength=2
        )

    _, plain = happening(ticks=200)
    _, hot = happening(Event("debate", "agenda", 40, until=160, topic="council trust", amount=3.0), ticks=200)
    ratio = posts(hot) / posts(plain)
    assert 0.75 < ratio[0] < 1.3
    assert 2.2 < ratio[1] < 3.6


def test_a_trigger_fires_once_at_the_first_tick_at_which_its_measure_crosses():
    rule = Trigger("mean", "water tariff", below=-0.2)
    _, step = happening(
        Event("scare", "nudge", 33, topic="water tariff", amount=-0.6),
        Event("reply", "post", 0, when=rule, by="city council", text="We heard you."),
    )
    assert [e["tick"] for e in episodes(step, event="reply")] == [34]


def test_a_trigger_that_never_holds_never_fires():
    _, step = happening(Event("reply", "post", 0, when=Trigger("support", "water tariff", above=1.0), by="city council", text="Thanks."))
    assert not episodes(step, event="reply")


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (Event("x", "post", 1, by="city hall", text="?"), "names 'city hall'"),
        (Event("x", "mute", 1), "names nobody"),
        (Event("x", "nudge", 1, amount=0.1), "names no topic"),
        (Event("x", "post", 1, text="?", when=Trigger("happiness", above=0)), "happiness"),
    ],
)
def test_an_event_that_cannot_be_is_an_error_that_names_it(event, says):
    with pytest.raises(BadInput, match=says) as caught:
        happening(event)
    assert caught.value.hint


def test_actions_of_followers_of_a_muted_author_change_only_the_muters_feeds():
    step = run(make_cell(agents=120, ticks=700, platform=Platform(actions=("post", "reply", "dislike", "mute"))))
    mutes = episodes(step, kind="mute")
    assert mutes
    who = {e["episode"]: e["actor"] for e in step.episodes.to_pylist()}
    shown = [(r["reader"], who[r["episode"]], r["tick"]) for r in step.exposures.to_pylist()]
    for mute in mutes:
        pair = (mute["actor"], mute["target"])
        assert not [t for reader, author, t in shown if (reader, author) == pair and t > mute["tick"]]
    later = [t for reader, author, t in shown if author == mutes[0]["target"] and t > mutes[0]["tick"]]
    assert later  # others still see whom one has muted


def test_an_empty_persona_is_no_obstacle():
    cell = make_cell()
    step = run(dataclasses.replace(cell, personas=(*cell.personas, Persona("ghost", 0))))
    assert "ghost" not in step.agents["persona"].to_pylist()


@pytest.mark.parametrize(
    ("measure", "holds"),
    [("mean", 0.0), ("variance", 0.25), ("spread", 1.0), ("support", 0.5), ("opposition", 0.5), ("undecided", 0.0), ("posts", 7.0)],
)
def test_measures_of_triggers_have_their_values(measure, holds):
    x = np.repeat(np.array([[-0.5, 0.0], [0.5, 0.0]]), 5, axis=0)
    assert value(measure, (x * 2**32).astype(np.int64), np.arange(10), 0, 7) == pytest.approx(holds)


def test_the_newsroom_can_be_muted_before_it_exists():
    mute = Event("hush", "mute", 5, until=40, target="newsroom")
    _, step = happening(mute, Event("a", "post", 10, text="One."), Event("b", "post", 50, by="newsroom", text="Two."))
    seen = set(step.exposures["episode"].to_pylist())
    found = {e["event"]: e["episode"] in seen for e in step.episodes.to_pylist() if e["event"]}
    assert found["b"] is True
    early = [r["tick"] for r in step.exposures.to_pylist() if r["episode"] == next(e["episode"] for e in episodes(step, event="a"))]
    assert not [t for t in early if t < 40]
