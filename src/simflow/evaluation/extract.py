"""How well an extractor reads stances and answers: on labelled text that people wrote, and on generated worlds in words it has never met."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simflow.errors import BadInput
from simflow.evaluation.corpus_scores import wilson
from simflow.memory.evidence import label_of
from simflow.memory.extractors.builtin import BuiltinExtractor
from simflow.plan import Cell, Language, Topic
from simflow.ports import Extractor, Passage

STANCES = {"favor": 1, "favour": 1, "for": 1, "pro": 1, "support": 1, "agree": 1, "against": -1, "con": -1, "deny": -1, "disagree": -1}
"""Labels of the sets; every other word (none, unclear, comment, query, ...) is neither."""
BATCH = 512
ABSTAINED = "an abstention is read as neither in macro-F1 and in the F1 of each label; accuracies and precision are of what is said, at its coverage"
"""How silence counts, in every report."""


@dataclass(frozen=True, slots=True)
class Item:
    """One labelled text: a passage, the finding that is asked for (`opinion` on a topic or `attitude` towards whom is answered), -1, 0 or +1."""

    passage: Passage
    kind: str
    topic: str | None
    label: int


@dataclass(frozen=True, slots=True)
class Labelled:
    """A set of labelled texts; `topics` are the targets that stances are towards; `notes` count what was left out."""

    name: str
    items: tuple[Item, ...]
    topics: tuple[Topic, ...]
    language: str
    notes: Mapping[str, int]


def read(folder: Path) -> Labelled:
    """Read `episodes.jsonl`, and `relations.jsonl` or `labels.jsonl` beside it if they are there.

    Rows with `labels.stance` and a `target` are stances on a topic; rows with `labels.sdqc` are answers to their thread's first post; rows of
    relations.jsonl are answers of one episode to another. Raises BadInput with the line that cannot be used.
    """
    rows = {row["id"]: row for row in _lines(folder / "episodes.jsonl", ("id", "text"))}
    if (folder / "labels.jsonl").exists():
        for row in _lines(folder / "labels.jsonl", ("id",)):
            if row["id"] in rows:
                found = row.get("labels", {k: v for k, v in row.items() if k != "id"})
                rows[row["id"]]["labels"] = {**(rows[row["id"]].get("labels") or {}), **found}
    notes: Counter[str] = Counter()
    if (folder / "relations.jsonl").exists():
        items = _pairs(rows, list(_lines(folder / "relations.jsonl", ("episode_id", "target_episode_id", "relation"))), notes)
    else:
        items = [item for at, row in enumerate(rows.values()) if (item := _item(row, at, rows, notes)) is not None]
    if not items:
        raise BadInput(
            f"{folder} holds no label that is a stance or an answer",
            hint="rows need labels.stance and target, labels.sdqc, or relations.jsonl",
        )
    topics = tuple(Topic(name) for name in dict.fromkeys(i.topic for i in items if i.topic))
    languages = Counter(i.passage.lang for i in items if i.passage.lang)
    language = (languages.most_common(1)[0][0] or "en") if languages else "en"
    return Labelled(folder.name, tuple(items), topics or (Topic("the matter"),), language.split("-")[0], dict(notes))


def _item(row: Mapping[str, Any], at: int, rows: Mapping[str, Mapping[str, Any]], notes: Counter[str]) -> Item | None:
    labels = row.get("labels") or {}
    if "sdqc" in labels:
        first = rows.get(row.get("thread") or "")
        if first is None or first["id"] == row["id"]:
            notes["first posts of threads, which answer nobody"] += 1
            return None
        return Item(_answer(row, first, at), "attitude", None, STANCES.get(labels["sdqc"], 0))
    if "stance" in labels and row.get("target"):
        stance = labels["stance"]
        if stance == "":
            notes["rows without a label"] += 1
            return None
        target = str(row["target"])
        passage = Passage(
            at, int(row.get("tick") or 0), "post", 1, "author", None, None, str(row["text"]), root=0, root_text=target, lang=row.get("lang")
        )
        return Item(passage, "opinion", target, STANCES.get(str(stance), 0))
    notes["rows without a label"] += 1
    return None


def _pairs(rows: Mapping[str, Mapping[str, Any]], relations: Sequence[Mapping[str, Any]], notes: Counter[str]) -> list[Item]:
    votes: dict[tuple[str, str], Counter[int]] = {}
    for relation in relations:
        pair = (relation["episode_id"], relation["target_episode_id"])
        votes.setdefault(pair, Counter())[STANCES.get(relation["relation"], 0)] += 1
    items = []
    for at, ((one, other), count) in enumerate(sorted(votes.items())):
        if one not in rows or other not in rows:
            notes["relations between episodes that are not there"] += 1
            continue
        total = sum(label * times for label, times in count.items())
        items.append(Item(_answer(rows[one], rows[other], at), "attitude", None, (total > 0) - (total < 0)))
    return items


def _answer(row: Mapping[str, Any], parent: Mapping[str, Any], at: int) -> Passage:
    return Passage(
        at,
        int(row.get("tick") or 0),
        "reply",
        1,
        str(row.get("actor") or "author"),
        2,
        str(parent.get("actor") or "other"),
        str(row["text"]),
        parent=-1,
        parent_text=str(parent["text"]),
        root=-1,
        root_text=str(parent["text"]),
        lang=None if row.get("lang") in {None, "und"} else row["lang"],
    )


def evaluate(labelled: Labelled, make: Callable[[Cell, float | None], Extractor] | None = None) -> dict[str, Any]:
    """Read every text twice: as the extractor is (it may abstain), and with its best guess for each.

    make: builds the extractor from a cell and a threshold (None: its own). The result is plain JSON values: `answers` and `forced`, beside
    `majority`, which answers the commonest label always.
    """
    build = make or _builtin
    cell = Cell("labelled", "base", {}, 0, labelled.topics, language=Language(code=labelled.language))
    gold = [item.label for item in labelled.items]
    common = Counter(gold).most_common(1)[0][0]
    report: dict[str, Any] = {
        "set": labelled.name,
        "language": labelled.language,
        "n": len(gold),
        "labels": _shares(gold),
        "notes": dict(labelled.notes),
    }
    for name, sure in (("answers", None), ("forced", 0.0)):
        extractor = build(cell, sure)
        report[name] = {"extractor": extractor.id, **scores(gold, predict(extractor, labelled.items))}
    report["majority"] = {"label": common, **scores(gold, [common] * len(gold))}
    report["beats_majority"] = report["answers"]["macro_f1"] > report["majority"]["macro_f1"]
    report["counted"] = ABSTAINED
    return report


def _builtin(cell: Cell, sure: float | None) -> Extractor:
    return BuiltinExtractor(cell) if sure is None else BuiltinExtractor(cell, sure=sure)


def predict(extractor: Extractor, items: Sequence[Item]) -> list[int | None]:
    """The label that the extractor gives each item, None where it abstains."""
    found: dict[int, int] = {}
    wanted = {item.passage.episode: item for item in items}
    for start in range(0, len(items), BATCH):
        result = extractor.extract([item.passage for item in items[start : start + BATCH]])
        for finding in result.findings:
            item = wanted[finding.episode]
            if finding.kind == item.kind and (item.topic is None or finding.on_topic == item.topic):
                found.setdefault(finding.episode, label_of(finding.value))
    return [found.get(item.passage.episode) for item in items]


def scores(gold: Sequence[int], said: Sequence[int | None]) -> dict[str, Any]:
    """Macro-F1 over -1, 0, +1 with an abstention read as 0; F1 of each; how often the sign of a polar answer is right, and at what coverage."""
    filled = [0 if s is None else s for s in said]
    by_label = {label: _f1(gold, filled, label) for label in (-1, 0, 1)}
    pairs = list(zip(gold, said, strict=True))
    polar = [(g, s) for g, s in pairs if s]
    both = [(g, s) for g, s in polar if g]
    answered = [(g, s) for g, s in pairs if s is not None]
    return {
        "macro_f1": round(sum(by_label.values()) / 3, 4),
        "f1_for": round(by_label[1], 4),
        "f1_against": round(by_label[-1], 4),
        "f1_neither": round(by_label[0], 4),
        "sign_accuracy": _share(sum(g == s for g, s in both), len(both)),
        "polar_precision": _share(sum(g == s for g, s in polar), len(polar)),
        "coverage": round(len(answered) / len(pairs), 4),
        "polar_coverage": round(len(both) / max(sum(g != 0 for g in gold), 1), 4),
        "accuracy_where_answered": _share(sum(g == s for g, s in answered), len(answered)),
        "relation_f1": round(2 * sum(g == s for g, s in answered) / (len(answered) + len(pairs)), 4),
    }


def _f1(gold: Sequence[int], said: Sequence[int], label: int) -> float:
    hits = sum(g == s == label for g, s in zip(gold, said, strict=True))
    total = sum(g == label for g in gold) + sum(s == label for s in said)
    return 2 * hits / total if total else 0.0


def _share(hits: int, of: int) -> dict[str, Any]:
    if not of:
        return {"value": None, "n": 0}
    low, high = wilson(hits, of)
    return {"value": round(hits / of, 4), "n": of, "interval": [round(low, 4), round(high, 4)]}


def _shares(gold: Iterable[int]) -> dict[str, int]:
    count = Counter(gold)
    return {"for": count[1], "against": count[-1], "neither": count[0]}


def _lines(path: Path, needed: tuple[str, ...]) -> Iterable[dict[str, Any]]:
    if not path.exists():
        raise BadInput(f"there is no {path}", hint="give a folder with episodes.jsonl")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise BadInput(f"{path}:{number}: not JSON: {error}", hint="each line must be one JSON object") from error
            if not isinstance(row, dict) or any(name not in row for name in needed):
                raise BadInput(
                    f"{path}:{number}: a row needs {', '.join(needed)}", hint="each line must be one JSON object with these keys"
                )
            yield row
