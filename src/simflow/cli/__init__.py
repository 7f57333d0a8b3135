"""The command line. stdout is data, stderr is words; exit codes: 0 fine, 1 failed, 2 bad input, 3 endpoint, 130 interrupted."""

from simflow.cli.app import main

__all__ = ["main"]
