"""Requests and what was answered, on disk, content-addressed: `cache/llm/ab/ab12....json`. Record, replay, or replay alone.

A request's address covers everything that the model is sent and which attempt it is, but neither the key nor the host, so that a
recording made on one machine replays on another.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simflow.errors import NotFound
from simflow.llm.endpoint import Taping
from simflow.runs.ledger import append, replace


def address(request: Mapping[str, Any], attempt: int = 0) -> str:
    """64 hex digits for a request's content."""
    plain = json.dumps([dict(request), attempt], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


class Recording:
    """Answers by address. `folder` None with `off` keeps nothing. account: whose index of questions is kept beside, for people to look in.

    Files are written beside and renamed, so a reader sees a whole answer or none; a file that cannot be read counts as none. An
    answer that proved unusable carries its `failure`: `replay` asks again, `replay-only` fails in the same way.
    """

    def __init__(self, folder: Path | None, taping: Taping, account: str | None = None) -> None:
        self.folder = folder
        self.taping = taping if folder else "off"
        self.index = folder / "asked" / f"{account}.jsonl" if folder and account else None
        self._lock = threading.Lock()

    def get(self, key: str) -> dict[str, Any] | None:
        """The recorded answer, if it may be used. In `replay-only`, raises NotFound if there is none."""
        if self.taping in {"off", "record"}:
            return None
        found = self._read(key)
        if found is not None and (self.taping == "replay-only" or "failure" not in found):
            return found
        if self.taping == "replay-only":
            raise NotFound(
                f"no answer is recorded for request {key[:12]} under {self.folder}",
                hint="record one first: the same scenario and model without replay-only",
            )
        return None

    def put(self, key: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Keep an answer: the endpoint's JSON under `response`, or `failure` with its reason."""
        if self.taping in {"off", "replay-only"} or not self.folder:
            return
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, json.dumps({"request": dict(request), **answer}, ensure_ascii=True, sort_keys=True, indent=1))

    def note(self, key: str, phase: str, about: Mapping[str, int | str]) -> None:
        """Note in the index that a question was asked, so that people find it by what it was about."""
        if not self.index or not about or self.taping in {"off", "replay-only"}:
            return
        with self._lock:
            self.index.parent.mkdir(parents=True, exist_ok=True)
            append(self.index, json.dumps({"phase": phase, **about, "key": key}))

    def asked(self) -> list[dict[str, Any]]:
        """Rows of the index: phase, what each question was about, and its `key`; the newest of each."""
        rows: dict[str, dict[str, Any]] = {}
        if self.index and self.index.exists():
            for line in self.index.read_text("utf-8").splitlines():
                try:
                    row = json.loads(line)
                    rows[row["key"]] = row
                except (ValueError, KeyError, TypeError):
                    continue  # a line that a crash cut
        return list(rows.values())

    def read(self, key: str) -> dict[str, Any] | None:
        """A recorded request with its answer, whatever the mode; None if it is not there."""
        return self._read(key)

    def blame(self, key: str, kind: str, reason: str) -> None:
        """Note that a recorded answer proved unusable."""
        if found := self._read(key):
            self.put(key, found.pop("request", {}), {**found, "failure": reason, "kind": kind})

    def ready(self) -> None:
        """In `replay-only`, raise NotFound if nothing at all is recorded, before any work is done."""
        if self.taping == "replay-only" and not (self.folder and any(self.folder.glob("[0-9a-f][0-9a-f]/*.json"))):
            raise NotFound(
                f"replay-only was asked for, but {self.folder} holds no recording",
                hint="run once without replay-only, or copy the folder of a recorded run there",
            )

    def _path(self, key: str) -> Path:
        return Path(self.folder or ".") / key[:2] / f"{key}.json"

    def _read(self, key: str) -> dict[str, Any] | None:
        try:
            found = json.loads(self._path(key).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and ("response" in found or "failure" in found) else None
