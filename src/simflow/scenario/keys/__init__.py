"""The keys of the language, by section: what each is, what it sets and what reads it."""

from simflow.scenario.keys.scenario import ROOT, every_key

__all__ = ["ROOT", "every_key"]
