"""Questions to memory are answered in a process of their own, as they would be here."""

from __future__ import annotations

import os
import signal

import pytest

from simflow_tui.asking import Asker, Question
from simflow_tui.oracle import Oracle


@pytest.fixture
def oracle():
    made = Oracle()
    yield made
    made.close()
    made._end()


def test_another_process_answers_the_same_and_its_end_is_told(home, make, oracle):
    made = make.run(home, done=2, each=20)
    question = Question(str(made.record.path), 2, 0, None, "the water tariff", mode="graph")
    here = Asker()
    answer = oracle.recall(home, made.record, question)
    assert answer.block is not None, answer.trouble
    assert answer == here.recall(home, made.record, question)
    beliefs = oracle.beliefs(home, made.record, question)
    assert beliefs.found
    assert beliefs == here.beliefs(home, made.record, question)
    os.kill(oracle._process.pid, signal.SIGKILL)
    told = oracle.recall(home, made.record, question)
    assert told.block is None
    assert "ended (signal 9: was there too little memory?)" in told.trouble
    assert oracle.beliefs(home, made.record, question) == beliefs


def test_what_cannot_be_answered_is_told(home, make, oracle):
    made = make.run(home, done=0)
    told = oracle.recall(home, made.record, Question(str(made.record.path), 0, 0, None, "x"))
    assert "no committed window yet" in told.trouble
