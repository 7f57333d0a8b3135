"""An endpoint's answer as it came: what it says, what it cost, or why it cannot be used. Read as leniently as real servers need.

Servers that call themselves compatible leave out roles and ids, invent reasons for ending, send a text in parts, think aloud before they
answer, or wrap JSON in a fence. None of that makes an answer wrong, and each was paid for. What an answer must say is checked by its shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import toktok
from openai.types.chat import ChatCompletion
from pydantic import ValidationError

from simflow.llm.reading import clean
from simflow.llm.wire import Unusable

ENCODING = "o200k_base"
MOST = 10_000_000
"""Tokens beyond which what a server reports of one call is no report."""
REASON = 200
"""Characters of a reason that are kept."""
_CUT = frozenset({"length", "max_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety", "recitation", "prohibited_content"})
_CANDIDATES = 20


def read(answer: Mapping[str, Any]) -> ChatCompletion:
    """What Instructor reads. Raises Unusable for an answer without words, a refusal, or what is no answer at all."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise Unusable("empty", "the answer has no choices")
    choice = choices[0] if isinstance(choices[0], dict) else {}
    found = choice.get("message")
    message: dict[str, Any] = found if isinstance(found, dict) else {}
    ended = str(choice.get("finish_reason") or "stop").lower()
    if isinstance(message.get("refusal"), str) and message["refusal"].strip():
        raise Unusable("refused", short(message["refusal"]))
    if ended in _FILTERED:
        raise Unusable("refused", "the provider's content filter")
    words, calls = _text(message.get("content")), _calls(message.get("tool_calls"))
    if ended in _CUT and _thought(answer, message, words):
        raise Unusable("truncated", "the answer was cut while the model thought; SIMFLOW_LLM_THINKING gives it more tokens for that")
    if ended not in _CUT:
        said = bare(words)
        if not said and not calls:
            raise Unusable("empty", "the answer has no words")
        words = said
    given, cached, out = _reported(answer)
    try:
        return ChatCompletion.model_validate(
            {
                "id": "",
                "object": "chat.completion",
                "created": 0,
                "model": "",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "length" if ended in _CUT else "stop",
                        "message": {"role": "assistant", "content": words, "tool_calls": calls or None},
                    }
                ],
                "usage": {
                    "prompt_tokens": given or 0,
                    "completion_tokens": out or 0,
                    "total_tokens": (given or 0) + (out or 0),
                    "prompt_tokens_details": {"cached_tokens": cached},
                },
            }
        )
    except ValidationError as error:
        raise Unusable("invalid", f"not a chat completion ({short(str(error))})") from None


def spent(answer: Mapping[str, Any], counted: int) -> tuple[int, int, int]:
    """Tokens of an answer: (in, of these from the provider's cache, out).

    counted: prompt tokens as we count them. They stand where the server reports none, or what cannot be: an answer is never free.
    """
    given, cached, out = _reported(answer)
    if given is None:
        given = counted
    if out is None:
        out = sum(toktok.batch_count([_written(answer)], ENCODING, threads=1))
    return given, min(cached, given), out


def bare(words: str) -> str:
    """The JSON object in what a model said, without thoughts before it, a fence or a preamble around it; `words` where there is none."""
    said = words.strip("\ufeff\0 \t\r\n")
    if not said.startswith("{"):
        said = said.partition("</think>")[2].strip() if "</think>" in said else said
    at, decoder = said.find("{"), json.JSONDecoder()
    for _ in range(1 if at == 0 else _CANDIDATES):
        if at < 0:
            break
        try:
            return said[at : decoder.raw_decode(said, at)[1]]
        except (ValueError, RecursionError):
            at = said.find("{", at + 1)
    return said


def short(words: str) -> str:
    """Somebody else's words as a reason: one line, nothing that a terminal would obey."""
    return clean(words, REASON)


def _thought(answer: Mapping[str, Any], message: Mapping[str, Any], words: str) -> bool:
    usage = answer.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    counted = _whole(details.get("reasoning_tokens")) if isinstance(details, dict) else None
    return bool(counted or message.get("reasoning_content") or message.get("reasoning")) or words.lstrip().startswith("<think>")


def _reported(answer: Mapping[str, Any]) -> tuple[int | None, int, int | None]:
    # (in, of it cached, out) as far as a report can be believed. Some servers count thoughts in the total alone.
    found = answer.get("usage")
    usage = found if isinstance(found, dict) else {}
    details = usage.get("prompt_tokens_details")
    given, out, total = (_whole(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    if given and out is not None and total:
        out = max(out, total - given)
    if out == 0 and _written(answer):
        out = None
    cached = _whole(details.get("cached_tokens")) if isinstance(details, dict) else None
    return given or None, cached or 0, out


def _whole(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else None


def _written(answer: Mapping[str, Any]) -> str:
    # Everything that a server may count as output: words, thoughts, calls.
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return ""
    words = [_text(message.get(name)) for name in ("content", "reasoning_content", "reasoning", "refusal")]
    return "\n".join([w for w in words if w] + [json.dumps(message[n]) for n in ("tool_calls", "function_call") if message.get(n)])


def _text(content: Any) -> str:
    # A text, or one in parts, of which thoughts are no part. A lone surrogate is no character.
    if isinstance(content, list):
        content = "".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))
    return content.encode("utf-8", "replace").decode() if isinstance(content, str) else ""


def _calls(given: Any) -> list[dict[str, Any]]:
    found = []
    for call in given if isinstance(given, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        arguments = function.get("arguments")
        words = _text(arguments) if isinstance(arguments, str) else json.dumps(arguments)
        found.append({"id": "", "type": "function", "function": {"name": _text(function.get("name")), "arguments": words}})
    return found
