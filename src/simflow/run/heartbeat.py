"""How far a run is, told to the ledger twice a second and to whoever else listens."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from typing import Any, Protocol, Self

from simflow.runs import Ledger, Progress, is_remote

PERIOD, REMOTE_PERIOD = 0.5, 5.0
"""Seconds between two beats; on object storage each one is a request."""


class Listener(Protocol):
    """Is told of each change, at most twice a second and at each stage; used for terminals and orchestrators."""

    def __call__(self, progress: Progress) -> None:
        """Take the newest progress."""
        ...


class Heartbeat:
    """Keeps progress.json alive from a thread of its own, so that a long stage does not look dead.

    Use as a context manager around the work; `tell` changes fields, `stage` reports ticks of the stage at hand.
    """

    def __init__(self, ledger: Ledger, first: Progress, listener: Listener | None = None) -> None:
        self.ledger = ledger
        self.listener = listener
        self._now = dataclasses.replace(first, pid=os.getpid(), heartbeat=time.time())
        self._period = REMOTE_PERIOD if is_remote(ledger.record.path) else PERIOD
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="simflow-heartbeat", daemon=True)

    @property
    def now(self) -> Progress:
        """The newest progress."""
        return self._now

    def __enter__(self) -> Self:
        """Start beating."""
        self._write()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop beating; the last word has been told before."""
        self._stop.set()
        self._thread.join()
        self._write()

    def tell(self, **changes: Any) -> None:
        """Change some fields; a change of stage or state is passed on at once."""
        with self._lock:
            before = self._now
            self._now = dataclasses.replace(before, **changes)
        if (before.stage, before.state) != (self._now.stage, self._now.state):
            self._write()

    def _beat(self) -> None:
        while not self._stop.wait(self._period):
            with contextlib.suppress(OSError):  # a disk that is full for a while; the work itself tells when it cannot write
                self._write()

    def _write(self) -> None:
        with self._lock:
            self._now = dataclasses.replace(self._now, heartbeat=time.time())
            self.ledger.progress(self._now)
            if self.listener:
                self.listener(self._now)
