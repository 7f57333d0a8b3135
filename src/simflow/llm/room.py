"""The client room: everything that a call to a model passes through, behind `ask` and `ask_all`.

Instructor turns a pydantic model into a request and an answer into the model. Between the two, in this order: the recording, the
limits, the pace, the wire. Nothing else in simflow retries, meters or caches calls.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeGuard, TypeVar, cast

import instructor
import toktok
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, ValidationError

from simflow.errors import EndpointFailed
from simflow.llm.completion import ENCODING, read, short, spent
from simflow.llm.endpoint import MODES, Endpoint, Mode
from simflow.llm.likes import without
from simflow.llm.meter import Meter
from simflow.llm.pace import Halted, Pace
from simflow.llm.prices import Price, price
from simflow.llm.recording import Recording, address
from simflow.llm.wire import Unreachable, Unusable, Wire
from simflow.plan import Cell, behaviour, canonical
from simflow.ports import Usage

M = TypeVar("M", bound=BaseModel)
_MODES = {
    "json_schema": instructor.Mode.JSON_SCHEMA,
    "json": instructor.Mode.JSON,
    "md_json": instructor.Mode.MD_JSON,
    "tools": instructor.Mode.TOOLS,
}
logging.getLogger("instructor").setLevel(logging.CRITICAL)  # it logs what is raised anyway, message bodies among it


@dataclass(frozen=True, slots=True)
class Question(Generic[M]):
    """One request: `stable` first and byte-identical over calls, so that a provider can cache it; `text` is what differs.

    shape: the answer's model. attempt: asked for the n-th time, which is a different address in the recording. about: what a person
    would look the question up by (an agent and a tick, a range of ticks); it is not sent.
    """

    phase: str
    stable: str
    text: str
    shape: type[M]
    most: int
    model: str | None = None
    temperature: float = 0.0
    seed: int = 0
    attempt: int = 0
    about: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer(Generic[M]):
    """A validated answer and what it cost; `replayed` if it came from the recording."""

    value: M
    tokens_in: int
    tokens_out: int
    replayed: bool


class Room:
    """One account with one endpoint: engine and extractor of a cell share it."""

    def __init__(self, endpoint: Endpoint, meter: Meter | None = None, account: str | None = None) -> None:
        self.endpoint = endpoint
        self.meter = meter or Meter()
        self.account = account
        self.recording = Recording(endpoint.tapes, endpoint.taping, account)
        self.pace = Pace(endpoint.requests_per_minute, endpoint.tokens_per_minute)
        self._fixed: dict[tuple[str, type[BaseModel]], int] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, cell: Cell, model: str | None = None) -> Room:
        """The room of a cell; the same one while any part of the cell holds it. Reads the environment when it is made.

        model: what a cell that names none was asked of; the environment's if it is None.
        """
        endpoint = Endpoint.from_environment(cell.models.model or model, of_personas=spoken(cell))
        key = (address({"cell": canonical(cell) | {"source": {}}}), endpoint)
        with _lock:
            room = _rooms.get(key)
            if room is None:
                room = cls(endpoint, Meter(cell.limits), account_of(cell, endpoint.model))
                room.keep_in(None)
                _rooms[key] = room
            return room

    def keep_in(self, home: Path | None) -> None:
        """Keep recordings, index and account under `home`, a `.simflow` folder; None is where the environment says. Before any call."""
        tapes = home / "cache" / "llm" if home else self.endpoint.tapes
        if tapes is None or self.meter.ledger == (ledger := tapes / "spent" / f"{self.account}.jsonl"):
            return
        self.endpoint = replace(self.endpoint, tapes=tapes)
        self.meter = Meter(self.meter.limits, ledger)
        self.recording = Recording(tapes, self.endpoint.taping, self.account)

    @functools.cached_property
    def wire(self) -> Wire:
        """The connection, made at the first call."""
        return Wire(self.endpoint, self.pace)

    def ready(self, *models: str | None) -> None:
        """Raise BadInput if a call could not succeed: no key, a model without a price, nothing recorded to replay."""
        for model in models or (None,):
            self.price(model)
        self.endpoint.ready()
        self.recording.ready()

    def price(self, model: str | None = None) -> Price:
        """The price of a model, by default the endpoint's. Raises BadInput if nobody knows it."""
        return price(model or self.endpoint.model, self.endpoint)

    @property
    def bills_schema(self) -> bool:
        """Whether the answer's schema counts as prompt: OpenAI reads it to the model, servers that constrain decoding by it do not."""
        return not self.endpoint.base_url and not self.endpoint.local

    def request(self, question: Question[Any]) -> dict[str, Any]:
        """What would be sent for a question, to the byte; nobody is asked. Mode `auto`, of which only the endpoint knows, is taken for its first."""
        shown: dict[str, Any] = {}
        note: dict[str, Any] = {}

        def create(**request: Any) -> ChatCompletion:
            shown.update(self._strict(request))
            note["error"] = _Shown()
            raise note["error"]

        mode = MODES[0] if self.endpoint.mode == "auto" else self.endpoint.mode
        with contextlib.suppress(_Shown):
            self._shaped(question, question.model or self.endpoint.model, mode, create, note)
        return shown

    def count(self, question: Question[Any]) -> int:
        """Prompt tokens that a question would be billed, about."""
        same = (question.stable, question.shape)
        if same not in self._fixed:
            self._fixed[same] = count(self.request(replace(question, text="")), schema=self.bills_schema)
        return self._fixed[same] + int(sum(toktok.batch_count([question.text], ENCODING, threads=1)))

    def usage(self) -> tuple[Usage, ...]:
        """What was spent in this process, by phase and model."""
        return self.meter.usage()

    def mode(self) -> Mode:
        """How answers are given their shape; `auto` asks the endpoint once."""
        if self.endpoint.mode != "auto":
            return self.endpoint.mode
        from simflow.llm.probe import best  # noqa: PLC0415 - the probe asks through this room

        return best(self)

    def ask(self, question: Question[M], *, mode: Mode | None = None) -> Answer[M]:
        """One answer. Raises Unusable for this question alone, LimitReached, or EndpointFailed for all of them."""
        model = question.model or self.endpoint.model
        note: dict[str, Any] = {}

        def create(**request: Any) -> ChatCompletion:
            note["called"] = True
            try:
                return self._create(question, model, note, self._strict(request))
            except Exception as error:
                note["error"] = error
                raise

        try:
            value, completion = self._shaped(question, model, mode or self.mode(), create, note)
        except Unusable as error:
            self.meter.failed(question.phase, model)
            if "key" in note:
                self.recording.blame(note["key"], error.kind, error.reason)
            raise
        usage = completion.usage
        return Answer(
            cast("M", value), usage.prompt_tokens if usage else 0, usage.completion_tokens if usage else 0, bool(note.get("replayed"))
        )

    def ask_all(self, questions: Sequence[Question[M]]) -> list[Answer[M] | Unusable | Unreachable]:
        """Answers in the order of the questions, `concurrency` at a time. What fails one question stands in its place.

        Raises the first error that concerns all of them. Calls not yet begun are dropped then; those in flight are waited for, since
        they are paid for, but not tried again.
        """
        self.pace.resume()
        self.mode()  # probes once, not in each thread
        with ThreadPoolExecutor(self.endpoint.concurrency, "simflow-llm") as pool:
            futures: list[Future[Answer[M]]] = [pool.submit(self._asked, q) for q in questions]
            try:
                return [_outcome(future) for future in futures]
            except BaseException as error:
                self.pace.halt()
                pool.shutdown(wait=True, cancel_futures=True)
                if isinstance(error, Halted):  # of a call that another one's error stopped
                    raise next(e for f in futures if not f.cancelled() and _concerns_all(e := f.exception())) from None
                raise

    def _asked(self, question: Question[M]) -> Answer[M]:
        try:
            return self.ask(question)
        except BaseException as error:
            if _concerns_all(error):
                self.pace.halt()
            raise

    def _shaped(
        self, question: Question[M], model: str, mode: Mode, create: Callable[..., Any], note: Mapping[str, Any]
    ) -> tuple[Any, ChatCompletion]:
        patched: Any = instructor.patch(create=create, mode=_MODES[mode])
        request: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "system", "content": question.stable}, {"role": "user", "content": question.text}],
            "temperature": question.temperature,
            "seed": question.seed,
            "max_tokens": question.most + self.endpoint.thinking,
        }
        try:
            # No `context`: with one, Instructor would render messages as templates, and messages hold what agents say.
            value = patched(response_model=question.shape, max_retries=0, **request)
        except instructor.core.IncompleteOutputException:
            raise Unusable("truncated", f"the answer was cut at {question.most + self.endpoint.thinking} tokens") from None
        except (instructor.core.InstructorRetryException, ValueError, TypeError, AttributeError, AssertionError, LookupError) as error:
            if "error" in note:
                raise note["error"] from None  # of the call, not of the answer
            if "called" not in note:
                raise  # nothing was asked yet: a fault of ours
            raise Unusable("invalid", short(_fault(error.__cause__ or error))) from None
        return value, value._raw_response  # noqa: SLF001 - Instructor's documented place for the completion

    def _strict(self, request: dict[str, Any]) -> dict[str, Any]:
        shape = request.get("response_format")
        if not isinstance(shape, dict) or shape.get("type") != "json_schema":
            return request
        schema = shape["json_schema"]
        if not self.endpoint.local:
            # OpenAI's strict mode and others take no length limits on strings, and llama.cpp repeats nothing 2000 times; lengths are
            # checked when the answer is read.
            schema = without(schema, {"minLength", "maxLength"})
        return {**request, "response_format": {**shape, "json_schema": {**schema, "strict": True}}}

    def _create(self, question: Question[M], model: str, note: dict[str, Any], request: dict[str, Any]) -> ChatCompletion:
        key = address(request, question.attempt)
        self.recording.note(key, question.phase, question.about)
        found = self.recording.get(key)
        if found is not None:
            note["replayed"] = True
            self.meter.replayed(question.phase, model)
            if "response" not in found:
                raise Unusable(str(found["kind"]), str(found["failure"])) if "kind" in found else Unreachable(str(found["failure"]))
            return read(found["response"])
        cost = self.price(model)
        tokens = count(request, schema=self.bills_schema)

        def bill(answer: Mapping[str, Any] | None) -> None:
            if answer is None:
                self.meter.lost(question.phase, model, cost, tokens)
            else:
                self.meter.charge("probe", model, cost, *spent(answer, tokens))

        self.meter.take_off(tokens, cost)
        try:
            answer = self.wire.call(request, tokens, bill)
        except Unreachable as error:
            self.meter.failed(question.phase, model)
            self.recording.put(key, request, {"failure": str(error)})
            raise
        except Unusable as error:
            self.recording.put(key, request, {"failure": error.reason, "kind": error.kind})
            raise
        except EndpointFailed as error:
            if question.phase == "probe":  # what an endpoint cannot do is an answer to the question what it can
                self.recording.put(key, request, {"failure": str(error), "kind": "rejected"})
            raise
        finally:
            self.meter.land(tokens, cost)
        given, cached, out = spent(answer, tokens)
        self.pace.spent(out)
        self.meter.charge(question.phase, model, cost, given, cached, out)
        self.recording.put(key, request, {"response": answer})
        note["key"] = key
        return read(answer)


