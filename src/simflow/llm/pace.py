"""Rate limits: requests and tokens a minute, and the pause that an endpoint asks for, shared by all calls in flight."""

from __future__ import annotations

import threading
import time

from simflow.errors import Stopped


class Halted(Stopped):
    """Nothing more is asked: what was being asked has failed as a whole."""


class Pace:
    """Spaces calls out evenly. Safe for threads; a waiting call does not hold the lock."""

    def __init__(self, requests_per_minute: int | None = None, tokens_per_minute: int | None = None) -> None:
        self.every = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self.per_token = 60.0 / tokens_per_minute if tokens_per_minute else 0.0
        self._free = 0.0
        self._tokens_free = 0.0
        self._paused = 0.0
        self._lock = threading.Lock()
        self._halt = threading.Event()

    def wait(self, tokens: int) -> None:
        """Block until a call of `tokens` prompt tokens may start. Raises Halted."""
        while (delay := self._claim(tokens)) > 0:
            self.sleep(delay)

    def sleep(self, seconds: float) -> None:
        """Wait. Raises Halted as soon as nothing more is asked."""
        if self._halt.wait(min(seconds, threading.TIMEOUT_MAX)):
            raise Halted("nothing more is asked")

    def spent(self, tokens: int) -> None:
        """An answer had `tokens`, which count against the limit as those of its prompt do."""
        with self._lock:
            self._tokens_free = max(self._tokens_free, time.monotonic()) + tokens * self.per_token

    def pause(self, seconds: float) -> None:
        """Nobody starts a call for `seconds`: the endpoint said so."""
        with self._lock:
            self._paused = max(self._paused, time.monotonic() + seconds)

    def halt(self) -> None:
        """Wake those that wait, and let nobody else begin, until `resume`."""
        self._halt.set()

    def resume(self) -> None:
        """Calls may begin again."""
        self._halt.clear()

    def _claim(self, tokens: int) -> float:
        # Zero: the call may start, and its place is taken. Else: seconds after which to ask again.
        if self._halt.is_set():
            raise Halted("nothing more is asked")
        with self._lock:
            now = time.monotonic()
            ready = max(self._free, self._tokens_free, self._paused)
            if ready > now:
                return ready - now
            self._free = max(self._free, now) + self.every
            self._tokens_free = max(self._tokens_free, now) + tokens * self.per_token
            return 0.0
