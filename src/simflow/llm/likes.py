"""What an endpoint turned out not to take: parameters that newer models reject, keywords of a schema, the role `system`.

Each is learnt from the endpoint's own complaint, once, and left out of everything that is sent to it afterwards. What is recorded is the
request as it was meant, so that a recording does not depend on who answered.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any

import openai

_RENAMED = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = ("temperature", "seed", "max_tokens", "parallel_tool_calls", "strict")
_KEYWORDS = ("minLength", "maxLength", "minItems", "maxItems", "title")
_SYSTEM = "system role"
_DENIED = re.compile(
    r"not (?:currently )?(?:supported|permitted|allowed|accepted)|unsupported|does not support|unknown|unrecogni[sz]ed|unexpected|extra"
)
_TOLD = 600


class Likes:
    """Safe for threads."""

    def __init__(self) -> None:
        self._denied: set[str] = set()
        self._lock = threading.Lock()

    def learn(self, error: openai.APIStatusError) -> bool:
        """Whether a complaint names something that can be left out and was not yet: the call is worth another try."""
        if error.status_code not in {400, 422}:
            return False
        with self._lock:
            new = _named(error) - self._denied
            self._denied |= new
        return bool(new)

    def fitted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request without what the endpoint does not take."""
        with self._lock:
            denied = set(self._denied)
        if not denied:
            return dict(request)
        fitted: dict[str, Any] = without(dict(request), denied & {*_KEYWORDS, "strict"})
        for name in denied & fitted.keys() & set(_OPTIONAL):
            value = fitted.pop(name)
            if name in _RENAMED:
                fitted[_RENAMED[name]] = value
        if _SYSTEM in denied:
            words = "\n\n".join(str(m["content"]) for m in fitted["messages"])
            fitted["messages"] = [{"role": "user", "content": words}]
        return fitted


def _named(error: openai.APIStatusError) -> set[str]:
    words = f"{error.message} {error.body}"[:_TOLD]
    if error.param in _OPTIONAL and error.code in {"unsupported_parameter", "unsupported_value"}:
        return {str(error.param)}
    if not _DENIED.search(words.lower()):
        return set()
    if re.search(r"system.{0,10}role|role.{0,10}system|system message|developer instruction", words.lower()):
        return {_SYSTEM}
    return {name for name in (*_OPTIONAL, *_KEYWORDS) if re.search(rf"(?<![A-Za-z_]){name}(?![A-Za-z_])", words)}


def without(value: Any, keys: set[str]) -> Any:
    """A request less some keywords of the schema in it, wherever that stands; a property of such a name is not one."""
    if isinstance(value, list):
        return [without(v, keys) for v in value]
    if not isinstance(value, dict):
        return value
    return {
        k: {name: without(v, keys) for name, v in inner.items()} if k == "properties" and isinstance(inner, dict) else without(inner, keys)
        for k, inner in value.items()
        if k not in keys
    }
