"""`simflow bench`: speed and size, in CPU seconds, ratios and bytes. Each one is its own module, imported when used."""

from __future__ import annotations

import click

from simflow.cli.app import LazyGroup

BENCHES: dict[str, tuple[str, str]] = {
    "pipeline": ("simflow.bench.pipeline:pipeline", "the whole line, by stage"),
    "world": ("simflow.bench.world:world", "the built-in engine"),
    "recall": ("simflow.bench.recall:recall", "recall and the graph, as history grows"),
    "readers": ("simflow.bench.readers:readers", "questions from several processes while a run is written"),
    "embedders": ("simflow.bench.embedders:embedders", "embedders side by side"),
    "language": ("simflow.bench.language:language", "reading scenarios, hostile ones among them"),
    "extract": ("simflow.bench.extract:extract", "tokens and money of extraction, by strategy"),
    "concurrency": ("simflow.bench.concurrency:concurrency", "reading texts by a model, with more or fewer calls at once"),
    "orchestration": ("simflow.bench.orchestration:orchestration", "what Dagster costs"),
    "tui": ("simflow.bench.tui:tui", "the terminal under load"),
}


@click.group(cls=LazyGroup, lazy=BENCHES)
def bench() -> None:
    """Measure speed and size."""
