"""Episodes, the tables of a window, and the sentences that agents remember."""

from simflow.episode.render import cut, sentence
from simflow.episode.tables import (
    AGENTS,
    CLAIMS,
    EDGES,
    EPISODES,
    EXPOSURES,
    PERSONAS,
    TABLES,
    TEXT_KINDS,
    TRUTH,
    TURNS,
    empty,
    label,
    vectors_schema,
)
from simflow.episode.wording import Wording, primary, wording

__all__ = [
    "AGENTS",
    "CLAIMS",
    "EDGES",
    "EPISODES",
    "EXPOSURES",
    "PERSONAS",
    "TABLES",
    "TEXT_KINDS",
    "TRUTH",
    "TURNS",
    "Wording",
    "cut",
    "empty",
    "label",
    "primary",
    "sentence",
    "vectors_schema",
    "wording",
]
