"""Panels: the same people's answers before, during and after they learnt what others had answered."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simflow.errors import BadInput

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

REACH = 3.0
"""Standard deviations of first answers that make a stance of 1; answers further out count as that far."""
_SKEWED = 2.0
_ANSWER_LIKE = 1.5
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SHOWN = ("neighbor_mean", "group_mean")
_STRATA = ("confidence", "party", "central")


@dataclass(frozen=True, slots=True)
class Scale:
    """How an item's answers become units: (f(answer) - centre) / deviation, with f the signed log if first answers are skewed."""

    log: bool
    centre: float
    deviation: float

    @classmethod
    def of(cls, first: F64) -> Scale:
        """From an item's first answers: their median and standard deviation; logs if their skewness is beyond 2."""
        centred = first - first.mean()
        sd = float(first.std())
        log = sd > 0 and abs(float(np.mean(centred**3)) / sd**3) > _SKEWED
        y = _signed_log(first) if log else first
        return cls(log, float(np.median(y)), float(y.std()) or 1.0)

    def units(self, answers: F64) -> F64:
        """Standard deviations from the median, within +-REACH."""
        y = _signed_log(answers) if self.log else answers
        units: F64 = np.clip((y - self.centre) / self.deviation, -REACH, REACH)
        return units


@dataclass(frozen=True, slots=True)
class Panel:
    """One condition of one study. A row is one person's answers to one item, in units of `Scale`; NaN where not given.

    table: who answered the same item in the same group (number 0..). group, item, stratum: numbers. said_*: numbers that were
    written in the chat of a table and could be answers (within 1.5 of the table's median first answer); said_by is a row or -1.
    """

    study: str
    condition: str
    answers: F64
    shown: F64
    table: I64
    group: I64
    item: I64
    stratum: I64
    items: tuple[str, ...]
    said_table: I64
    said_by: I64
    said: F64
    skipped: int = 0
    known_agreement: F64 | None = None

    @property
    def name(self) -> str:
        """Study and condition."""
        return f"{self.study}/{self.condition}"

    @property
    def social(self) -> bool:
        """Whether people learnt what others had answered."""
        return "control" not in self.condition.lower()

    @property
    def first(self) -> F64:
        """First answers."""
        return self.answers[:, 0]

    @property
    def last(self) -> F64:
        """Last answers that were given."""
        late: F64 = self.answers[:, ::-1]
        picked: F64 = late[np.arange(len(late)), (~np.isnan(late)).argmax(axis=1)]
        return picked

    @property
    def rounds(self) -> int:
        """Rounds of answers."""
        return int(self.answers.shape[1])

    def others(self, answers: F64 | None = None, weights: F64 | None = None) -> F64:
        """Mean of the others' first answers in the table (or of `answers`, one a row); the own one where nobody else answered.

        weights: how much each row counts for the others.
        """
        x = self.first if answers is None else answers
        w = np.ones(len(x)) if weights is None else weights
        total, mass = (np.bincount(self.table, weights=v)[self.table] - v for v in (w * x, w))
        alone = np.bincount(self.table)[self.table] < 2
        means: F64 = np.where(alone | (mass <= 1e-12), x, total / np.where(mass > 1e-12, mass, 1.0))
        return means

    def agreement(self) -> F64:
        """Mean over the others in the table of (1 - distance / 2)^2 of first answers, as the engine's readers like posts; 1 if alone."""
        if self.known_agreement is not None:
            return self.known_agreement
        out = np.ones(len(self.table))
        order = np.argsort(self.table, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(self.table))[:-1]):
            if len(rows) > 1:
                x = self.first[rows] / REACH
                liked = (1.0 - np.abs(x[:, None] - x[None, :]) / 2.0) ** 2
                out[rows] = (liked.sum(axis=1) - 1.0) / (len(rows) - 1)
        return out

    def take(self, rows: npt.NDArray[np.bool_]) -> Panel:
        """Some whole tables."""
        place = np.cumsum(rows) - 1
        tables, table = np.unique(self.table[rows], return_inverse=True)
        said = np.isin(self.said_table, tables)
        by = self.said_by[said]
        return dataclasses.replace(
            self,
            answers=self.answers[rows],
            shown=self.shown[rows],
            table=table,
            group=self.group[rows],
            item=self.item[rows],
            stratum=self.stratum[rows],
            said_table=np.searchsorted(tables, self.said_table[said]),
            said_by=np.where(by >= 0, place[by], -1),
            said=self.said[said],
            known_agreement=None if self.known_agreement is None else self.known_agreement[rows],
        )


@dataclass(slots=True)
class _Study:
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    messages: list[Mapping[str, Any]] = field(default_factory=list)


def panels(where: Path) -> list[Panel]:
    """All conditions of all panels under `where`: a `panel.jsonl`, a folder with one, or a folder of such folders.

    Raises BadInput if there is none, or for a row that is not one.
    """
    files = [where] if where.is_file() else sorted(where.glob("panel.jsonl")) or sorted(where.glob("*/panel.jsonl"))
    if not files:
        raise BadInput(f"no panel.jsonl in {where}", hint="give a folder with panel.jsonl, or the folder above such folders")
    found: list[Panel] = []
    for file in files:
        study = _Study(_rows(file, ("group", "condition", "actor", "item", "rounds")), [])
        chat = file.with_name("messages.jsonl")
        if chat.exists():
            study.messages = _rows(chat, ("group", "actor", "text"))
        found += _panels(file.resolve().parent.name.removeprefix("opinion_"), study)
    return found


