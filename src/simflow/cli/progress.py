"""A run's progress on a terminal: one calm line on stderr, nothing where nobody looks."""

from __future__ import annotations

import sys
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from simflow.runs import Progress as Far

STAGES = {"world": "living", "vectors": "embedding", "edges": "distilling", "personas": "updating personas", "snapshot": "committing"}


class TerminalProgress:
    """Listens to a run and draws it. Use as a context manager; call it with each progress.

    shown: whether to draw; None draws only where stderr is a terminal.
    """

    def __init__(self, *, shown: bool | None = None) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("window {task.fields[window]}"),
            TextColumn("tick {task.completed:.0f}/{task.total:.0f}"),
            TextColumn("[dim]{task.fields[stage]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not (sys.stderr.isatty() if shown is None else shown),
            transient=True,
        )
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Clear the line."""
        self._bar.stop()

    def named(self, name: str) -> Named:
        """Make the listener of one run; `name` is what the line starts with."""
        return Named(self, name)

    def draw(self, name: str, far: Far) -> None:
        """Show how far a run is."""
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=far.ticks, window="", stage="")
        window = f"{min(far.window + 1, far.windows)}/{far.windows}"
        self._bar.update(self._tasks[name], completed=far.tick, total=far.ticks, window=window, stage=STAGES.get(far.stage, far.stage))  # type: ignore[arg-type]


class Named:
    """A listener that draws one run."""

    def __init__(self, terminal: TerminalProgress, name: str) -> None:
        self._terminal = terminal
        self._name = name

    def __call__(self, progress: Far) -> None:
        """Draw the newest progress."""
        self._terminal.draw(self._name, progress)
