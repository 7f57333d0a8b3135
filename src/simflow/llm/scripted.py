"""An OpenAI-compatible endpoint on loopback whose behaviour is a function: to rehearse faults, and to measure what calls weigh."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What the server does: status, JSON or raw body, headers; `hang` seconds before, `drip` seconds between bytes, `cut` after bytes."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: float = 0.0
    drip: float = 0.0
    cut: int | None = None


def completion(content: str | None, *, finish: str = "stop", usage: tuple[int, int] | None = (100, 20), **message: Any) -> dict[str, Any]:
    """A chat completion as endpoints send it."""
    answer: dict[str, Any] = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}],
    }
    if usage:
        answer["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return answer


def error(status: int, code: str = "x", message: str = "no", headers: dict[str, str] | None = None, **more: Any) -> Reply:
    """An error as OpenAI sends it."""
    return Reply({"error": {"message": message, "type": "error", "code": code, **more}}, status, headers or {})


class Script:
    """The server's behaviour: `answer(request, n)` gives the reply to the n-th request; requests are kept."""

    def __init__(self, answer: Callable[[dict[str, Any], int], Reply | dict[str, Any]]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.lock = threading.Lock()

    def reply(self, request: dict[str, Any], headers: dict[str, str]) -> Reply:
        """Take a request and say what to do about it."""
        with self.lock:
            self.requests.append(request)
            self.headers.append(headers)
            self.times.append(time.monotonic())
            number = len(self.requests) - 1
        found = self.answer(request, number)
        return found if isinstance(found, Reply) else Reply(found)


class _Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, place: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(place, handler)
        self.connected: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connected.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connected.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        # Connections that are kept alive would go on being answered, by a server that is gone.
        for connection in list(self.connected):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *args: object) -> None:
        pass  # clients that hang up are what some tests are about


@contextlib.contextmanager
def serving(script: Script, port: int = 0) -> Iterator[str]:
    """Serve on loopback; yields the base URL. At the end connections are cut, as when a server dies."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits for the receipt of its headers, forty milliseconds

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = script.reply(json.loads(body), dict(self.headers))
            if reply.hang:
                time.sleep(reply.hang)
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            with contextlib.suppress(OSError):
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if reply.cut is not None:
                    self.wfile.write(data[: reply.cut])
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                elif reply.drip:
                    for at in range(len(data)):
                        self.wfile.write(data[at : at + 1])
                        self.wfile.flush()
                        time.sleep(reply.drip)
                else:
                    self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = _Server(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        server.hang_up()
