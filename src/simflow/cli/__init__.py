"""The command line. stdout is data, stderr is words; exit codes: 0 fine, 1 failed, 2 bad input, 3 endpoint, 130 interrupted."""

import gc

# What a start allocates stays: collecting it over and over is a tenth of what `simflow validate` costs.
gc.set_threshold(50_000, 20, 50)

from simflow.cli.app import main  # noqa: E402

__all__ = ["main"]
