"""One deadline over a whole call, over real sockets: to connect, to agree on a cipher, to ask, to be answered, byte by byte if need be."""

from __future__ import annotations

import contextlib
import json
import shutil
import socketserver
import ssl
import subprocess
import threading
import time
from types import SimpleNamespace

import httpx2
import openai
import pytest

from simflow.errors import EndpointRefused
from simflow.llm import transport
from simflow.llm.scripted import completion
from simflow.llm.wire import Unreachable

BYTES, EACH = 400, 0.05
"""What a server here sends in twenty seconds and more: an answer that comes to its end, if somebody waits for it. The deadline is a twentieth of that."""
QUESTION = 24_000_000
"""Bytes of a question that takes some seconds to be read here, and that no buffer between the two holds."""
BODY = json.dumps(completion("said")).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + f"Content-Length: {len(BODY)}\r\n".encode()


@contextlib.contextmanager
def listening(handle, context=None):
    """A server on loopback that does with each connection what `handle` does; yields its port. Over TLS with a context."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with (
                contextlib.suppress(OSError),
                context.wrap_socket(self.request, server_side=True) if context else self.request as connection,
            ):
                handle(connection)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, allow_reuse_address = True, True

        def handle_error(self, *args):
            pass  # clients that hang up are what these tests are about

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asked(connection):
    """Read one whole request; empty at the end of the connection."""
    said = b""
    while b"\r\n\r\n" not in said:
        if not (part := connection.recv(65536)):
            return b""
        said += part
    head, _, body = said.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head


def drip(connection, data):
    for at in range(len(data)):
        connection.sendall(data[at : at + 1])
        time.sleep(EACH)


def in_headers(connection):
    asked(connection)
    connection.sendall(HEAD)
    drip(connection, b"X-Slow: " + b"a" * BYTES + b"\r\n\r\n")
    connection.sendall(BODY)


def in_status_line(connection):
    asked(connection)
    drip(connection, b"HTTP/1.1 200 " + b"O" * BYTES + b"\r\n")
    connection.sendall(HEAD.partition(b"\r\n")[2] + b"\r\n" + BODY)


def in_interim_answers(connection):
    asked(connection)
    for _ in range(BYTES):
        connection.sendall(b"HTTP/1.1 102 Processing\r\n\r\n")
        time.sleep(EACH)
    connection.sendall(HEAD + b"\r\n" + BODY)


def in_body(connection):
    asked(connection)
    connection.sendall(HEAD.replace(str(len(BODY)).encode(), str(len(BODY) + BYTES).encode()) + b"\r\n")
    drip(connection, b" " * BYTES)
    connection.sendall(BODY)


def in_chunks(connection):
    asked(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(BYTES):
        connection.sendall(b"1\r\n \r\n")
        time.sleep(EACH)
    connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))


def in_reading(connection):
    left = QUESTION
    while left > 0:
        left -= len(connection.recv(131_072))
        time.sleep(EACH)
    connection.sendall(HEAD + b"\r\n" + BODY)


def wire_to(kit, port, *, scheme="http", timeout=1.0):
    wire = kit.room_at(f"{scheme}://127.0.0.1:{port}/v1", timeout=timeout).wire
    wire.given_up = True  # one try is enough
    return wire


def call(wire, words="?"):
    """The answer, or why there is none."""
    request = {"model": wire.endpoint.model, "messages": [{"role": "user", "content": words}], "max_tokens": 5}
    try:
        return wire.call(request, 10, lambda _: None)
    except Unreachable as error:
        return str(error)


@pytest.mark.parametrize("handle", [in_headers, in_status_line, in_interim_answers, in_body, in_chunks])
def test_answer_that_drips_is_given_up_by_the_deadline_wherever_it_drips(handle, kit):
    with listening(handle) as port:
        assert "no whole answer within 1 s" in call(wire_to(kit, port))


def test_request_that_is_read_too_slowly_is_given_up_by_the_deadline(kit):
    with listening(in_reading) as port:
        assert "no whole answer within 1 s" in call(wire_to(kit, port), "?" * QUESTION)


def test_handshake_that_drips_is_given_up_by_the_deadline(kit):
    def greet(connection):
        connection.recv(65536)
        drip(connection, b"\x16\x03\x03\x40\x00" + b"\x02" * BYTES)

    with listening(greet) as port:
        assert "no whole answer within 1 s" in call(wire_to(kit, port, scheme="https"))


@pytest.mark.parametrize(
    ("late", "billed"),
    [(httpx2.ConnectTimeout, []), (httpx2.WriteTimeout, []), (httpx2.ReadTimeout, [None])],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_question_that_arrived_whole_is_paid_for_and_no_other(late, billed, kit, monkeypatch):
    wire, bills = wire_to(kit, 9), []

    def fail(**_):
        raise openai.APITimeoutError(httpx2.Request("POST", "http://127.0.0.1:9")) from late("late")

    monkeypatch.setattr(wire.client.chat.completions.with_streaming_response, "create", fail)
    with pytest.raises(Unreachable):
        wire.call({"model": "x", "messages": []}, 10, bills.append)
    assert bills == billed


def test_connection_is_used_again_and_each_call_has_the_whole_time(kit, monkeypatch):
    """The deadline is that of a call; a connection that outlives it serves the next one."""
    clock = [0.0]
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    connections = []

    def answer(connection):
        connections.append(connection)
        while asked(connection):
            connection.sendall(HEAD + b"\r\n" + BODY)

    with listening(answer) as port:
        wire = wire_to(kit, port, timeout=60.0)
        wire.client._client._transport._pool._keepalive_expiry = None  # however slow the machine is between two calls
        for hour in range(3):
            clock[0] = 3600.0 * hour
            assert call(wire) == json.loads(BODY)
        assert len(connections) == 1


def test_calls_at_once_have_a_deadline_each(kit, monkeypatch):
    """A call that begins later grants nothing to one that began before it."""
    clock, found = [0.0], {}
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    first, second = threading.Event(), threading.Event()

    def answer(connection):
        while asked(connection):
            if first.is_set():
                connection.sendall(HEAD + b"\r\n" + BODY)
                continue
            first.set()
            second.wait(60)
            connection.sendall(HEAD)
            connection.settimeout(20)
            with contextlib.suppress(TimeoutError):
                assert not connection.recv(1)  # whose time is up hangs up
                return
            connection.sendall(b"\r\n" + BODY)

    with listening(answer) as port:
        wire = wire_to(kit, port, timeout=50.0)
        early = threading.Thread(target=lambda: found.update(early=call(wire)))
        early.start()
        assert first.wait(60)
        clock[0] = 49.0
        found["late"] = call(wire)
        clock[0], wire.given_up = 60.0, True
        second.set()
        early.join(60)
    assert found["late"] == json.loads(BODY)
    assert "no whole answer within 50 s" in found["early"]


def test_proxy_of_the_environment_is_used_and_bound_by_the_deadline_as_well(kit, monkeypatch):
    heads = []

    def proxy(connection):
        while head := asked(connection):
            heads.append(head)
            connection.sendall(HEAD + b"\r\n" + BODY)

    def through(port):
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        wire = kit.room_at("http://model.invalid/v1", timeout=1.0 if heads else 30.0).wire
        wire.given_up = True
        return call(wire)

    with listening(proxy) as port:
        assert through(port) == json.loads(BODY)
    assert heads[0].startswith(b"POST http://model.invalid/v1/chat/completions")
    with listening(in_headers) as port:
        assert "no whole answer within 1 s" in through(port)


def test_address_that_is_excepted_from_the_proxy_is_called_without_it(kit, monkeypatch):
    def answer(connection):
        while head := asked(connection):
            assert head.startswith(b"POST /v1/")
            connection.sendall(HEAD + b"\r\n" + BODY)

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with listening(answer) as port:
        assert call(wire_to(kit, port, timeout=30.0)) == json.loads(BODY)


def test_server_that_speaks_no_tls_is_told_at_once(kit):
    def plain(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with listening(plain) as port, pytest.raises(EndpointRefused) as caught:
        call(wire_to(kit, port, scheme="https", timeout=30.0))
    assert "http:// instead of https://" in caught.value.hint


@pytest.mark.skipif(not shutil.which("openssl"), reason="a certificate is made with openssl")
def test_endpoint_over_tls_is_verified_and_answers(kit, tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=test",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def answer(connection):
        while asked(connection):
            connection.sendall(HEAD + b"\r\n" + BODY)

    with listening(answer, context) as port:
        with pytest.raises(EndpointRefused, match=r"(?i)certificate") as caught:  # nobody vouches for it, and no waiting changes that
            call(wire_to(kit, port, scheme="https", timeout=30.0))
        assert "SSL_CERT_FILE" in caught.value.hint
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert call(wire_to(kit, port, scheme="https", timeout=30.0)) == json.loads(BODY)
    with listening(in_headers, context) as port:
        assert "no whole answer within 1 s" in call(wire_to(kit, port, scheme="https"))
