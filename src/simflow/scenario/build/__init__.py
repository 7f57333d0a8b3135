"""From values that were read to the plan: names are looked up, times become ticks, shares become counts."""

from simflow.scenario.build.cell import build

__all__ = ["build"]
