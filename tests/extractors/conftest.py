"""One person's stance over time, with the labels given as extraction."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from simflow.memory import beliefs
from simflow.memory.claims import Slot, make
from simflow.ports import Finding

VALUES = {"support": 1.0, "deny": -1.0, "query": 0.0, "comment": 0.0}


@pytest.fixture
def run_switches():
    """(people whose every step is answered rightly, steps, people). A step's stance holds from it until the next one."""

    def go(path):
        right = steps = people = 0
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            row = json.loads(line)
            times = [int(datetime.fromisoformat(s["ts"]).timestamp()) for s in row["steps"]]
            slot = Slot("opinion", number, None, row["thread"], None)
            claims = [
                make(
                    Finding(at, "opinion", number, None, row["thread"], None, VALUES[step["stance"]], 1.0),
                    tick=when - times[0],
                    learnt=times[-1] - times[0] + 1,
                    extractor="labels",
                )
                for at, (step, when) in enumerate(zip(row["steps"], times, strict=True))
            ]
            order = {c.episode: c.episode for c in claims}
            edges = beliefs.table(beliefs.fold(slot, claims, [], learnt=claims[0].learnt, half_life=100, wins=True, order=order))
            moments = [(c.tick, c.value) for c in claims]
            # Of steps in one tick the last is what holds at its end.
            last = dict(moments)
            said = [[e.label for e in beliefs.rows(beliefs.in_force(edges, tick))] for tick in last]
            right += said == [[int(value)] for value in last.values()]
            steps += len(moments)
            people += 1
        return right, steps, people

    return go
