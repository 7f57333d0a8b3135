"""One at a time: a lock on a file of this machine (or of a network file system), or a lease on an object store."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from simflow.errors import RunFailed
from simflow.runs.place import SCHEME, is_remote

TERM = 30.0
"""Seconds after which a lease that its holder has not renewed may be taken over: what a killed worker costs the next one."""


class Busy(Exception):
    """Somebody else holds the lock."""


class Hold(Protocol):
    """A lock that is held."""

    def sure(self) -> None:
        """Raise RunFailed if the lock has been lost to somebody else."""
        ...


@contextmanager
def held(path: Path, *, wait: bool, term: float = TERM) -> Iterator[Hold]:
    """Hold the lock `path` for the block. wait: for another holder to end; otherwise Busy is raised.

    On an object store a holder that falls silent for `term` seconds loses the lease, so that a killed worker blocks nobody for good. Nobody's
    clock is compared with another's: whoever waits looks whether the lease changes.
    """
    if is_remote(path):
        lease = Lease(path, term)
        lease.acquire(wait=wait)
        try:
            yield lease
        finally:
            lease.release()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise Busy(str(path)) from None
        yield _Certain()


class _Certain:
    """A lock of the operating system: lost only with the process."""

    def sure(self) -> None:
        """It is."""


class Lease:
    """An object that says who works, written with a condition on what was there, renewed from a thread."""

    def __init__(self, path: Path, term: float) -> None:
        from obstore import exceptions  # noqa: PLC0415 - an extra

        from simflow.runs.objects import bucket_store  # noqa: PLC0415

        bucket, _, self.key = str(path).removeprefix(SCHEME).partition("/")
        self.store = bucket_store(bucket)
        self.taken: tuple[type[BaseException], ...] = (exceptions.AlreadyExistsError, exceptions.PreconditionError)
        self.failed: type[BaseException] = exceptions.BaseError
        self.term = term
        self.owner = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._tag: str | None = None
        self._beat = 0
        self._lost = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="simflow-lease", daemon=True)

    def acquire(self, *, wait: bool) -> None:
        """Take the lease. Raises Busy if its holder is alive and `wait` is false."""
        seen: str | None = None
        since = time.monotonic()
        while not self._put("create"):
            now = self._look()
            if now is None:
                continue
            if now != seen:
                if seen is not None and not wait:
                    raise Busy(self.key)
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > self.term and self._put({"e_tag": seen}):
                break
            time.sleep(min(1.0, self.term / 10))
        self._thread.start()

    def sure(self) -> None:
        """Raise RunFailed if another worker has taken the lease over."""
        if self._lost:
            raise RunFailed(
                f"the lease {self.key} went to another worker", hint="this one was silent for too long; what is committed is kept"
            )

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        if not self._lost and self._look() == self._tag:
            self.store.delete(self.key)

    def _renew(self) -> None:
        while not self._lost and not self._stop.wait(self.term / 3):
            self._renew_once()

    def _renew_once(self) -> None:
        with suppress(RunFailed):  # the store is away for a moment: the next beat tries again, unless somebody has taken over meanwhile
            self._lost = not self._put({"e_tag": self._tag})

    def _put(self, mode: Any) -> bool:
        self._beat += 1
        content = json.dumps({"owner": self.owner, "beat": self._beat}).encode()
        try:
            self._tag = self.store.put(self.key, content, mode=mode)["e_tag"]
        except self.taken:
            return False
        except self.failed as error:
            first = str(error).strip().splitlines()[0]
            raise RunFailed(
                f"the lease {self.key} cannot be taken: {first}", hint="the object store must support conditional writes (If-Match)"
            ) from error
        return True

    def _look(self) -> str | None:
        try:
            return self.store.head(self.key)["e_tag"]
        except FileNotFoundError:
            return None
