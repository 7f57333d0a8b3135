"""Ctrl-C before the work begins: Dagster and what it stands on are imported for seconds, and some of it swallows what is raised meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_pressed = threading.Event()


@contextmanager
def heeded() -> Iterator[None]:
    """Let no Ctrl-C be lost: one that somebody swallows is noted, and `heed` raises it again before anything is computed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        _pressed.set()
        raise KeyboardInterrupt

    _pressed.clear()
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _pressed.clear()


def heed() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed since `heeded` began."""
    if _pressed.is_set():
        raise KeyboardInterrupt
