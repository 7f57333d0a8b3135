"""What residents write: paraphrase tables by language, and the grammar that turns stances into texts."""

from simflow.world.language.grammar import Grammar, Texts
from simflow.world.language.tables import ASPECTS, CODES, LEVELS, NEUTRAL, STRONG, level, phrases

__all__ = ["ASPECTS", "CODES", "LEVELS", "NEUTRAL", "STRONG", "Grammar", "Texts", "level", "phrases"]
