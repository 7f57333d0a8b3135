"""Each named fault in each phase, through whole runs over real HTTP: nothing is lost or doubled, and a run that met it ends as one that did not."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simflow.errors import EndpointFailed
from simflow.llm.endpoint import Endpoint
from simflow.llm.scripted import Reply, Script, completion, error, serving
from simflow.plan import Clock, Extract, Memory, Models, Network, Normal, Persona, Platform
from simflow.run import open_cell

PHASES = ("act", "extract")
NAMES = ("agents", "episodes", "exposures", "turns", "vectors", "claims", "edges", "personas")


def phase(request):
    """What a request is about."""
    return "act" if "What do you do?" in request["messages"][-1]["content"] else "extract"


def roll(words, sides):
    """A number that depends on words alone."""
    return int(hashlib.sha256(words.encode()).hexdigest(), 16) % sides


def model(request):
    """A model that decides by words alone: by a turn's, or by each line's whatever batch it stands in."""
    content = request["messages"][-1]["content"]
    if phase(request) == "act":
        said = {"act": "post", "text": f"Remark {roll(content, 10_000)} on the tariff.", "topic": 1, "stance": roll(content, 5) - 2}
        return completion(json.dumps({"turn": said}), usage=(300, 30))
    found, silent = [], []
    for number, words in re.findall(r"^(\d+) @[^:]*: (.*)$", content, re.MULTILINE):
        if roll(words, 4):
            found.append({"e": int(number), "c": 1, "v": (-2, -1, 1, 2)[roll(words, 4)]})
        else:
            silent.append(int(number))
    return completion(json.dumps({"r": found, "n": silent}), usage=(200, 5 + 20 * len(found)))


def a_cell(kit):
    """Twelve residents who speak, and whose words are read in small batches."""
    return kit.a_cell(
        personas=(Persona("speaker", 12, engine="llm", stance={"water tariff": Normal(0.5, 0.2)}),),
        clock=Clock(ticks=16, minutes=60, window=8, active=(1.0,) * 24),
        extract=Extract(every=8, batch=2, accept=1.1),
        models=Models(engine="llm", extractor="llm", model=kit.MODEL),
        network=Network(links=2),
        platform=Platform(actions=("post",)),
        memory=Memory(persona_tokens=40, relation_tokens=60, episode_tokens=80),
    )


@dataclass
class Faulty:
    """A server that strikes contents of some phases, in turn with each of `faults`, at their first asking; for ever if `lasting`."""

    faults: dict[str, Any] = field(default_factory=dict)
    phases: tuple[str, ...] = PHASES
    spared: frozenset[str] = frozenset()
    lasting: bool = False
    struck: Counter[tuple[str, str]] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    seen: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, request, _):
        """The reply to a request. Requests come one at a time."""
        content = request["messages"][-1]["content"]
        what, first = phase(request), content not in self.seen
        strikes = self.faults and what in self.phases and content not in self.spared and len(request["messages"]) > 1
        if first:
            nth = sum(self.struck[fault, what] for fault in self.faults)
            self.seen[content] = list(self.faults)[nth % len(self.faults)] if strikes else None
        fault = self.seen[content]
        if fault and (first or self.lasting):
            self.struck[fault, what] += 1
            reply = self.faults[fault]
            return reply(request) if callable(reply) else reply
        if len(request["messages"]) == 1:
            return error(503)  # a word, to see whether anybody is there: nobody is
        self.answered[content] += 1
        return model(request)


def go(kit, home, answer, monkeypatch):
    """A run, window by window, with everything it leaves; `error` if it ended."""
    with serving(Script(answer)) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        run = open_cell("matrix.yaml", a_cell(kit), home)
        ended = None
        try:
            for number in range(len(run.windows)):
                run.window(number)
        except EndpointFailed as failed:
            ended = failed
    data = run.data()
    usage = [row for w in data.windows for row in data.window(w.number).manifest["usage"]]
    return SimpleNamespace(
        run=run,
        error=ended,
        files=sorted(
            (w.number, name, hashlib.sha256(Path(data.window(w.number).location(name)).read_bytes()).hexdigest())
            for w in data.windows
            for name in NAMES
        ),
        calls={p: sum(u["calls"] for u in usage if u["phase"] == p) for p in PHASES},
        tokens=sum(u["tokens_in"] + u["tokens_out"] for u in usage),
        account=sum(json.loads(line)["tokens"] for f in home.rglob("spent/*.jsonl") for line in f.read_text().splitlines()),
    )


@pytest.fixture(autouse=True)
def _at(kit, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", kit.KEY)
    monkeypatch.setenv("SIMFLOW_LLM_PATIENCE", "300")


def through(kit, tmp_path_factory, answer, **settings):
    """A run that a module's tests look at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", kit.KEY)
        for name in ("CACHE", "MODE", "MODEL", "TIMEOUT"):
            patch.delenv(f"SIMFLOW_LLM_{name}", raising=False)
        for name, value in {"CONCURRENCY": "1", "PATIENCE": "300", **settings}.items():
            patch.setenv(f"SIMFLOW_LLM_{name}", value)
        made = Endpoint.from_environment
        patch.setattr(Endpoint, "from_environment", lambda *given, **more: replace(made(*given, **more), backoff=0.01))
        found = go(kit, tmp_path_factory.mktemp("run") / ".simflow", answer, patch)
    found.answer = answer
    return found


