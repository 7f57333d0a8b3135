"""One call over HTTP: its deadline, what its failures mean, and the only place in simflow where a call is tried again."""

from __future__ import annotations

import json
import random
import threading
import time
import weakref
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2  # what openai speaks HTTP with; its errors come through when an answer's body is read
import openai

from simflow.errors import EndpointFailed
from simflow.llm import local
from simflow.llm.endpoint import Endpoint
from simflow.llm.pace import Pace

OPENAI = "https://api.openai.com/v1"
LARGEST = 8_000_000
"""Bytes of an answer beyond which it is cut off."""
_RENAMED = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = ("temperature", "seed", "max_tokens", "parallel_tool_calls")


class Unreachable(EndpointFailed):
    """The endpoint did not answer within the patience that it was given."""


class Unusable(Exception):
    """An answer came, or was denied, that cannot be used for this one request. `kind`: refused, rejected, truncated, empty, invalid."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind}: {reason}" if reason else kind)
        self.kind = kind
        self.reason = reason


class Wire:
    """Calls one endpoint. Safe for threads.

    Tried again until `patience` runs out: 408, 409, 429, 5xx, refused and cut connections, timeouts, answers that are no JSON.
    Waits with full jitter, at least as long as Retry-After says; a 429 pauses every other call as well.
    """

    def __init__(self, endpoint: Endpoint, pace: Pace) -> None:
        self.endpoint = endpoint
        self.pace = pace
        self.client = openai.OpenAI(
            api_key=endpoint.key or "none",
            base_url=endpoint.base_url or (local.address() if endpoint.local else OPENAI),  # never looked up a second time
            max_retries=0,
            timeout=openai.Timeout(endpoint.timeout, connect=min(10.0, endpoint.timeout)),
        )
        weakref.finalize(self, self.client.close)  # connections are kept open between calls, and closed with the wire
        self.given_up = False
        self._unknown: set[str] = set()  # parameters that this endpoint turned out not to take
        self._lock = threading.Lock()
        self._jitter = random.Random()  # noqa: S311 - spreads retries; results do not depend on it

    def call(self, request: Mapping[str, Any], tokens: int) -> dict[str, Any]:
        """The endpoint's JSON answer. Raises Unusable, Unreachable, or EndpointFailed where trying again is no use."""
        began = time.monotonic()
        attempt = 0
        while True:
            self.pace.wait(tokens)
            try:
                answer = self._once(self._fitted(request))
            except openai.APIStatusError as error:
                if self._learn(error):
                    continue
                wait, why = self._status(error)
            except (openai.APIError, httpx2.HTTPError, _Cut) as error:
                wait, why = None, self._plain(error)
            else:
                self.given_up = False
                return answer
            attempt += 1
            left = self.endpoint.patience - (time.monotonic() - began)
            delay = self._jitter.uniform(0.5, 1.0) * min(self.endpoint.backoff * 2 ** (attempt - 1), 30.0)
            if wait is not None:
                delay = wait + self._jitter.uniform(0.0, min(1.0, self.endpoint.backoff))
                if why.startswith("429"):
                    self.pace.pause(wait)
            if self.given_up or delay > left:
                self.given_up = True  # until it answers again, one try is enough to tell
                raise Unreachable(
                    f"{self.endpoint.place} did not answer after {attempt} tries in {time.monotonic() - began:.0f} s; last: {why}",
                    hint="run again when it is back: committed windows and answers received are kept. SIMFLOW_LLM_PATIENCE waits longer",
                )
            time.sleep(delay)

    def _once(self, request: dict[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + self.endpoint.timeout
        body = bytearray()
        with self.client.chat.completions.with_streaming_response.create(**request) as response:
            for part in response.iter_bytes():
                body += part
                if time.monotonic() > deadline:
                    raise _Cut(f"no whole answer within {self.endpoint.timeout:g} s")
                if len(body) > LARGEST:
                    raise _Cut(f"an answer of more than {LARGEST} bytes")
        try:
            answer = json.loads(body)
        except ValueError as error:
            raise _Cut(f"an answer that is no JSON ({error})") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            raise _Cut("an answer that is no chat completion")
        return answer

    def _status(self, error: openai.APIStatusError) -> tuple[float | None, str]:
        # What to do about a status: (seconds to wait or None for backoff, words), or an exception where waiting is no use.
        code, why = error.status_code, self._plain(error)
        if code in {408, 409, 425, 429} or code >= 500:
            if code == 429 and error.code in {"insufficient_quota", "billing_hard_limit_reached"}:
                raise EndpointFailed(why, hint="the account is out of credit; no retry will help") from None
            return retry_after(error.response.headers), why
        if code in {401, 403}:
            raise EndpointFailed(why, hint="is OPENAI_API_KEY set, and right for this endpoint?") from None
        if code == 404:
            raise EndpointFailed(
                why, hint="is the model's name right, and does OPENAI_BASE_URL end as the server wants it (often /v1)?"
            ) from None
        text = f"{error.code} {error.type} {why}".lower()
        if code == 413 or "context" in text or "too long" in text or "too large" in text or "maximum" in text:
            raise Unusable("rejected", why) from None
        if "content" in text and ("filter" in text or "polic" in text):
            raise Unusable("refused", why) from None
        hint = "the endpoint does not take such requests; SIMFLOW_LLM_MODE=auto asks it what it can do"
        raise EndpointFailed(why, hint=hint) from None

    def _plain(self, error: Exception) -> str:
        cause = error.__cause__
        words = str(error)
        if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
            words = f"no answer within {self.endpoint.timeout:g} s"
        elif isinstance(error, openai.APIConnectionError) and cause is not None:
            words = f"{words} {type(cause).__name__}: {cause}"
        code = f"{error.status_code}: " if isinstance(error, openai.APIStatusError) else ""
        return self.endpoint.redact(f"{code}{' '.join(words.split())}"[:500])

    def _learn(self, error: openai.APIStatusError) -> bool:
        # Newer models reject parameters that others need; each is dropped or renamed once, for good.
        param = getattr(error, "param", None)
        if error.status_code != 400 or param not in _OPTIONAL or error.code not in {"unsupported_parameter", "unsupported_value"}:
            return False
        with self._lock:
            new = param not in self._unknown
            self._unknown.add(str(param))
        return new

    def _fitted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        fitted = dict(request)
        with self._lock:
            for name in self._unknown & fitted.keys():
                value = fitted.pop(name)
                if name in _RENAMED:
                    fitted[_RENAMED[name]] = value
        return fitted


class _Cut(Exception):
    """The answer did not come whole."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. None if it says nothing usable."""
    if milliseconds := headers.get("retry-after-ms"):
        try:
            return max(0.0, float(milliseconds) / 1000)
        except ValueError:
            pass
    given = headers.get("retry-after")
    if not given:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
