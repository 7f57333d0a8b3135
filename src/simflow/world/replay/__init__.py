"""A recorded trace instead of a generated world."""

from simflow.world.replay.engine import ReplayEngine

__all__ = ["ReplayEngine"]
