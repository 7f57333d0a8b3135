"""The remote embedder against a real HTTP server on this machine."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from simflow.errors import BadInput, EndpointFailed
from simflow.llm import embedder as module
from simflow.llm.embedder import RemoteEmbedder


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, request, self.headers.get("Authorization")))
        status, rows = self.server.answer(request)
        body = json.dumps({"object": "list", "model": "m", "data": rows, "usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def vectors(request):
    size = request.get("dimensions", 4)
    rows = [
        {"object": "embedding", "index": i, "embedding": [float(len(t)), 1.0, *[0.0] * (size - 2)]} for i, t in enumerate(request["input"])
    ]
    return 200, rows[::-1]  # in another order: the index counts


@pytest.fixture
def server(monkeypatch):
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.asked, http.answer, http.headers = [], vectors, {}
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{http.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-this-test")
    monkeypatch.setenv("SIMFLOW_EMBEDDING_MODEL", "tiny")
    monkeypatch.delenv("SIMFLOW_EMBEDDING_DIMENSION", raising=False)
    monkeypatch.setattr(module, "TRIES", 1)
    yield http
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def remote(server):
    return RemoteEmbedder()


def test_texts_come_back_in_their_order_with_unit_length(remote, server):
    found = remote.embed(["abc", "", "a", "  "])
    assert found.shape == (4, 4)
    assert np.allclose(np.linalg.norm(found, axis=1), [1, 0, 1, 0])
    assert found[0][0] / found[0][1] == pytest.approx(3)
    path, request, key = server.asked[-1]
    assert (path, request["model"], request["input"], key) == ("/v1/embeddings", "tiny", ["abc", "a"], "Bearer sk-secret-of-this-test")
    assert remote.id == "remote/tiny/native"


def test_long_lists_are_sent_in_parts(remote, server):
    assert remote.embed([f"text {i}" for i in range(300)]).shape == (300, 4)
    assert [len(r["input"]) for _, r, _ in server.asked] == [1, 128, 128, 44]


def test_fewer_dimensions_are_asked_for(server, monkeypatch):
    monkeypatch.setenv("SIMFLOW_EMBEDDING_DIMENSION", "3")
    made = RemoteEmbedder()
    assert made.embed(["abc"]).shape == (1, 3)
    assert server.asked[0][1]["dimensions"] == 3
    assert made.id == "remote/tiny/3"


@pytest.mark.parametrize("answer", [lambda r: (500, []), lambda r: (200, []), lambda r: (200, vectors(r)[1][:1]), lambda r: (404, [])])
def test_an_answer_that_is_no_vectors_is_a_clear_failure_without_the_key(remote, server, answer):
    remote.embed(["warm"])
    server.answer = answer
    with pytest.raises(EndpointFailed) as error:
        remote.embed(["one", "two"])
    assert "sk-secret" not in str(error.value)
    assert "127.0.0.1" in str(error.value)


def test_a_call_that_is_sent_elsewhere_goes_nowhere(remote, server):
    remote.embed(["warm"])
    server.headers = {"Location": f"http://localhost:{server.server_port}/v1/embeddings"}
    server.answer = lambda _: (307, [])
    with pytest.raises(EndpointFailed, match="could not embed"):
        remote.embed(["one"])
    assert len(server.asked) == 3, "the question about dimensions, one batch, and one that was sent elsewhere"


@pytest.mark.parametrize("size", ["many", "0", "-3", "1e3"])
def test_a_dimension_that_is_no_number_is_refused(server, monkeypatch, size):
    monkeypatch.setenv("SIMFLOW_EMBEDDING_DIMENSION", size)
    with pytest.raises(BadInput, match="SIMFLOW_EMBEDDING_DIMENSION"):
        RemoteEmbedder()


def test_without_a_key_and_a_server_nothing_is_sent(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadInput, match="no key"):
        RemoteEmbedder().embed(["x"])
