"""A real language server on the schema: keys complete, values complete, hovering explains, mistakes are marked where they stand.

On demand: runs where `yaml-language-server` is on the path (`npm install yaml-language-server`), or SIMFLOW_YAML_SERVER names it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from simflow.scenario.jsonschema import json_schema

SERVER = os.environ.get("SIMFLOW_YAML_SERVER") or shutil.which("yaml-language-server")
pytestmark = pytest.mark.skipif(SERVER is None, reason="yaml-language-server is not installed: editors are tried on demand")


class Server:
    """One language server over stdio, with the schema for every YAML file of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        schema = folder.parent / ".vscode" / "scenario.schema.json"  # where the starters of a project say that it is
        schema.parent.mkdir()
        schema.write_text(json.dumps(json_schema()), "utf-8")
        self.process = subprocess.Popen([str(SERVER), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.said: list[dict[str, Any]] = []
        self.settings = {
            "yaml": {
                "schemas": {schema.as_uri(): "*.yaml"},
                "completion": True,
                "hover": True,
                "validate": True,
                "schemaStore": {"enable": False},
            }
        }
        capabilities = {
            "textDocument": {"completion": {"completionItem": {"snippetSupport": True}}, "hover": {"contentFormat": ["markdown"]}},
            "workspace": {"configuration": True},
        }
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities})
        self.tell("initialized", {})
        self.tell("workspace/didChangeConfiguration", {"settings": self.settings})

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        if "id" in message and "method" in message:  # the server asks for its settings
            items = message.get("params", {}).get("items", [])
            answer = [self.settings.get(item.get("section", ""), None) for item in items] if items else None
            self._send({"id": message["id"], "result": answer})
        return message

    def tell(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self.number and "method" not in message:
                assert "error" not in message, message
                return message["result"]
            self.said.append(message)

    def open(self, name: str, text: str) -> str:
        uri = (self.folder / name).as_uri()
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}})
        return uri

    def marked(self, uri: str) -> list[dict[str, Any]]:
        """What the server marks in a file."""
        while True:
            for message in self.said:
                if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                    found: list[dict[str, Any]] = message["params"]["diagnostics"]
                    return found
            self.said.append(self._receive())

    def ready(self) -> None:
        """Wait until the server has read the schema: from then on it marks a key that is not in it."""
        uri = self.open("ready.yaml", "scenario: x\nscenarioo: y\n")
        while True:
            message = self._receive()
            said = message.get("params", {})
            if message.get("method") == "textDocument/publishDiagnostics" and said["uri"] == uri and said["diagnostics"]:
                return

    def completions(self, name: str, text: str) -> set[str]:
        """What is offered at the `|` of a text."""
        before = text[: text.index("|")]
        uri = self.open(name, text.replace("|", "", 1))
        at = {"line": before.count("\n"), "character": len(before) - (before.rfind("\n") + 1)}
        found = self.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": at})
        return {item["label"] for item in (found["items"] if isinstance(found, dict) else found)}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project") / "scenarios"
    folder.mkdir()
    made = Server(folder)
    made.ready()
    yield made
    made.process.terminate()
    made.process.communicate()


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("scenario: x\nabout: y\n\n|", {"population", "events", "memory", "extract", "outputs", "replay"}),
        ("scenario: x\nmemory:\n  |\n", {"mode", "scope", "episodes", "relations", "tokens"}),
        ("scenario: x\nmemory:\n  episodes:\n    |\n", {"top", "half_life"}),
        ("scenario: x\nmemory:\n  mode: |\n", {"vectors", "graph", "hybrid"}),
        ("scenario: x\nextract:\n  entities:\n    place:\n      |\n", {"about", "names"}),
        ("scenario: x\nevents:\n  rise:\n    |\n", {"at", "post", "by", "nudge", "until"}),
        ("scenario: x\npopulation:\n  personas:\n    old:\n      |\n", {"share", "traits", "stance"}),
        ("scenario: x\nplatform:\n  feed:\n    kind: |\n", {"chronological", "hot"}),
    ],
)
def test_keys_and_values_complete_where_they_may_stand(server, text, offered):
    found = server.completions(f"c{len(text)}-{min(offered)}.yaml", text)
    assert offered <= found, sorted(found)


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("scenario: x\nmemory:\n  episodes:\n    half_life: 500\n", (3, 6), "Age at which an episode counts half."),
        ("scenario: x\nextract:\n  every: 40\n", (2, 3), "Ticks between two batches."),
    ],
)
def test_hovering_a_key_says_what_it_is_and_what_reads_it(server, text, at, says):
    uri = server.open(f"h{at[0]}.yaml", text)
    found = server.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": at[0], "character": at[1]}})
    words = found["contents"]["value"].replace("\\", "").replace("&nbsp;", " ")
    assert says in words
    assert "Read by" in words


def test_a_mistake_is_marked_at_its_key_and_a_good_file_is_not_marked(server, root):
    uri = server.open("wrong.yaml", "scenario: x\npopulation:\n  agentz: 30\n")
    [mark] = server.marked(uri)
    assert mark["range"]["start"] == {"line": 2, "character": 2}
    assert "agentz" in mark["message"]
    for name in ("hello.yaml", "water-tariff.yaml", "tarif-na-vodu.yaml"):
        uri = server.open(name, (root / "scenarios" / name).read_text("utf-8"))
        assert server.marked(uri) == []
