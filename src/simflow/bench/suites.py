"""The suites inside the messy corpus that know their own answers: YAML texts, CSV tables, naughty strings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simflow.scenario import source
from simflow.scenario.nodes import Items, Table, plain
from simflow.scenario.people.gather import persons, write_people
from simflow.scenario.people.records import Record, Records, read_csv, read_json, read_jsonl
from simflow.scenario.problems import Problem, Unreadable

_SIGNS = (("␣", " "), ("∎\n", ""), ("↵", ""), ("←", "\r"), ("⇔", "\ufeff"))
ON_PURPOSE = frozenset({"SF103", "SF105", "SF107", "SF109", "SF110", "SF111"})
"""Codes with which the language refuses what YAML allows: limits, repeated keys, tags, keys that are no text, merge keys, directives."""


@dataclass(frozen=True, slots=True)
class Case:
    """One text of the YAML test suite. `expected`: accepted or refused. `values`: what its documents mean, if the suite says."""

    name: str
    text: str
    expected: str
    values: tuple[Any, ...] | None


def yaml_cases(path: Path) -> Iterator[Case]:
    """The cases of one file of the suite; later ones of a file inherit text and values that they leave out, but not that they fail."""
    top = source.parse(path.read_text("utf-8"), path.name, [])[0]
    assert isinstance(top, Items)
    before: dict[str, Any] = {}
    for n, item in enumerate(top.items):
        assert isinstance(item, Table)
        row = {**{k: v for k, v in before.items() if k in {"yaml", "json"}}, **_fields(item)}
        if "yaml" in _fields(item) and "json" not in _fields(item):
            row.pop("json", None)
        before = row
        text = str(row["yaml"])
        text = re.sub(r"—*»", "\t", text)
        for sign, meant in _SIGNS:
            text = text.replace(sign, meant)
        values = _values(str(row["json"])) if "json" in row and row["json"] is not None else None
        yield Case(f"{path.stem}/{n}", text, "refused" if row.get("fail") is True else "accepted", values)


def _fields(item: Table) -> dict[str, Any]:
    found = plain(item)
    assert isinstance(found, dict)
    return found


def _values(text: str) -> tuple[Any, ...] | None:
    decoder, at, values = json.JSONDecoder(), 0, []
    text = text.strip()
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            return None
        values.append(value)
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return tuple(values)


def yaml_outcome(case: Case) -> str:
    """accepted, with the right values if they are known; refused; refused on purpose (which counts as accepted); or other values."""
    problems: list[Problem] = []
    try:
        text = source.decode(case.text.encode("utf-8"), case.name)
        documents = source.parse(text, case.name, problems, many=True)
    except Unreadable as error:
        problems.append(error.problem)
    if problems:
        found = {p.code for p in problems}
        for problem in problems:
            problem.render()
        return f"accepted: refused on purpose, {min(found)}" if found <= ON_PURPOSE and case.expected == "accepted" else "refused"
    if case.values is not None and [plain(d) for d in documents] != list(case.values):
        return "other values"
    return "accepted"


def csv_answer(path: Path, answer: Path) -> str:
    """Accepted if the rows are those of the answer."""
    text = path.read_bytes().decode("utf-8")
    if path.stem.endswith("_crlf") and "\r" not in text:
        text = text.replace("\n", "\r\n")  # the corpus was stored with its line ends made alike; the answers are of the files as they were
    found = [row.data for row in read_csv(text, path.name).rows]
    return "accepted" if found == json.loads(answer.read_text("utf-8")) else "other values"


def strings_survive(path: Path) -> str:
    """Accepted if each string comes back as the name, the bio and the post of a person that was written and read."""
    strings = [s for s in json.loads(path.read_text("utf-8")) if isinstance(s, str)]
    rows = [Record(n, {"name": s, "about": s, "posts": [s]}) for n, s in enumerate(strings, 1)]
    first = persons(Records(rows, columns=["name", "about", "posts"]), "plain", {}, None).people
    again = persons(read_jsonl(write_people(first), path.name), "plain", {}, None).people
    whole = persons(read_json(json.dumps([{"name": s, "about": s, "posts": [s]} for s in strings]), path.name), "plain", {}, None).people
    same = all(p.name == s and p.about == s and (p.posts == (s,) or not s) for p, s in zip(again, strings, strict=True))
    return "accepted" if same and first == again == whole and len({p.id.casefold() for p in again}) == len(strings) else "other values"