def _rows(file: Path, needed: tuple[str, ...]) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise BadInput(f"{file}:{number}: not JSON: {error.msg}", hint="one JSON object a line") from error
        missing = [name for name in needed if not isinstance(row, dict) or name not in row]
        if missing:
            raise BadInput(f"{file}:{number}: no {', '.join(missing)}", hint=f"each line has {', '.join(needed)}")
        rows.append(row)
    return rows


def _panels(study: str, data: _Study) -> list[Panel]:
    first = defaultdict(list)
    for row in data.rows:
        if _given(row["rounds"][0]):
            first[row["item"]].append(float(row["rounds"][0]))
    scales = {item: Scale.of(np.array(values)) for item, values in first.items()}
    conditions = list(dict.fromkeys(row["condition"] for row in data.rows))
    return [
        _panel(study, condition, [r for r in data.rows if r["condition"] == condition], data.messages, scales) for condition in conditions
    ]


def _panel(
    study: str, condition: str, rows: list[Mapping[str, Any]], messages: list[Mapping[str, Any]], scales: Mapping[str, Scale]
) -> Panel:
    usable = [r for r in rows if _given(r["rounds"][0]) and any(map(_given, r["rounds"][1:]))]
    width = max((len(r["rounds"]) for r in usable), default=2)
    answers, shown = np.full((len(usable), width), np.nan), np.full(len(usable), np.nan)
    for at, row in enumerate(usable):
        scale = scales[row["item"]]
        values = np.array([float(v) if _given(v) else np.nan for v in row["rounds"]])
        answers[at, : len(values)] = scale.units(values)
        seen = next((row[name][0] for name in _SHOWN if row.get(name)), None)
        if _given(seen):
            shown[at] = scale.units(np.array([float(seen or 0.0)]))[0]
    items = tuple(dict.fromkeys(r["item"] for r in usable))
    tables = {key: k for k, key in enumerate(dict.fromkeys((r["group"], r["item"]) for r in usable))}
    groups = {key: k for k, key in enumerate(dict.fromkeys(r["group"] for r in usable))}
    strata = {key: k for k, key in enumerate(sorted({_stratum(r) for r in usable}))}
    seats = {(r["group"], r["item"], r["actor"]): at for at, r in enumerate(usable)}
    table_of = np.array([tables[r["group"], r["item"]] for r in usable], dtype=np.int64)
    middle = [float(np.median(answers[table_of == table, 0])) for table in range(len(tables))]
    said = [s for s in _said(messages, tables, seats, scales) if abs(s[2] - middle[s[0]]) <= _ANSWER_LIKE]
    panel = Panel(
        study,
        condition,
        answers,
        shown,
        table_of,
        np.array([groups[r["group"]] for r in usable], dtype=np.int64),
        np.array([items.index(r["item"]) for r in usable], dtype=np.int64),
        np.array([strata[_stratum(r)] for r in usable], dtype=np.int64),
        items,
        np.array([s[0] for s in said], dtype=np.int64),
        np.array([s[1] for s in said], dtype=np.int64),
        np.array([s[2] for s in said], dtype=np.float64),
        skipped=len(rows) - len(usable),
    )
    return dataclasses.replace(panel, known_agreement=panel.agreement())


def _said(
    messages: list[Mapping[str, Any]],
    tables: Mapping[tuple[str, str], int],
    seats: Mapping[tuple[str, str, str], int],
    scales: Mapping[str, Scale],
) -> list[tuple[int, int, float]]:
    """(table, row of the writer or -1, units) of each number in a chat."""
    of_group = defaultdict(list)
    for group, item in tables:
        of_group[group].append(item)
    out = []
    for message in messages:
        group = message["group"]
        item = message.get("item", of_group[group][0] if len(of_group[group]) == 1 else None)
        table = tables.get((group, item)) if item is not None else None
        if table is None:
            continue
        for text in _NUMBER.findall(str(message["text"])):
            units = float(scales[item].units(np.array([float(text.replace(",", ""))]))[0])
            out.append((table, seats.get((group, item, message["actor"]), -1), units))
    return out


def _stratum(row: Mapping[str, Any]) -> str:
    """What is known of the person ahead: stated confidence (low, middle, high), party, place in the network."""
    parts = []
    for name in _STRATA:
        value = row.get(name)
        if name == "confidence" and isinstance(value, list):
            level = value[0] if value and _given(value[0]) else None
            parts.append("confidence ?" if level is None else f"confidence {min(2, int(level // 3))}")
        elif value is not None:
            parts.append(f"{name} {value}")
    return ", ".join(parts)


def _given(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _signed_log(values: F64) -> F64:
    logs: F64 = np.sign(values) * np.log1p(np.abs(values))
    return logs
