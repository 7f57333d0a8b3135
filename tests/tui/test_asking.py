"""Questions to memory are answered in a process of their own, as they would be here."""

from __future__ import annotations

import fcntl
import os
import signal
import termios
import time
from concurrent.futures import ThreadPoolExecutor

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
    told = killed_while_asked(oracle, lambda: oracle.recall(home, made.record, question))
    assert told.block is None
    assert "ended (signal 9: was there too little memory?)" in told.trouble
    assert oracle.beliefs(home, made.record, question) == beliefs


def killed_while_asked(oracle, ask):
    """What is told when the process ends with the question in its hands: it stands still, takes the question, and is killed."""
    process = oracle._process
    os.kill(process.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        while not fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)).strip(b"\0") and not asked.done():
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        return asked.result()


def test_what_cannot_be_answered_is_told(home, make, oracle):
    made = make.run(home, done=0)
    told = oracle.recall(home, made.record, Question(str(made.record.path), 0, 0, None, "x"))
    assert "no committed window yet" in told.trouble
