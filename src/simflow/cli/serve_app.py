"""The HTTP service: memories, read-only. What it answers is what the facade answers; the table of endpoints is also its OpenAPI text."""

from __future__ import annotations

import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from simflow import __version__
from simflow.errors import BadInput, NotFound, SimflowError
from simflow.memory import MemoryView
from simflow.memory import open as open_memory
from simflow.runs import find_run, list_runs
from simflow.store import Store

TEXT, QUERY = 4_000, 8_000
"""Characters that a text, and a whole query string, may have."""
ROWS = 200
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost", "[::1]", "testserver"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter. kind: text, integer, or the words to choose from."""

    about: str
    kind: str | tuple[str, ...] = "text"
    required: bool = False
    low: int = 0
    high: int = 2**31 - 1

    def read(self, name: str, text: str) -> str | int:
        """The value. Raises BadInput."""
        if isinstance(self.kind, tuple):
            if text not in self.kind:
                raise BadInput(f"{name} is one of {', '.join(self.kind)}, not '{text[:40]}'")
            return text
        if self.kind == "integer":
            digits = text.removeprefix("-")
            value = int(text) if digits.isascii() and digits.isdigit() and len(digits) < 12 else None
            if value is None or not self.low <= value <= self.high:
                raise BadInput(f"{name} is a whole number from {self.low} to {self.high}, not '{text[:40]}'")
            return value
        if len(text) > TEXT:
            raise BadInput(f"{name} has {len(text)} characters, more than {TEXT}")
        return text

    def schema(self, name: str) -> dict[str, Any]:
        """As an OpenAPI parameter."""
        if isinstance(self.kind, tuple):
            kind: dict[str, Any] = {"type": "string", "enum": list(self.kind)}
        elif self.kind == "integer":
            kind = {"type": "integer", "minimum": self.low, "maximum": self.high}
        else:
            kind = {"type": "string", "maxLength": TEXT}
        return {"name": name, "in": "query", "required": self.required, "description": self.about, "schema": kind}


