"""Ctrl-C while a run starts up, in code that swallows it."""

from __future__ import annotations

import contextlib
import signal

import pytest

from simflow_pipelines.heed import heed, heeded
from simflow_pipelines.interrupts import DagsterExecutionInterruptedError, interruptible


def test_an_interrupt_that_a_library_swallows_keeps_the_work_from_beginning():
    begun = []
    before = signal.getsignal(signal.SIGINT)
    with heeded():
        with contextlib.suppress(BaseException):  # as an import with a bare `except:` does
            signal.raise_signal(signal.SIGINT)
            begun.append("after Ctrl-C")
        with pytest.raises(DagsterExecutionInterruptedError), interruptible():
            begun.append("the work")
    assert begun == []
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_of_one_command_is_none_of_the_next():
    with contextlib.suppress(KeyboardInterrupt), heeded():
        signal.raise_signal(signal.SIGINT)
    with heeded():
        heed()
        with interruptible():
            pass
