"""simflow: simulated societies as data pipelines."""

__version__ = "0.1.0"
