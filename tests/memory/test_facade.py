from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from simflow import memory
from simflow.errors import BadInput, NotFound
from simflow.memory import segments as files
from simflow.memory import tokens
from simflow.runs import find_run
from simflow.store import Store


def seen_by(run, agent, before):
    """Naive: what an agent wrote or was shown before a tick."""
    own = {e["episode"] for e in run.table("episodes").to_pylist() if e["actor"] == agent and e["tick"] < before}
    shown = {x["episode"] for x in run.table("exposures").to_pylist() if x["reader"] == agent and x["tick"] < before}
    return own | shown


@pytest.mark.parametrize("tick", [0, 1, 37, 40, 41, 99, 160])
@pytest.mark.parametrize("agent", [0, 3])
def test_recall_tells_only_what_the_agent_witnessed_before_the_tick(view, run, agent, tick):
    for about in ("what do people say about water now?", "leaks and pipes", "Dan Pike and @ann3"):
        block = view.recall(agent, tick, about)
        told = set(block.episodes) | {r for line in block.lines if line.kind == "relation" for r in line.refs}
        assert told <= seen_by(run, agent, tick)


def test_scope_world_lifts_the_witness_but_not_time(view, run):
    world = replace(view.cell.memory, scope="world")
    block = view.recall(0, 80, "what is being said about water now?", memory=world)
    ticks = {e["episode"]: e["tick"] for e in run.table("episodes").to_pylist()}
    assert set(block.episodes) - seen_by(run, 0, 80)
    assert all(ticks[e] < 80 for e in block.episodes)


def test_what_is_being_said_now_is_the_newest_on_the_topic(view, run):
    block = view.recall(0, 100, "What are people saying about water now?")
    topic = {e["episode"]: "water" in e["text"] for e in run.table("episodes").to_pylist()}
    wanted = sorted((e for e in seen_by(run, 0, 100) if topic[e]), reverse=True)[: view.cell.memory.top]
    assert sorted((line.episode for line in block.lines if line.kind == "scan"), reverse=True) == wanted


def test_a_time_in_the_situation_is_the_time_that_is_answered_for(view):
    for about, last in (("What about water at tick 50?", 50), ("water, before the council vote", 59), ("water before tick 30", 29)):
        block = view.recall(0, 150, about)
        assert block.reading["as_of"] == last
        assert block.episodes
        assert all(line.tick <= last for line in block.lines if line.kind in ("episode", "scan"))


def test_stance_now_and_then_differ_where_the_agent_changed_its_mind(view):
    now = view.recall(2, 75, "Where does Bob Ray stand on water?").text
    then = view.recall(2, 75, "Where did Bob Ray stand on water at tick 30?").text
    assert "@bob1 supports water" in now
    assert "opposed it from tick" in now  # the line tells what was before
    assert "@bob1 opposes water" in then


@pytest.mark.parametrize(
    ("mode", "kinds"), [("vectors", {"persona", "episode"}), ("graph", {"persona", "relation", "scan"}), ("hybrid", None)]
)
def test_modes_use_their_arms(view, mode, kinds):
    block = view.recall(0, 150, "water and leaks", memory=replace(view.cell.memory, mode=mode))
    found = {line.kind for line in block.lines}
    assert found == {"persona", "relation", "episode", "scan"} if kinds is None else found <= kinds


