"""The exception tree. Every error that a person may meet is one of these; the command line turns the class into an exit code."""

from __future__ import annotations


class SimflowError(Exception):
    """Base class. `hint` says what to do about it. `exit_code` is what the command line ends with."""

    exit_code = 1
    heading = "error: "

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class RunFailed(SimflowError):
    """A run or a check failed."""


class BadInput(SimflowError):
    """Something that was given (a scenario, an argument, a file) cannot be used."""

    exit_code = 2


class NotFound(BadInput):
    """A run, an agent, a topic, a window that does not exist."""


class EndpointFailed(SimflowError):
    """A model endpoint failed beyond its retries."""

    exit_code = 3


class EndpointRefused(EndpointFailed):
    """A model endpoint refuses what it is asked (key, model, mode, credit): trying again is no use before something is changed."""


class Stopped(SimflowError):
    """The work was asked to stop and did, leaving a state that can be resumed."""

    exit_code = 130
