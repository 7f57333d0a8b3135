"""Tells the operator outside the screen: a bell or a notification of the terminal, when a run ends, fails, falls silent or nears a limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simflow_tui.figures import plain
from simflow_tui.watch import RunView

WAYS = ("off", "bell", "osc")
WORTH = {"done": "is done", "failed": "failed", "stopped": "stopped", "silent": "fell silent", "gone": "was deleted"}


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that happened to a run. `severity` as Textual's: information, warning or error."""

    run: str
    text: str
    severity: str


class Notices:
    """Compares what is with what was; a run that is first seen in a state says nothing."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._health: dict[str, str] = {}

    def take(self, runs: Iterable[RunView]) -> list[Notice]:
        """What happened since the last call."""
        found: list[Notice] = []
        for run in runs:
            before, self._states[run.key] = self._states.get(run.key), run.state
            if (
                before is not None
                and before != run.state
                and run.state in WORTH
                and before in {"running", "stopping", "starting", "silent"}
            ):
                severity = "error" if run.state == "failed" else "warning" if run.state in {"silent", "gone"} else "information"
                reason = f": {run.progress.reason}" if run.progress.reason and run.state != "done" else ""
                found.append(Notice(run.key, plain(f"{run.record.scenario} {run.cell} {WORTH[run.state]}{reason}"), severity))
            word, _ = run.health
            old, self._health[run.key] = self._health.get(run.key), word
            if old is not None and old != word and word.startswith(("over ", "near ")):
                severity = "error" if word.startswith("over") else "warning"
                found.append(Notice(run.key, plain(f"{run.record.scenario} {run.cell} is {word} limit"), severity))
        return found


def sequence(way: str, text: str) -> str:
    """What to send to the terminal: a bell, or OSC 9 (iTerm2, kitty, WezTerm, Windows Terminal) and OSC 777 (urxvt, foot, VTE)."""
    if way == "bell":
        return "\a"
    if way == "osc":
        clean = text.replace(";", ",")
        return f"\x1b]9;{clean}\x1b\\\x1b]777;notify;simflow;{clean}\x1b\\"
    return ""