@pytest.mark.parametrize("room", [0, 5, 30, 80, 200, 800])
def test_the_rendered_block_stays_within_its_total(view, room):
    settings = replace(view.cell.memory, persona_tokens=room // 4, relation_tokens=room // 4, episode_tokens=room - 2 * (room // 4))
    block = view.recall(1, 160, "What is said about water and trains now, Bob?", memory=settings)
    assert block.tokens == tokens.count(block.text) <= room
    if room <= 80:
        assert block.dropped
        assert all(d.why for d in block.dropped)


def test_an_episode_is_told_once(view):
    block = view.recall(2, 160, "I support water, think of leaks")
    assert len(block.episodes) == len(set(block.episodes))


def test_an_opened_memory_ends_where_it_was_opened(run, words):
    early = memory.open(run, as_of=50, embedder=words)
    late = memory.open(run, embedder=words)
    assert early.recall(0, None, "water").plain() == late.recall(0, 50, "water").plain()
    assert early.search("water", top=5) == late.search("water", top=5, tick=50)
    assert early.relations() == late.relations(tick=50)
    assert max(r["learnt"] for r in early.relations()) <= 50
    with pytest.raises(BadInput, match="ends at tick 50"):
        early.recall(0, 51, "water")
    with pytest.raises(BadInput, match="outside the run"):
        memory.open(run, as_of=161, embedder=words)


def test_answers_are_the_same_from_the_windows_alone(home, words, tmp_path):
    copy = tmp_path / ".simflow"
    for part in ("runs", "windows"):  # no index, no cache
        shutil.copytree(home / part, copy / part)
    bare = memory.open(Store(copy).open(find_run(copy, "small-town")), embedder=words)
    full = memory.open(Store(home).open(find_run(home, "small-town")), embedder=words)
    for agent, tick in ((0, 160), (3, 77)):
        for about in ("leaks", "what is said about trains now?", "Bob Ray on water before the council vote"):
            assert bare.recall(agent, tick, about).plain() == full.recall(agent, tick, about).plain()
    assert bare.search("pipes") == full.search("pipes")


def test_damaged_arrays_are_made_again(home, run, words):
    expected = memory.open(run, embedder=words).search("pipes")
    place = files.folder(run, run.windows[1].key)
    good = (place / "codes.npy").read_bytes()
    (place / "codes.npy").write_bytes(good[:100])
    assert memory.open(run, embedder=words).search("pipes") == expected
    assert (place / "codes.npy").read_bytes() == good
    (place / "codes.npy").write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert files.load(place) is not None
    assert files.load(place, verify=True) is None
    shutil.rmtree(place)
    assert memory.open(run, embedder=words).search("pipes") == expected


def test_another_embedder_is_refused(run):
    class Other:
        id = "other/1"
        dimension = 32

    with pytest.raises(BadInput, match="do not mix"):
        memory.open(run, embedder=Other()).search("x")


def test_search_is_exact_and_can_be_scoped(view, run, words):
    episodes = run.table("episodes").to_pylist()
    vectors = words.embed([e["sentence"] for e in episodes])
    score = vectors.astype(np.float64) @ words.embed(["pipes and budget"])[0].astype(np.float64)
    best = sorted(range(len(episodes)), key=lambda i: (-round(score[i], 9), -episodes[i]["tick"]))[:5]
    assert [h["tick"] for h in view.search("pipes and budget", top=5)] == [episodes[i]["tick"] for i in best]
    mine = view.search("pipes and budget", agent=0, top=200)
    assert {int(h["episode"][1:], 16) for h in mine} == seen_by(run, 0, 160)


def test_agents_are_found_by_index_id_and_name_and_homonyms_are_refused(view):
    assert view.agent(1) == view.agent("1") == view.agent("bob1") == view.agent("@bob1") == view.agent("Bob Ray") == view.agent("Bob") == 1
    with pytest.raises(BadInput, match="2 agents") as error:
        view.agent("Ann")
    assert "@ann0 (Ann Lee)" in error.value.hint
    assert "@ann3 (Ann Moss)" in error.value.hint
    with pytest.raises(NotFound, match="no agent 'Zoe'"):
        view.agent("Zoe")
    with pytest.raises(NotFound):
        view.agent(99)


def test_entities_relations_and_neighbourhoods(view):
    assert [e["id"] for e in view.entities()] == ["water", "trains", "@ann0", "@bob1", "@cleo2", "@ann3", "@dan4"]
    assert [e["id"] for e in view.entities("Bob Ray on trains")] == ["trains", "@bob1"]
    assert [e["id"] for e in view.entities("ann")] == ["@ann0", "@ann3"]
    held = view.relations("bob1", kind="opinion")
    assert {r["on"] for r in held} <= {"water", "trains"}
    assert all(r["of"] == "@bob1" and r["evidence"] for r in held)
    facts = view.neighborhood(["bob1"], hops=1)
    assert {f["of"] for f in facts} == {"@bob1"}


def test_beliefs_are_explained_down_to_the_episodes(view, run):
    found = view.explain("bob1", topic="Water")
    assert found.in_force is not None
    cited = {
        int(s.episode["episode"][1:], 16) if isinstance(s.episode["episode"], str) else s.episode["episode"]
        for s in found.in_force.evidence
    }
    assert cited <= {e["episode"] for e in run.table("episodes").to_pylist() if e["actor"] == 1}
    with pytest.raises(NotFound, match="no topic 'fire'"):
        view.explain("bob1", topic="fire")
    with pytest.raises(BadInput, match="towards an agent"):
        view.explain("bob1", kind="attitude")


def test_a_persona_state_is_the_newest_that_was_made(view):
    assert view.persona(0, 39) is None
    assert view.persona(0, 45)["tick"] == 40
    assert view.persona(0)["tick"] == 160


def test_the_snapshot_is_the_table_of_its_window(run, words):
    assert memory.open(run, as_of=85, embedder=words).snapshot().count_rows() == 80
    assert memory.open(run, embedder=words).snapshot().count_rows() == 160
    with pytest.raises(NotFound, match="no window"):
        memory.open(run, as_of=10, embedder=words).snapshot()
