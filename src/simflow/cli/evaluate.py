"""`simflow eval`: measurements against known answers. Each one is its own module, imported when used."""

from __future__ import annotations

import click

from simflow.cli.app import LazyGroup

EVALUATIONS: dict[str, tuple[str, str]] = {
    "memory": ("simflow.cli.eval_memory:memory", "questions about a run, from its ground truth"),
    "corpus": ("simflow.cli.eval_corpus:corpus", "retrieval on a folder of episodes and questions with evidence"),
    "extract": ("simflow.cli.eval_extract:extract", "stance and relation extraction on labelled text"),
    "measures": ("simflow.cli.eval_measures:measures", "stances, networks, activity and cascades of a run, by window"),
    "opinions": ("simflow.cli.eval_opinions:opinions", "the dynamics against people who changed their minds"),
    "cascades": ("simflow.cli.eval_cascades:cascades", "the dynamics against cascades that happened"),
}


@click.group(cls=LazyGroup, lazy=EVALUATIONS)
def evaluate() -> None:
    """Measure against known answers."""
