"""HTTP as the wire needs it: a call, whatever becomes of it, ends by one deadline, and within a size, at one address."""

from __future__ import annotations

import math
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import httpcore2
import httpx2  # what openai speaks HTTP with
import openai

LARGEST = 8_000_000
"""Bytes of an answer beyond which it is cut off."""
CONNECTING = 10.0
"""Seconds after which an address that does not take a connection counts as gone."""
_PIECE = 16_384


def client(key: str | None, address: str, timeout: float, *, retries: int = 0, largest: int = LARGEST) -> openai.OpenAI:
    """A client that follows nobody elsewhere: what is sent is for the one who was named. Threads may share it.

    timeout: seconds from connecting to the last byte of an answer, that of an error too, for each of 1 + `retries` tries.
    What is later raises as a timeout of the library does, what is larger than `largest` bytes as httpx2.RemoteProtocolError.
    """
    deadline = _Deadline(timeout)

    def bound(response: httpx2.Response) -> None:
        response.stream = _Body(cast("httpx2.SyncByteStream", response.stream), largest)

    limits = openai.Timeout(timeout, connect=min(CONNECTING, timeout))
    # Authorities are read where there is something to verify; it takes longer than many a local answer.
    plain = address.startswith("http://")
    sender = httpx2.Client(
        timeout=limits,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
        follow_redirects=False,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
        event_hooks={"request": [deadline.begin], "response": [bound]},
    )
    for transport in (sender._transport, *sender._mounts.values()):  # noqa: SLF001 - those that proxies of the environment need are in no public place
        pool = getattr(transport, "_pool", None)
        if pool is not None:  # None: an address that is to be reached without its proxy
            pool._network_backend = _Network(pool._network_backend, deadline)  # noqa: SLF001 - httpx2 does not pass httpcore2's parameter on
    return openai.OpenAI(api_key=key or "none", base_url=address, max_retries=retries, timeout=limits, http_client=sender)


class _Deadline(threading.local):
    """When the call that a thread makes must be over; a connection serves many calls of many threads."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.ends = seconds, math.inf

    def begin(self, request: httpx2.Request) -> None:
        del request
        self.ends = time.monotonic() + self.seconds

    def left(self, timeout: float | None, late: type[Exception]) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise late("the call did not end")
        return left if timeout is None else min(timeout, left)


class _Network(httpcore2.NetworkBackend):
    def __init__(self, inner: httpcore2.NetworkBackend, deadline: _Deadline) -> None:
        self.inner, self.deadline = inner, deadline

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
        left = self.deadline.left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self.inner.connect_tcp(host, port, left, *args, **kwargs), self.deadline)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream, deadline: _Deadline) -> None:
        self.inner, self.deadline = inner, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.inner.read(max_bytes, self.deadline.left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for at in range(0, len(buffer), _PIECE):  # the library would give each part that a socket takes the whole time
            self.inner.write(buffer[at : at + _PIECE], self.deadline.left(timeout, httpcore2.WriteTimeout))

    def start_tls(self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        left = self.deadline.left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self.inner.start_tls(ssl_context, server_hostname, left), self.deadline)

    def get_extra_info(self, info: str) -> Any:
        return self.inner.get_extra_info(info)

    def close(self) -> None:
        self.inner.close()


class _Body(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, largest: int) -> None:
        self.inner, self.largest = inner, largest

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self.inner:
            size += len(part)
            if size > self.largest:
                raise httpx2.RemoteProtocolError(f"an answer of more than {self.largest} bytes")
            yield part

    def close(self) -> None:
        self.inner.close()
