from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from simflow import memory
from simflow.cli import serve_app
from simflow.cli.serve import check, serve
from simflow.cli.serve_app import make_app, openapi
from simflow.errors import BadInput

TOKEN = "0123456789abcdef"


@pytest.fixture
def client(home, words, monkeypatch):
    monkeypatch.setattr(serve_app, "open_memory", lambda data, as_of=None: memory.open(data, as_of=as_of, embedder=words))
    return TestClient(make_app(home, rate=10_000))


def test_the_service_answers_what_the_facade_answers(client, view):
    def get(question, **asked):
        answer = client.get(f"/runs/small-town/{question}", params=asked)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert get("recall", agent="bob1", tick=99, about="water now?") == view.recall("bob1", 99, "water now?").plain()
    assert get("search", text="pipes", top=3, agent="0") == view.search("pipes", agent=0, top=3)
    assert get("relations", agent="@bob1") == view.relations("bob1")
    assert get("neighborhood", agents="bob1,dan4", hops=1) == view.neighborhood(["bob1", "dan4"], hops=1)
    assert get("entities", text="Bob Ray") == view.entities("Bob Ray")
    assert get("persona", agent="Bob") == view.persona("Bob")
    assert get("explain", agent="bob1", topic="water")["belief"] == view.explain("bob1", topic="water").belief
    early = get("recall", agent="bob1", about="water", as_of=50)
    assert early == view.recall("bob1", 50, "water").plain()
    assert client.get("/runs").json()[0]["windows"] == 4


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/runs/nothing/recall?agent=0&about=x", 404, "no run"),
        ("/runs/small-town/recall?agent=Zoe&about=x", 404, "no agent"),
        ("/runs/small-town/recall?agent=Ann&about=x", 400, "2 agents"),
        ("/runs/small-town/recall?agent=0", 400, "about is missing"),
        ("/runs/small-town/recall?agent=0&about=x&tick=-1", 400, "whole number"),
        ("/runs/small-town/recall?agent=0&about=x&tick=1e3", 400, "whole number"),
        ("/runs/small-town/recall?agent=0&about=x&tick=9999", 400, "ends at tick"),
        ("/runs/small-town/recall?agent=0&about=x&mode=all", 400, "one of vectors, graph, hybrid"),
        ("/runs/small-town/recall?agent=0&about=x&colour=red", 400, "unknown parameter 'colour'"),
        ("/runs/small-town/destroy", 404, "no question 'destroy'"),
        ("/runs/../../etc/passwd/recall?agent=0&about=x", 404, ""),
        (f"/runs/small-town/search?text={'x' * 4001}", 400, "more than 4000"),
        (f"/runs/small-town/search?text={'x' * 9000}", 414, "more than 8000"),
    ],
)
def test_a_question_that_cannot_be_answered_is_told_why(client, path, status, words):
    answer = client.get(path)
    assert answer.status_code == status
    assert words in answer.text
    assert "Traceback" not in answer.text


def test_nothing_can_be_written(client):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.request(method, "/runs").status_code == 405
    assert client.request("GET", "/runs", content=b"x").status_code == 413


def test_a_fault_of_the_service_is_no_leak(client, home, monkeypatch):
    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("secret path /home/me")

    monkeypatch.setattr(serve_app, "open_memory", broken)
    answer = TestClient(make_app(home), raise_server_exceptions=False).get("/runs/small-town/recall?agent=0&about=x")
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_a_token_is_asked_for_and_compared_whole(home):
    client = TestClient(make_app(home, token=TOKEN))
    for header in (None, "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", "Bearer é"):
        assert client.get("/runs", headers={} if header is None else {"Authorization": header.encode()}).status_code == 401
    assert client.get("/runs", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/runs", headers={"Authorization": f"Bearer {TOKEN}", "Host": "memory.example"}).status_code == 200


def test_without_a_token_only_this_machine_is_answered_under_its_own_name(home):
    client = TestClient(make_app(home))
    assert client.get("/runs", headers={"Host": "127.0.0.1:8765"}).status_code == 200
    assert client.get("/runs", headers={"Host": "[::1]:8765"}).status_code == 200
    assert client.get("/runs", headers={"Host": "evil.example"}).status_code == 403


def test_who_asks_too_often_has_to_wait(home, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(serve_app, "time", SimpleNamespace(monotonic=lambda: now[0]))
    client = TestClient(make_app(home, rate=0.001))
    codes = [client.get("/").status_code for _ in range(3)]
    assert codes == [429, 429, 429]
    client = TestClient(make_app(home, rate=1))
    answers = [client.get("/") for _ in range(4)]
    assert [a.status_code for a in answers] == [200, 200, 429, 429]
    assert int(answers[-1].headers["Retry-After"]) >= 1
    now[0] += 1
    assert [client.get("/").status_code for _ in range(2)] == [200, 429]


def test_listening_beyond_this_machine_needs_a_long_token():
    check("127.0.0.1", None)
    check("::1", None)
    check("0.0.0.0", TOKEN)
    for host, token in (("0.0.0.0", None), ("example.org", None), ("127.0.0.1", "short")):
        with pytest.raises(BadInput):
            check(host, token)


def test_the_command_refuses_before_it_listens(monkeypatch):
    monkeypatch.delenv("SIMFLOW_TOKEN", raising=False)
    result = CliRunner().invoke(serve, ["--host", "0.0.0.0"])
    assert isinstance(result.exception, BadInput)


def test_openapi_describes_each_question(client):
    described = client.get("/openapi.json").json()
    assert described == openapi()
    assert {p for p in described["paths"] if "{run}" in p} == {f"/runs/{{run}}/{name}" for name in serve_app.ENDPOINTS}
    names = [p["name"] for p in described["paths"]["/runs/{run}/recall"]["get"]["parameters"]]
    assert names == ["run", "agent", "about", "tick", "mode", "scope", "as_of"]


def test_many_may_ask_at_once(client, view):
    expected = view.recall("bob1", 99, "water now?").plain()
    wrong = []

    def work():
        for _ in range(5):
            answer = client.get("/runs/small-town/recall", params={"agent": "bob1", "tick": 99, "about": "water now?"})
            if answer.json() != expected:
                wrong.append(answer.text)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
