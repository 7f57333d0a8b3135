"""The endpoint as the environment describes it: address, key, model, mode, limits. Nothing of this is ever in a scenario."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from simflow.errors import BadInput
from simflow.llm import local
from simflow.runs import place, workplace

Mode = Literal["json_schema", "json", "md_json", "tools", "auto"]
Taping = Literal["off", "record", "replay", "replay-only"]
T = TypeVar("T")

SECRET = 8
"""Characters from which on a key is one; `none`, `EMPTY` or `ollama` are what servers without keys are given."""
CALLS = ("/chat/completions", "/completions", "/embeddings")
"""What an address does not end with."""
MODES: tuple[Mode, ...] = ("json_schema", "json", "md_json", "tools")
TAPINGS: tuple[Taping, ...] = ("off", "record", "replay", "replay-only")
VARIABLES: dict[str, str] = {
    "OPENAI_API_KEY": "the key; kept out of every file and message",
    "OPENAI_BASE_URL": "address of an OpenAI-compatible server, such as http://localhost:11434/v1; OpenAI itself if unset",
    "SIMFLOW_LLM_MODEL": "model name, where the scenario names none",
    "SIMFLOW_LLM_MODE": "json_schema (default), json, md_json, tools, or auto: ask the endpoint what it can do",
    "SIMFLOW_LLM_CACHE": "replay (default: ask only what has no recorded answer), record (ask anew), replay-only, off",
    "SIMFLOW_LLM_CONCURRENCY": "calls in flight at once (4)",
    "SIMFLOW_LLM_RPM": "requests a minute, unlimited if unset",
    "SIMFLOW_LLM_TPM": "tokens a minute, unlimited if unset",
    "SIMFLOW_LLM_TIMEOUT": "seconds that one call may take, from connecting to its last byte (120)",
    "SIMFLOW_LLM_PATIENCE": "seconds of trying again before an endpoint counts as unreachable (300)",
    "SIMFLOW_LLM_THINKING": "tokens that a model which thinks before it answers may have beside those of its answer (0)",
    "SIMFLOW_LLM_PRICES": "a YAML file of prices beside the ones that ship",
    "SIMFLOW_LLM_PRICE": "price of the model, 'input,output' in USD a million tokens; 0,0 for a model of your own",
}
"""Every variable that this room reads."""
MEANT = {"BASE_URL": "OPENAI_BASE_URL", "URL": "OPENAI_BASE_URL", "API_KEY": "OPENAI_API_KEY", "KEY": "OPENAI_API_KEY"}
"""What somebody means who writes these behind SIMFLOW_LLM_."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where calls go and how. Times in seconds. The key never shows in a repr."""

    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    mode: Mode = "json_schema"
    taping: Taping = "replay"
    tapes: Path | None = None
    concurrency: int = 4
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout: float = 120.0
    patience: float = 300.0
    backoff: float = 1.0
    thinking: int = 0
    prices: Path | None = None
    price: tuple[float, float] | None = None

    @classmethod
    def from_environment(cls, model: str | None, environ: Mapping[str, str] | None = None, *, of_personas: str | None = None) -> Endpoint:
        """Read `VARIABLES`; `model` is the scenario's. Raises BadInput for values that cannot be used, naming the variable.

        of_personas: the model where neither names one, since personas have their own.
        """
        env = os.environ if environ is None else environ
        _known(env)
        named = model or env.get("SIMFLOW_LLM_MODEL") or of_personas
        if not named:
            raise BadInput("no model is named", hint="write `models: {model: NAME}` in the scenario, or set SIMFLOW_LLM_MODEL")
        base_url = _address(env.get("OPENAI_BASE_URL"))
        mode = _one_of(env, "SIMFLOW_LLM_MODE", (*MODES, "auto"), "json_schema")
        taping = _one_of(env, "SIMFLOW_LLM_CACHE", TAPINGS, "replay")
        prices = env.get("SIMFLOW_LLM_PRICES")
        return cls(
            model=named,
            base_url=base_url,
            key=_key(env.get("OPENAI_API_KEY")),
            mode=mode,
            taping=taping,
            tapes=_home(env) / "cache" / "llm",
            concurrency=_number(env, "SIMFLOW_LLM_CONCURRENCY", int) or 4,
            requests_per_minute=_number(env, "SIMFLOW_LLM_RPM", int),
            tokens_per_minute=_number(env, "SIMFLOW_LLM_TPM", int),
            timeout=_number(env, "SIMFLOW_LLM_TIMEOUT", float) or 120.0,
            patience=_number(env, "SIMFLOW_LLM_PATIENCE", float) or 300.0,
            thinking=_number(env, "SIMFLOW_LLM_THINKING", int) or 0,
            prices=Path(prices) if prices else None,
            price=_price(env.get("SIMFLOW_LLM_PRICE")),
        )

    @property
    def local(self) -> bool:
        """Whether the model is the one that this machine serves itself."""
        return self.model == local.MODEL and not self.base_url

    @property
    def place(self) -> str:
        """The endpoint for people: scheme, host and port, without credentials."""
        if not self.base_url:
            return "the local model" if self.local else "api.openai.com"
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def ready(self) -> None:
        """Raise BadInput if calls cannot succeed for want of a key."""
        if self.taping == "replay-only":
            return
        if self.local:
            if reason := local.missing():
                raise BadInput(f"the model '{self.model}' cannot be served here: {reason}", hint=local.INSTALL)
        elif not self.key and not self.base_url:
            raise BadInput(
                "there is no key for api.openai.com",
                hint="set OPENAI_API_KEY; for a server of your own set OPENAI_BASE_URL, which needs no key",
            )

    def unkeyed(self, answer: str) -> str:
        """An answer without the key, should a server send it back: answers are kept. Short words that stand for a key are none."""
        return answer.replace(self.key, "***") if self.key and len(self.key) >= SECRET else answer

    def redact(self, text: str) -> str:
        """`text` without the key, or what looks like one."""
        text = text.replace(self.key, "***") if self.key else text
        return re.sub(r"\b(sk|key|Bearer)([-_ ])[A-Za-z0-9*_\-.]{8,}", r"\1\2***", text)


