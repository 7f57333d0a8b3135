"""Small worlds to read, and rooms on a scripted endpoint."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simflow.llm.endpoint import Endpoint
from simflow.llm.meter import Meter
from simflow.llm.room import Room
from simflow.llm.scripted import completion
from simflow.plan import Cell, Limits, Persona, Topic
from simflow.ports import Extraction, Passage

MODEL = "gpt-4o-mini"
KEY = "sk-test-0123456789abcdefghij"


def endpoint(url: str, folder: Path | None = None, **more: Any) -> Endpoint:
    """An endpoint that is quick to give up."""
    given = {
        "timeout": 30.0,
        "patience": 60.0,
        "backoff": 0.01,
        "taping": "replay" if folder else "off",
        "tapes": folder,
        "key": KEY,
    } | more
    return Endpoint(model=MODEL, base_url=url, **given)


def room_at(url: str, folder: Path | None = None, *, limits: Limits | None = None, **more: Any) -> Room:
    """A room on a scripted endpoint."""
    return Room(endpoint(url, folder, **more), Meter(limits, folder / "spent" / "cell.jsonl" if folder else None))


def a_cell(**more: Any) -> Cell:
    """Two topics, ten residents."""
    topics = (
        Topic("water tariff", "Raising household water bills.", words=("tariff", "water bill")),
        Topic("council trust", "Whether the council deserves trust.", words=("council",)),
    )
    return Cell(scenario="test", variant="base", sweep={}, seed=7, topics=topics, **{"personas": (Persona("resident", 10),), **more})


def passages(count: int, *, first: int = 100, replies: bool = True) -> list[Passage]:
    """`count` passages in threads of four: a post and three answers."""
    found: list[Passage] = []
    for n in range(count):
        root = first + n - n % 4
        answers = replies and n % 4 != 0
        found.append(
            Passage(
                episode=first + n,
                tick=n,
                kind="reply" if answers else "post",
                actor=n % 10,
                actor_id=f"rosa{n % 10}",
                target=(n - n % 4) % 10 if answers and (n - n % 4) % 10 != n % 10 else None,
                target_id=f"rosa{(n - n % 4) % 10}" if answers and (n - n % 4) % 10 != n % 10 else None,
                text=f"Remark {first + n} on the tariff.",
                parent=root if answers else None,
                parent_text=f"Remark {root} on the tariff." if answers else None,
                root=root,
                root_text=f"Remark {root} on the tariff." if answers else None,
                lang="en",
            )
        )
    return found


def numbers(request: dict[str, Any]) -> list[int]:
    """The line numbers that a request asks about."""
    return [int(line.split(" ", 1)[0]) for line in request["messages"][-1]["content"].splitlines() if re.match(r"\d+ @", line)]


def diligent(request: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """A model that says one thing of each line: for if its number is even, against if odd."""
    del number
    asked = numbers(request)
    relations = [{"e": n, "c": 1, "v": 1 if n % 2 == 0 else -1} for n in asked]
    return completion(json.dumps({"r": relations, "n": []}), usage=(50 * len(asked), 14 * len(asked)))


def accounted(batch: list[Passage], result: Extraction) -> None:
    """Assert that each episode is in exactly one place."""
    found = {f.episode for f in result.findings}
    nothing, failed = list(result.nothing), list(result.failed)
    assert sorted([*found, *nothing, *failed]) == sorted(p.episode for p in batch)


class NoSense:
    """An embedder for tests in which vectors play no part."""

    id = "none"
    dimension = 4

    def embed(self, texts: Any) -> Any:
        return np.zeros((len(texts), 4), np.float32)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SIMFLOW_LLM_MODEL", "SIMFLOW_LLM_CACHE", "SIMFLOW_LLM_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / ".simflow"))


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    """What tests of this room share."""
    return SimpleNamespace(
        MODEL=MODEL,
        KEY=KEY,
        endpoint=endpoint,
        room_at=room_at,
        a_cell=a_cell,
        passages=passages,
        numbers=numbers,
        diligent=diligent,
        accounted=accounted,
        NoSense=NoSense,
    )
