"""Embedders: sentences to unit vectors. Found by name under the entry point group `simflow.embedders`."""

from simflow.memory.embedders.choice import load, named

__all__ = ["load", "named"]