def _known(env: Mapping[str, str]) -> None:
    # A variable that nothing reads would send calls where nobody meant them to go, or spend what somebody thought was limited.
    prefix = "SIMFLOW_LLM_"
    meant = {name.removeprefix(prefix): name for name in VARIABLES} | MEANT
    for name in sorted(env):
        if not name.startswith(prefix) or name in VARIABLES or not env[name]:
            continue
        near = next((meant[word] for word in difflib.get_close_matches(name.removeprefix(prefix), meant, n=1)), None)
        said = f"is {near} meant ({VARIABLES[near]})?" if near else f"there are {', '.join(VARIABLES)},"
        raise BadInput(f"nothing reads {name}", hint=f"{said} else unset {name}")


def _home(env: Mapping[str, str]) -> Path:
    # The folder of this machine that goes with the ledger's place.
    if given := env.get("SIMFLOW_HOME"):
        return workplace(place(given))
    here = Path.cwd()
    return next((f for f in (here, *here.parents) if (f / ".simflow").is_dir()), here) / ".simflow"


def _address(given: str | None) -> str | None:
    address = (given or "").strip()
    if not address:
        return None
    hint = "it begins with http:// or https://, for example http://localhost:11434/v1"
    try:
        parts = urlsplit(address)
        named = parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError as error:
        raise BadInput(f"OPENAI_BASE_URL is no address: {error}", hint=hint) from None
    if parts.scheme not in {"http", "https"} or not named or not address.isprintable() or " " in address:
        raise BadInput("OPENAI_BASE_URL is no http address", hint=hint)
    if "@" in parts.netloc:
        raise BadInput("OPENAI_BASE_URL holds a user name or password", hint="addresses end up in logs: give the key in OPENAI_API_KEY")
    if end := next((call for call in CALLS if parts.path.rstrip("/").endswith(call)), None):
        raise BadInput(f"OPENAI_BASE_URL ends with {end}", hint="the address ends before that, which the calls add themselves")
    if parts.query or parts.fragment:
        raise BadInput("OPENAI_BASE_URL holds more than an address", hint="it ends with its path, such as /v1")
    return address


def _key(given: str | None) -> str | None:
    # A key read from a file often brings a line end along, which no header can hold.
    key = (given or "").strip()
    if key and not (key.isascii() and key.isprintable() and not set(key) & set(" \"'")):
        raise BadInput("OPENAI_API_KEY holds characters that no key has", hint="a space, a line end, quotation marks around it?")
    return key or None


def _one_of(env: Mapping[str, str], name: str, allowed: tuple[T, ...], default: T) -> T:
    given = env.get(name)
    if not given:
        return default
    for value in allowed:
        if given == value:
            return value
    raise BadInput(f"{name} is '{given}'", hint=f"one of {', '.join(str(a) for a in allowed)}")


def _number(env: Mapping[str, str], name: str, kind: Callable[[str], T]) -> T | None:
    given = env.get(name)
    if not given:
        return None
    try:
        value = kind(given)
    except ValueError:
        raise BadInput(f"{name} is '{given}', which is no {'whole ' if kind is int else ''}number", hint=VARIABLES[name]) from None
    if not 0 < float(given) < 1e9:
        raise BadInput(f"{name} is {given}", hint="a number above 0")
    return value


def _price(given: str | None) -> tuple[float, float] | None:
    if not given:
        return None
    try:
        low, high = (float(part) for part in given.split(","))
    except ValueError:
        raise BadInput(f"SIMFLOW_LLM_PRICE is '{given}'", hint="input and output price, for example 0.15,0.60 or 0,0") from None
    if not (0 <= low < 1e6 and 0 <= high < 1e6):
        raise BadInput(f"SIMFLOW_LLM_PRICE is '{given}'", hint="prices are 0 or more, in USD a million tokens")
    return low, high
