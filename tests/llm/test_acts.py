"""An agent that a model speaks for can do whatever the platform offers, and nothing that it does not."""

from __future__ import annotations

import json
import re
from collections import Counter
from zlib import crc32

import pytest

from simflow.llm.acting import ACTS, ALONE, ANSWERS
from simflow.llm.scripted import Script, completion, serving
from simflow.plan import Clock, Feed, Models, Network, Persona, Platform
from simflow.run import open_cell

ALL = (*Platform().actions, "report", "message", "group", "search", "trend")


@pytest.fixture
def acted(kit, monkeypatch, tmp_path):
    """(kinds of episodes, outcomes of turns) of a run whose agents do the acts of `wanted`, each agent one after the other."""

    def run(actions, wanted, ticks):
        done = Counter()

        def answer(request, n):
            del n
            content = request["messages"][1]["content"]
            posts = len(re.findall(r"^\d+ @", content, re.MULTILINE))
            # By the agent and its own turns, never by which of those of a tick asks first: that differs from run to run.
            who = content.splitlines()[0]
            turn = done[who]
            done[who] += bool(posts)
            act = wanted[(crc32(who.encode()) + turn) % len(wanted)] if posts else "post"
            said = {"act": act}
            if act not in ALONE:
                said["post"] = 1 if act == "unfollow" else posts
            if act in {*ALONE, *ANSWERS}:
                said |= {"text": f"Thought {turn} of {crc32(who.encode())}", "topic": 1, "stance": 1}
            return completion(json.dumps({"turn": said}))

        cell = kit.a_cell(
            personas=(Persona("speaker", 12, engine="llm"),),
            clock=Clock(ticks=ticks, minutes=60, window=ticks, active=(1.0,) * 24),
            models=Models(engine="llm", model=kit.MODEL),
            network=Network(links=4),
            platform=Platform(actions=actions, feed=Feed(follow=0, explore=1)),
        )
        with serving(Script(answer)) as url:
            monkeypatch.setenv("OPENAI_BASE_URL", url)
            monkeypatch.setenv("OPENAI_API_KEY", kit.KEY)
            run = open_cell("a.yaml", cell, tmp_path / ".simflow")
            run.window(0)
        data = run.data()
        return Counter(data.table("episodes")["kind"].to_pylist()), data.table("turns")["outcome"].to_pylist()

    return run


def test_agents_do_every_act_that_the_platform_enables(acted):
    kinds, outcomes = acted(ALL, list(ACTS), 48)
    assert {a: kinds[a] > 0 for a in ACTS} == dict.fromkeys(ACTS, True)
    assert {o.split(" ")[0].rstrip(":") for o in outcomes} <= {*ACTS, "nothing"}


def test_act_that_the_platform_does_not_offer_is_a_recorded_nothing(acted):
    kinds, outcomes = acted(("post", "like"), ["report", "message", "group"], 8)
    assert not kinds["report"] + kinds["message"] + kinds["group"]
    assert any(o.startswith("nothing: ") for o in outcomes)
