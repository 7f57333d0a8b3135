"""YAML to a plan, with problems that say where they stand and what to do."""

from simflow.scenario.load import check, load
from simflow.scenario.problems import Problem, Problems

__all__ = ["Problem", "Problems", "check", "load"]
