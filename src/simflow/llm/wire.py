"""One call over HTTP: its deadline, what its failures mean, and the only place in simflow where a call is tried again."""

from __future__ import annotations

import json
import random
import re
import ssl
import time
import weakref
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2  # its errors come through when an answer's body is read
import openai

from simflow.errors import EndpointFailed, EndpointRefused
from simflow.llm import local, transport
from simflow.llm.endpoint import Endpoint
from simflow.llm.likes import Likes
from simflow.llm.pace import Pace
from simflow.llm.reading import clean

OPENAI = "https://api.openai.com/v1"
LONGEST = 500
"""Characters of an endpoint's complaint that are kept."""
_PASSING = frozenset({408, 409, 425, 429})
_UNSHAPED = ("json_validate_failed", "tool_use_failed", "failed to generate json", "output_parse_failed")
_NO_MODEL = re.compile(r"invalid model name|not a valid model|model_not_found|unknown model|model .{0,80}(not found|does not exist)")
_TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)|too (long|large|many tokens)|maximum.{0,30}(context|length|tokens)|exceed.{0,40}(token|context|length)"
)


class Unreachable(EndpointFailed):
    """The endpoint did not answer within the patience that it was given."""


class Unusable(Exception):
    """An answer came, or was denied, that cannot be used for this one request. `kind`: refused, rejected, unanswered, truncated, empty, invalid."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind}: {reason}" if reason else kind)
        self.kind = kind
        self.reason = reason


class Wire:
    """Calls one endpoint. Safe for threads.

    Tried again until `patience` runs out: 408, 409, 425, 429, 5xx, refused and cut connections, timeouts, answers that are no completion.
    Waits with full jitter, at least as long as Retry-After says; a 429 pauses every other call as well. Patience counts the seconds of a
    call's own tries and waits, not those in which it waits for its turn.
    """

    def __init__(self, endpoint: Endpoint, pace: Pace) -> None:
        self.endpoint = endpoint
        self.pace = pace
        address = endpoint.base_url or (local.address() if endpoint.local else OPENAI)  # never looked up a second time
        self.client = transport.client(endpoint.key, address, endpoint.timeout)
        weakref.finalize(self, self.client.close)  # connections are kept open between calls, and closed with the wire
        self.given_up = False
        self.likes = Likes()
        self._jitter = random.Random()  # noqa: S311 - spreads retries; results do not depend on it

    def call(self, request: Mapping[str, Any], tokens: int, bill: Callable[[dict[str, Any] | None], None]) -> dict[str, Any]:
        """The endpoint's JSON answer. Raises Unusable, Unreachable, or EndpointRefused where trying again is no use.

        bill: told of what is paid for beside that answer: None each time one that was being made did not come whole, or a whole one
        to a word that was asked to see whether anybody is there.
        """
        used, attempt = 0.0, 0
        while True:
            self.pace.wait(tokens)
            began = time.monotonic()
            found = self._attempt(request, bill)
            if isinstance(found, dict):
                self.given_up = False
                return found
            if found is None:
                continue
            wait, why = found
            attempt += 1
            used += time.monotonic() - began
            delay = self._jitter.uniform(0.5, 1.0) * min(self.endpoint.backoff * 2 ** min(attempt - 1, 16), 30.0)
            if wait is not None:
                delay = max(delay, wait + self._jitter.uniform(0.0, min(1.0, self.endpoint.backoff)))
            if self.given_up or used + delay > self.endpoint.patience:
                # One request that a server chokes on each time must not stand in the way of all others: is it the server, or the request?
                tried = f"after {attempt} {'try' if attempt == 1 else 'tries'} in {used:.0f} s; last: {why}"
                if not why.startswith("429") and not self.given_up and self._alive(str(request.get("model")), bill):
                    raise Unusable("unanswered", f"the endpoint answers others, this not {tried}")
                self.given_up = True  # until it answers again, one try is enough to tell
                raise Unreachable(
                    f"{self.endpoint.place} did not answer {tried}",
                    hint="run again when it is back: committed windows and answers received are kept. SIMFLOW_LLM_PATIENCE waits longer",
                )
            if wait is not None and why.startswith("429"):
                self.pace.pause(wait)
            self.pace.sleep(delay)
            used += delay

    def _attempt(
        self, request: Mapping[str, Any], bill: Callable[[dict[str, Any] | None], None]
    ) -> dict[str, Any] | tuple[float | None, str] | None:
        # An answer; or seconds to wait, if the endpoint says so, and what went wrong; None if it is now known how to ask.
        try:
            return self._once(self.likes.fitted(request))
        except openai.APIStatusError as error:
            return None if self.likes.learn(error) else self._status(error)
        except (openai.APIError, httpx2.HTTPError, _Cut) as error:
            if hint := _untrusted(error):
                raise EndpointRefused(f"{self.endpoint.place}: {self._plain(error)}", hint=hint) from None
            if _working(error):
                bill(None)
            return None, self._plain(error)

    def _alive(self, model: str, bill: Callable[[dict[str, Any] | None], None]) -> bool:
        word: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": "1"}], "max_tokens": 1}
        try:
            bill(self._once(self.likes.fitted(word)))
        except openai.APIStatusError as error:
            return error.status_code < 500 and error.status_code not in _PASSING
        except (openai.APIError, httpx2.HTTPError, _Cut):
            return False
        return True

    def _once(self, request: dict[str, Any]) -> dict[str, Any]:
        body = bytearray()
        with self.client.chat.completions.with_streaming_response.create(**request) as response:
            try:
                for part in response.iter_bytes():
                    body += part
                    if len(body) > transport.LARGEST:
                        raise _Cut(f"an answer of more than {transport.LARGEST} bytes")
            except httpx2.DecodingError as error:
                raise _Cut(f"an answer that cannot be unpacked ({error})") from None
        try:
            answer = json.loads(self.endpoint.unkeyed(body.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            raise _Cut(f"an answer that is no JSON ({error})") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            told = answer.get("error") if isinstance(answer, dict) else None
            raise _Cut(f"an answer that is no chat completion{f' but an error: {told}' if told else ''}")
        first = answer["choices"][0] if answer["choices"] else None
        if isinstance(first, dict) and first.get("error"):  # a router whose provider broke off
            raise _Cut(f"an answer that broke off: {first['error']}")
        return answer

    def _status(self, error: openai.APIStatusError) -> tuple[float | None, str]:
        # What to do about a status: (seconds to wait or None for backoff, words), or an exception where waiting is no use.
        code, why = error.status_code, self._plain(error)
        text = f"{error.code} {error.type} {why}".lower()
        if code == 402 or any(word in text for word in ("insufficient_quota", "billing_hard_limit_reached")):
            raise EndpointRefused(why, hint="the account is out of credit; no retry will help") from None
        if code in _PASSING or code >= 500:
            return retry_after(error.response.headers), why
        if 300 <= code < 400:
            to = urlsplit(error.response.headers.get("location", ""))
            elsewhere = f"{to.scheme}://{to.netloc}{to.path}" if to.netloc else to.path
            raise EndpointRefused(
                f"{why} (to {clean(self.endpoint.redact(elsewhere), 200) or 'nowhere'})",
                hint="calls are sent to nobody but OPENAI_BASE_URL: if that address is right, set it there",
            ) from None
        if "moderation" in text or ("content" in text and ("filter" in text or "polic" in text)):
            raise Unusable("refused", why) from None
        if code in {401, 403}:
            raise EndpointRefused(why, hint="is OPENAI_API_KEY set, and right for this endpoint?") from None
        if code == 404 or _NO_MODEL.search(text):
            raise EndpointRefused(
                why, hint="is the model's name right, and does OPENAI_BASE_URL end as the server wants it (often /v1)?"
            ) from None
        if any(word in text for word in _UNSHAPED):
            raise Unusable("invalid", why) from None
        if code == 413 or (_TOO_LONG.search(text) and not any(word in text for word in ("schema", "response_format", "grammar"))):
            raise Unusable("rejected", why) from None
        hint = (
            "the endpoint does not take such requests: SIMFLOW_LLM_MODE=auto asks it what it can do; some say so of a wrong OPENAI_API_KEY"
        )
        raise EndpointRefused(why, hint=hint) from None

    def _plain(self, error: Exception) -> str:
        cause = error.__cause__
        words = str(error)
        if isinstance(error, openai.APIStatusError):
            body = error.body
            told = next((body[k] for k in ("message", "error", "detail") if body.get(k)), body) if isinstance(body, dict) else body
            words = str(told) if told else "no more said"
        if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
            words = f"no whole answer within {self.endpoint.timeout:g} s"
        elif isinstance(error, openai.APIConnectionError) and cause is not None:
            words = f"{words} {type(cause).__name__}: {cause}"
        code = f"{error.status_code}: " if isinstance(error, openai.APIStatusError) else ""
        return clean(self.endpoint.redact(f"{code}{words}"), LONGEST)


class _Cut(Exception):
    """The answer did not come whole."""


def _working(error: Exception) -> bool:
    # Whether the endpoint had begun to answer, or had the time to: what it then did is billed though it never arrived.
    if isinstance(error, openai.APITimeoutError):
        return not isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.WriteTimeout)
    return isinstance(error, httpx2.HTTPError)  # raised as such only while a body is read


def _untrusted(error: BaseException | None) -> str | None:
    # What to do where two do not come to speak TLS, which no waiting changes; None if that is not what is wrong.
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return "is it the right server? SSL_CERT_FILE names a file of the authorities that are trusted"
        if isinstance(error, ssl.SSLError) and error.reason in {"WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"}:
            return "the server speaks no TLS there: does OPENAI_BASE_URL begin with http:// instead of https://?"
        error = error.__cause__ or error.__context__
    return None


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
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