class _Shown(Exception):
    """A request was to be seen, not sent."""


_rooms: weakref.WeakValueDictionary[tuple[str, Endpoint], Room] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def spoken(cell: Cell) -> str | None:
    """The model that stands for a cell's where none is named: the first of its personas', if all who speak have one and nothing is read by a model."""
    models = [p.model for p in cell.personas if cell.speaks_for(p)]
    named = sorted(m for m in models if m)
    return named[0] if named and len(named) == len(models) and cell.models.extractor != "llm" else None


def account_of(cell: Cell, model: str) -> str:
    """What a cell's spending and questions are filed under: the same for every run of the same behaviour on the same model."""
    return address({"cell": behaviour(cell), "events": canonical(cell.events), "model": model})[:16]


def count(request: Mapping[str, Any], *, schema: bool = True) -> int:
    """Prompt tokens of a request, about: its messages and tools and, if it is billed, its schema, in OpenAI's newest public encoding."""
    texts = [str(m.get("content") or "") for m in request.get("messages", ())]
    texts += [json.dumps(request[k]) for k in ("response_format", "tools") if k in request and (schema or k == "tools")]
    return int(sum(toktok.batch_count(texts, ENCODING, threads=1))) + 4 * len(texts)


def _outcome(future: Future[Answer[M]]) -> Answer[M] | Unusable | Unreachable:
    try:
        return future.result()
    except (Unusable, Unreachable) as error:
        return error


def _fault(error: BaseException) -> str:
    # What is wrong with an answer, without what it said.
    if not isinstance(error, ValidationError):
        return str(error)
    found = [f"{'.'.join(map(str, e['loc']))} {e['msg']}".strip() for e in error.errors(include_url=False, include_input=False)]
    return "; ".join(found[:3])


def _concerns_all(error: BaseException | None) -> TypeGuard[BaseException]:
    return error is not None and not isinstance(error, Unusable | Unreachable | Halted)
