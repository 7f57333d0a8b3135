"""Parts of Dagster that are still beta and that we have chosen to stand on: code references, observable assets, check partitions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg


@contextmanager
def accepted() -> Iterator[None]:
    """Keep Dagster's notes on beta parts from the terminals of people who did not choose them."""
    with warnings.catch_warnings():
        for category in (dg.BetaWarning, dg.PreviewWarning):
            warnings.simplefilter("ignore", category)
        yield
