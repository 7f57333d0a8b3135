"""HTTP as the wire needs it: whatever an endpoint sends, of success or of failure, ends by a deadline and within a size, at one address."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from typing import cast

import httpx2  # what openai speaks HTTP with
import openai

LARGEST = 8_000_000
"""Bytes of an answer beyond which it is cut off."""
_BEGAN = "simflow_began"


def client(key: str | None, address: str, timeout: float) -> openai.OpenAI:
    """A client that neither tries again nor follows anybody elsewhere: what is sent is for the one who was named.

    timeout: seconds, for the headers of an answer and once more for all of it, that of an error too. While a body is read, ReadTimeout
    or RemoteProtocolError is raised for one that is too late or too large.
    """

    def begin(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, _BEGAN: time.monotonic()}

    def bound(response: httpx2.Response) -> None:
        response.stream = _Body(cast("httpx2.SyncByteStream", response.stream), response.request.extensions[_BEGAN] + timeout)

    limits = openai.Timeout(timeout, connect=min(10.0, timeout))
    # Authorities are read where there is something to verify; it takes longer than many a local answer.
    plain = address.startswith("http://")
    sender = httpx2.Client(
        timeout=limits,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
        follow_redirects=False,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
        event_hooks={"request": [begin], "response": [bound]},
    )
    return openai.OpenAI(api_key=key or "none", base_url=address, max_retries=0, timeout=limits, http_client=sender)


class _Body(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, deadline: float) -> None:
        self.inner, self.deadline = inner, deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self.inner:
            size += len(part)
            if size > LARGEST:
                raise httpx2.RemoteProtocolError(f"an answer of more than {LARGEST} bytes")
            if time.monotonic() > self.deadline:
                raise httpx2.ReadTimeout("the answer did not end")
            yield part

    def close(self) -> None:
        self.inner.close()
