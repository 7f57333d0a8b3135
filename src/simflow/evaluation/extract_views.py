"""Whether a view of the sentence model would read better: `python -m simflow.evaluation.extract_views static builtin multilingual`.

Judged on the phrases of several hands (extract_hands), each read beside a book that knows all other hands and not it. A view is a probe over the vector
of the phrase (a multinomial classifier over all four languages; Alain & Bengio 2016), whose numbers stand beside those that the extractor counts. The
probe, and the classifier that joins them, are fitted without the hand that they judge.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click
import numpy as np

from simflow.evaluation import extract_hands as hands
from simflow.evaluation.extract import scores
from simflow.evaluation.extract_train import Labels, Matrix, fit, phrases
from simflow.memory.embedders.choice import named
from simflow.memory.extractors import features, wording
from simflow.memory.extractors.builtin import SURE
from simflow.memory.extractors.lexicon import LANGUAGES, load
from simflow.memory.extractors.model import softmax
from simflow.ports import Embedder

SCALE, PENALTY, STEPS = 6.0, 4.0, 250
"""Of a probe: what unit vectors are multiplied with, its L2 penalty, the steps of its training."""
PARTS = ("stance", "answer")


class Unknown(NamedTuple):
    """A phrase, read beside a book that knows nothing by its hand."""

    line: str
    kind: int
    reading: features.Reading
    hand: int

    @property
    def label(self) -> int:
        """0, 1, 2 for -1, 0, +1; an aside says neither."""
        return 1 if self.kind == wording.ASIDE else self.kind


def unknown(code: str, part: str) -> Iterator[Unknown]:
    """The phrases of every hand of one language that is learnt from, as texts that the book does not know."""
    lexicon = load(code)
    for number in hands.learnt(code):
        book = wording.load(code, part, tuple(phrases(code, without=number)))
        for heading, line in hands.said(code, number):
            if wording.belongs(heading, part):
                read = features.stance(line, lexicon, book=book) if part == "stance" else features.answer(line, lexicon, book)
                yield Unknown(line, wording.HEADINGS[heading], read, number)


def heard(vectors: Matrix, labels: Labels, fold: Labels) -> Matrix:
    """Shape (n, 6): log-odds of -1, 0, +1, the smaller the likelier it is an aside, and probabilities, by probes that do not know the row's fold."""
    found = np.zeros((len(labels), 6))
    for number in np.unique(fold):
        mine = fold == number
        odds = softmax(vectors[mine] * SCALE, fit(vectors[~mine] * SCALE, labels[~mine], PENALTY, STEPS, kinds=4))
        logs = np.log(odds[:, :3] + 0.02)
        found[mine] = np.c_[(logs - logs.mean(axis=1, keepdims=True)) * (1 - odds[:, 3:]), odds[:, :3]]
    return found


def judged(inputs: Matrix, labels: Labels, fold: Labels) -> Matrix:
    """Probabilities of -1, 0, +1, shape (n, 3), by classifiers that do not know the row's fold."""
    odds = np.zeros((len(labels), 3))
    for number in np.unique(fold):
        mine = fold == number
        odds[mine] = softmax(inputs[mine], fit(inputs[~mine], labels[~mine]))
    return odds


def figures(odds: Matrix, found: Sequence[Unknown]) -> dict[str, Any]:
    """Of what is no aside: macro-F1 with abstention below the extractor's own threshold, sign accuracy at its coverage, mean log loss."""
    real = np.array([one.kind != wording.ASIDE for one in found])
    odds, gold = odds[real], np.array([one.label for one in found])[real]
    said = scores((gold - 1).tolist(), [int(row.argmax()) - 1 if row.max() >= SURE else None for row in odds])
    loss = -np.log(odds[np.arange(len(gold)), gold]).mean()
    return {"n": len(gold), **{name: said[name] for name in ("macro_f1", "sign_accuracy", "coverage")}, "log_loss": round(float(loss), 4)}


def measure(embedders: Sequence[Embedder], parts: Sequence[str] = PARTS) -> dict[str, Any]:
    """By part and view (`none` first): `figures` of each language, and CPU milliseconds that embedding one phrase takes."""
    report: dict[str, Any] = {}
    for part in parts:
        by = {code: list(unknown(code, part)) for code in LANGUAGES}
        found = [one for ones in by.values() for one in ones]
        ends = np.cumsum([len(ones) for ones in by.values()])[:-1]
        counts = np.array([one.reading.numbers for one in found])
        labels, fold = np.array([one.label for one in found]), np.array([one.hand for one in found])
        lines, kinds = [one.line for one in found], np.array([one.kind for one in found])
        views = {"none": (counts, 0.0)}
        for embedder in embedders:
            embedder.embed(lines[:1])  # loads it
            begin = time.process_time()
            vectors = embedder.embed(lines).astype(np.float64)
            cost = 1000 * (time.process_time() - begin) / len(lines)
            views[embedder.id.split("/")[0]] = (np.c_[counts, heard(vectors, kinds, fold)], cost)
        report[part] = {
            name: {
                "cpu_ms": round(cost, 2),
                "languages": {
                    code: figures(odds, ones)
                    for (code, ones), odds in zip(by.items(), np.split(judged(inputs, labels, fold), ends), strict=True)
                },
            }
            for name, (inputs, cost) in views.items()
        }
    return report


def table(report: dict[str, Any]) -> str:
    """As Markdown: macro-F1 and, in brackets, the sign accuracy, by language."""
    rows = [f"| read as | view | {' | '.join(LANGUAGES)} | CPU ms a phrase |", "|" + "---|" * (3 + len(LANGUAGES))]
    for part, views in report.items():
        for name, one in views.items():
            cells = [f"{f['macro_f1']:.3f} ({f['sign_accuracy']['value']:.3f})" for f in one["languages"].values()]
            rows.append(f"| {part} | {name} | {' | '.join(cells)} | {one['cpu_ms']:.2f} |")
    return "\n".join(rows)


@click.command()
@click.argument("embedders", nargs=-1)
@click.option("--part", "parts", type=click.Choice(PARTS), multiple=True, default=PARTS, help="What is read; default: both.")
@click.option("--json", "as_json", is_flag=True, help="All figures, as JSON.")
def main(embedders: tuple[str, ...], parts: tuple[str, ...], as_json: bool) -> None:
    """Measure the extractor on unknown phrases without a view of a sentence model and with that of each of EMBEDDERS."""
    report = measure([named(name) for name in embedders], parts)
    click.echo(json.dumps(report, indent=1) if as_json else table(report))


if __name__ == "__main__":
    main()
