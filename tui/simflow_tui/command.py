"""`simflow tui`: the terminal, or one look at the ledger as text or JSON."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--home", "homes", multiple=True, help="a project's .simflow folder, the project itself, or s3://BUCKET/PREFIX; several may be given"
)
@click.option("--once", is_flag=True, help="print the state of all runs as text and end")
@click.option("--json", "as_json", is_flag=True, help="print the state of all runs as JSON and end")
@click.option("--theme", default=None, help="simflow-dark, simflow-light, simflow-contrast, simflow-ansi, or any of Textual's")
@click.option(
    "--notify",
    type=click.Choice(["off", "bell", "osc"]),
    default="off",
    help="tell outside the screen when a run ends, fails or nears a limit",
)
def tui(homes: tuple[str, ...], once: bool, as_json: bool, theme: str | None, notify: str) -> None:
    """Watch runs and question memories in the terminal.

    Reads the ledger and the committed windows only: closing it never touches a run.
    """
    from simflow.runs import home, place

    roots = [_root(place(given)) for given in homes] or [home()]
    if once or as_json:
        from simflow_tui.status import as_text, as_values
        from simflow_tui.watch import Watch

        runs = Watch(roots).runs()
        if as_json:
            import json

            click.echo(json.dumps(as_values(runs), ensure_ascii=False, indent=1))
        else:
            click.echo(as_text(runs))
        return
    import os
    import sys

    # The size is the terminal's own: variables that a shell exported once would hold it still, whatever the window does.
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    # A thread that reads gives way to one that draws after a millisecond, not after five.
    sys.setswitchinterval(0.001)
    from simflow_tui.app import SimflowApp

    SimflowApp(roots, theme=theme, notify_by=notify).run()


def _root(given: Path) -> Path:
    inside = given / ".simflow"
    return inside if inside.is_dir() else given