@pytest.fixture(scope="module")
def undisturbed(kit, tmp_path_factory):
    """The run that met no fault."""
    found = through(kit, tmp_path_factory, Faulty())
    assert found.error is None
    assert found.tokens == found.account
    return found


PASSING = {
    "429": error(429, "rate_limit_exceeded"),
    "429 with Retry-After": error(429, "rate_limit_exceeded", headers={"Retry-After": "0.1"}),
    "500": error(500),
    "timeout": Reply(completion("x"), hang=5.0),
    "cut connection": lambda request: Reply(model(request), cut=40),
    "slow stream": lambda request: Reply(model(request), drip=0.1),
}


@pytest.fixture(scope="module")
def disturbed(kit, tmp_path_factory):
    """A run in which each call meets one of the faults that pass, in turn."""
    return through(kit, tmp_path_factory, Faulty(PASSING), TIMEOUT="3")


@pytest.mark.parametrize("where", PHASES)
@pytest.mark.parametrize("fault", PASSING)
def test_fault_that_passes_leaves_no_trace_in_a_run(fault, where, disturbed, undisturbed):
    assert disturbed.error is None
    assert disturbed.answer.struck[fault, where] >= 1
    assert disturbed.files == undisturbed.files
    assert disturbed.calls == undisturbed.calls
    assert disturbed.account == disturbed.tokens > undisturbed.tokens, "what broke off is paid for"
    assert set(disturbed.answer.answered) == set(undisturbed.answer.answered)


def _says(content, **more):
    return lambda _: completion(content, usage=(100, 10), **more)


UNUSABLE = {
    "invalid JSON": _says("not { json"),
    "valid JSON against the schema": _says('{"relations": "all", "turn": {"act": "fly"}}'),
    "missing ids": _says('{"r":[],"n":[]}'),
    "wrong ids": _says('{"r":[{"e":99,"c":1,"v":1}],"n":[77]}'),
    "truncated output": _says('{"r":[{"e":1,', finish="length"),
    "empty choices": lambda _: completion("x", usage=(100, 10)) | {"choices": []},
    "a refusal": _says(None, refusal="I cannot help with that"),
}
WELL = ""
KINDS = {"truncated output": "truncated", "empty choices": "empty", "a refusal": "refused"}


@pytest.fixture(scope="module")
def misread(kit, tmp_path_factory):
    """A run in which each call that reads texts is first answered in a way that cannot be used."""
    return through(kit, tmp_path_factory, Faulty(UNUSABLE, ("extract",)))


@pytest.fixture(scope="module")
def misspoken(kit, tmp_path_factory):
    """A run in which the first turns are answered in ways that cannot be used, the others well."""
    return through(kit, tmp_path_factory, Faulty({**UNUSABLE, WELL: None}, ("act",)))


