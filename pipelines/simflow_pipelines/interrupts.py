"""Ctrl-C and termination while a window is being computed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dagster._core.errors import DagsterExecutionInterruptedError  # Dagster has no public name for it

from simflow_pipelines.heed import heed

__all__ = ["DagsterExecutionInterruptedError", "interruptible"]


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and a termination reach the work as KeyboardInterrupt, which it knows, and leave as what Dagster calls cancelled.

    Without this Dagster's own exception would fly through code that must not know Dagster, and the run would be filed as failed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        heed()
        yield
    except KeyboardInterrupt as error:
        raise DagsterExecutionInterruptedError from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