AGENT = Parameter("index, id or name of an agent", required=True)
TICK = Parameter("tick at which it is asked; default: the end", "integer")
AS_OF = Parameter("open the memory as it was at this tick; default: all that is committed", "integer")
TOP = Parameter("how many at most", "integer", low=1, high=ROWS)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A question about one run: /runs/{run}/<name>."""

    about: str
    answer: Callable[[MemoryView, dict[str, Any]], Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


def _recall(view: MemoryView, asked: dict[str, Any]) -> Any:
    given = {k: asked[k] for k in ("mode", "scope") if k in asked}
    memory = replace(view.cell.memory, **given)
    return view.recall(asked["agent"], asked.get("tick"), asked["about"], memory=memory).plain()


def _explain(view: MemoryView, asked: dict[str, Any]) -> Any:
    return view.explain(asked.pop("agent"), **asked).plain()


def _neighborhood(view: MemoryView, asked: dict[str, Any]) -> Any:
    return view.neighborhood(asked.pop("agents").split(","), **asked)


ENDPOINTS: dict[str, Endpoint] = {
    "recall": Endpoint(
        "the memory block that an agent gets in a situation, its sources, and what was left out",
        _recall,
        {
            "agent": AGENT,
            "about": Parameter("the situation", required=True),
            "tick": TICK,
            "mode": Parameter("another mode than the scenario's", ("vectors", "graph", "hybrid")),
            "scope": Parameter("another scope than the scenario's", ("witnessed", "world")),
        },
    ),
    "explain": Endpoint(
        "why something is believed, down to the raw events",
        _explain,
        {
            "agent": AGENT,
            "topic": Parameter("topic of the belief"),
            "towards": Parameter("agent that an attitude is towards"),
            "kind": Parameter("relation kind"),
            "tick": TICK,
            "known_at": Parameter("use only what had been learnt by this tick", "integer"),
        },
    ),
    "beliefs": Endpoint(
        "why each thing is believed of an agent, opinions first",
        lambda view, asked: [e.plain() for e in view.beliefs(asked.pop("agent"), **asked)],
        {"agent": AGENT, "tick": TICK, "known_at": Parameter("use only what had been learnt by this tick", "integer")},
    ),
    "search": Endpoint(
        "episodes nearest in meaning",
        lambda view, asked: view.search(asked.pop("text"), **asked),
        {
            "text": Parameter("what to search", required=True),
            "agent": replace(AGENT, required=False, about="only what this agent witnessed"),
            "tick": TICK,
            "top": TOP,
        },
    ),
    "entities": Endpoint(
        "agents, topics and declared entities",
        lambda view, asked: view.entities(**asked),
        {"text": Parameter("only those that it names"), "limit": TOP},
    ),
    "relations": Endpoint(
        "edges in force",
        lambda view, asked: view.relations(asked.pop("agent", None), **asked),
        {
            "agent": replace(AGENT, required=False, about="only those of or towards this agent"),
            "kind": Parameter("relation kind"),
            "tick": TICK,
            "known_at": Parameter("as learnt by this tick", "integer"),
            "limit": TOP,
        },
    ),
    "neighborhood": Endpoint(
        "facts within some hops of agents",
        _neighborhood,
        {
            "agents": Parameter("agents, separated by commas", required=True),
            "hops": Parameter("how far", "integer", low=1, high=4),
            "tick": TICK,
            "viewer": Parameter("only what follows from what this agent witnessed"),
            "limit": TOP,
        },
    ),
    "persona": Endpoint(
        "an agent's newest persona state",
        lambda view, asked: view.persona(asked["agent"], asked.get("tick")),
        {"agent": AGENT, "tick": TICK},
    ),
}


class Memories:
    """Open memories, the last few of them. A run that has committed more since is opened anew; an open one does not move."""

    def __init__(self, home: Path, keep: int = 4) -> None:
        self.home, self.keep = home, keep
        self._store = Store(home)
        self._open: OrderedDict[tuple[str, int, int | None], MemoryView] = OrderedDict()
        self._lock = threading.Lock()

    def view(self, run: str, as_of: int | None) -> MemoryView:
        """The memory of a run. Raises NotFound, BadInput."""
        data = self._store.open(find_run(self.home, run))
        key = (data.record.id, len(data.windows), as_of)
        with self._lock:
            if key not in self._open:
                self._open[key] = open_memory(data, as_of=as_of)
                while len(self._open) > self.keep:
                    self._open.popitem(last=False)
            self._open.move_to_end(key)
            return self._open[key]

    def runs(self) -> list[dict[str, Any]]:
        """Known runs, newest first."""
        return [
            {"run": r.id, "state": p.state if (p := r.progress()) else None, "tick": p.tick if p else None, "windows": len(r.windows())}
            for r in list_runs(self.home)
        ]


def make_app(home: Path, *, token: str | None = None, rate: float = 20.0) -> ASGIApp:
    """The service. token: what callers have to send as `Authorization: Bearer`; without one, only this machine is answered.

    rate: requests a second and caller, twice as many at once.
    """
    memories = Memories(home)

    async def runs(_: Request) -> Response:
        return JSONResponse(await run_in_threadpool(memories.runs))

    async def ask(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(_ask, memories, request.path_params, dict(request.query_params.multi_items())))

    async def described(_: Request) -> Response:
        return JSONResponse(openapi())

    async def healthy(_: Request) -> Response:
        return JSONResponse({"simflow": __version__})

    async def known(_: Request, error: Exception) -> Response:
        status = 404 if isinstance(error, NotFound) else 400 if isinstance(error, BadInput) else 500
        return JSONResponse({"error": str(error), "hint": getattr(error, "hint", None)}, status)

    async def broken(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": f"a fault of the service itself: {type(error).__name__}", "hint": "its log says more"}, 500)

    app = Starlette(
        routes=[
            Route("/", healthy),
            Route("/openapi.json", described),
            Route("/runs", runs),
            Route("/runs/{run:path}/{question}", ask),
        ],
        exception_handlers={SimflowError: known, Exception: broken},
    )
    return Gate(app, token=token, rate=rate)


def _ask(memories: Memories, path: Mapping[str, str], query: dict[str, str]) -> Any:
    endpoint = ENDPOINTS.get(path["question"])
    if endpoint is None:
        raise NotFound(f"there is no question '{path['question'][:40]}'", hint=f"there are: {', '.join(ENDPOINTS)}")
    known = {**endpoint.parameters, "as_of": AS_OF}
    if unknown := sorted(set(query) - set(known)):
        raise BadInput(f"unknown parameter '{unknown[0][:40]}'", hint=f"known: {', '.join(known)}")
    asked = {name: known[name].read(name, text) for name, text in query.items()}
    if missing := [name for name, parameter in known.items() if parameter.required and name not in asked]:
        raise BadInput(f"{missing[0]} is missing", hint=known[missing[0]].about)
    as_of = asked.pop("as_of", None)
    return endpoint.answer(memories.view(path["run"], as_of if isinstance(as_of, int) else None), asked)


class Gate:
    """In front of everything: who may ask, how much, how often."""

    def __init__(self, app: ASGIApp, *, token: str | None, rate: float) -> None:
        self.app, self.token, self.rate = app, token, rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        refused = self._refused(scope) if scope["type"] == "http" else None
        await (refused or self.app)(scope, receive, send)

    def _refused(self, scope: Scope) -> Response | None:
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        caller = (scope.get("client") or ("?", 0))[0]
        if wait := self._wait(caller):
            return JSONResponse({"error": "too many requests"}, 429, {"Retry-After": str(wait)})
        if self.token is not None:
            if not hmac.compare_digest(headers.get("authorization", "").encode(), f"Bearer {self.token}".encode()):
                return JSONResponse(
                    {"error": "a token is needed", "hint": "Authorization: Bearer ..."}, 401, {"WWW-Authenticate": "Bearer"}
                )
        elif headers.get("host", "").rsplit(":", 1)[0] not in LOOPBACK and headers.get("host") not in LOOPBACK:
            # A page in a browser on this machine may have been led here under another name.
            return JSONResponse({"error": "without a token, only this machine is answered, under its own name"}, 403)
        if scope["method"] not in {"GET", "HEAD"}:
            return JSONResponse({"error": "the service is read-only"}, 405, {"Allow": "GET, HEAD"})
        if len(scope.get("query_string", b"")) > QUERY or len(scope["path"]) > QUERY:
            return JSONResponse({"error": f"more than {QUERY} characters"}, 414)
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return JSONResponse({"error": "questions have no body"}, 413)
        return None

    def _wait(self, caller: str) -> int:
        # A bucket of 2 x rate tokens for each caller, filled at `rate` a second.
        now = time.monotonic()
        left, then = self._left.pop(caller, (2 * self.rate, now))
        left = min(left + (now - then) * self.rate, 2 * self.rate)
        allowed = left >= 1
        self._left[caller] = (left - 1 if allowed else left, now)
        while len(self._left) > 4096:
            self._left.popitem(last=False)
        return 0 if allowed else max(round((1 - left) / self.rate + 0.5), 1)


def openapi() -> dict[str, Any]:
    """The service as an OpenAPI 3.1 document."""
    good = {"200": {"description": "the answer", "content": {"application/json": {"schema": {}}}}}
    fault = {"type": "object", "properties": {"error": {"type": "string"}, "hint": {"type": ["string", "null"]}}, "required": ["error"]}
    bad = {str(code): {"description": why, "content": {"application/json": {"schema": fault}}} for code, why in FAULTS.items()}
    run = {
        "name": "run",
        "in": "path",
        "required": True,
        "description": "a run's id (with its slash), a part of it, a scenario, or latest",
        "schema": {"type": "string"},
    }
    paths: dict[str, Any] = {"/runs": {"get": {"summary": "known runs, newest first", "responses": {**good, **bad}}}}
    for name, endpoint in ENDPOINTS.items():
        parameters = [run, *(p.schema(n) for n, p in {**endpoint.parameters, "as_of": AS_OF}.items())]
        operation = {"operationId": name, "summary": endpoint.about, "parameters": parameters, "responses": {**good, **bad}}
        paths[f"/runs/{{run}}/{name}"] = {"get": operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": "simflow memories", "version": __version__, "description": "Read-only."},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
        "paths": paths,
    }


FAULTS = {400: "a parameter cannot be used", 401: "a token is needed", 404: "no such run, agent or topic", 429: "too many requests"}