@pytest.mark.parametrize("fault", UNUSABLE)
def test_answer_that_cannot_be_used_costs_a_text_nothing(fault, misread, undisturbed):
    """It is asked about again, in smaller batches, until it is read; every text ends in one place."""
    assert misread.error is None
    assert misread.answer.struck[fault, "extract"] >= 1
    texts = {e["episode"]: e["text"] for e in misread.run.data().table("episodes").to_pylist() if e["kind"] == "post"}
    assert len(texts) == undisturbed.run.data().table("turns").num_rows
    read = {e: (-2, -1, 1, 2)[roll(json.dumps(t), 4)] / 2 for e, t in texts.items() if roll(json.dumps(t), 4)}
    assert sorted((c["episode"], c["value"]) for c in misread.run.data().table("claims").to_pylist()) == sorted(read.items())
    assert misread.files == undisturbed.files
    assert misread.account == misread.tokens == 110 * misread.answer.struck.total() + _paid(misread)


@pytest.mark.parametrize("fault", UNUSABLE)
def test_answer_that_cannot_be_used_costs_a_turn_its_act(fault, misspoken):
    """A turn is not asked twice: it is a recorded nothing, with its reason, and no post is made up."""
    assert misspoken.error is None
    struck = misspoken.answer.struck
    assert struck[fault, "act"] >= 1
    turns = misspoken.run.data().table("turns")["outcome"].to_pylist()
    nothing = Counter(o.split(": ")[1] for o in turns if o.startswith("nothing: "))
    assert nothing == _by_kind(struck)
    posts = [e for e in misspoken.run.data().table("episodes").to_pylist() if e["kind"] == "post"]
    assert len(posts) == len(turns) - nothing.total() > 0
    assert misspoken.account == misspoken.tokens == 110 * nothing.total() + _paid(misspoken)


def _by_kind(struck):
    found = Counter()
    for (fault, _), times in struck.items():
        found[KINDS.get(fault, "invalid")] += times
    return found


def _paid(found):
    """Tokens of all right answers."""
    return sum(model({"messages": [{"content": c}]})["usage"]["total_tokens"] for c in found.answer.answered.elements())


LASTING = {
    "a wrong model name": (error(404, "model_not_found", "The model `x` does not exist"), "404.*does not exist"),
    "no key": (error(401, "invalid_api_key", "You didn't provide an API key"), "401.*API key"),
    "an endpoint that dies": (error(503, "x", "gone"), "503.*gone|found no endpoint"),
}


@pytest.mark.parametrize("where", PHASES)
def test_fault_that_lasts_ends_a_run_that_goes_on_later_as_if_nothing_had_been(where, kit, undisturbed, tmp_path, monkeypatch):
    """It strikes in the second window: the first is kept whole, of the second nothing, and no answer is asked for again."""
    asked = list(undisturbed.answer.answered)
    early = frozenset(asked[: sum(u["calls"] for u in undisturbed.run.data().window(0).manifest["usage"])])
    home, paid = tmp_path / ".simflow", set()
    monkeypatch.setenv("SIMFLOW_LLM_CONCURRENCY", "1")
    for fault, (reply, words) in LASTING.items():
        monkeypatch.setenv("SIMFLOW_LLM_PATIENCE", "0.05")
        answer = Faulty({fault: reply}, (where,), spared=early, lasting=True)
        found = go(kit, home, answer, monkeypatch)
        assert found.error is not None
        assert re.search(words, str(found.error))
        assert found.error.exit_code == 3
        assert found.error.hint
        assert re.search(words, found.run.record.progress().reason)
        assert found.files == [f for f in undisturbed.files if f[0] == 0]
        assert not set(answer.answered) & paid
        paid |= set(answer.answered)
    monkeypatch.setenv("SIMFLOW_LLM_PATIENCE", "300")
    well = Faulty()
    again = go(kit, home, well, monkeypatch)
    assert again.error is None
    assert again.files == undisturbed.files
    assert again.account == undisturbed.account
    assert not set(well.answered) & paid, "nothing is paid twice"
    assert set(well.answered) | paid == set(asked)
