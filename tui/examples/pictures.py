"""Takes the pictures of the terminal that the documents show, of the newest run of a project: python tui/examples/pictures.py .simflow docs/images."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from textual.pilot import Pilot

from simflow_tui.app import SimflowApp

SIZE = (132, 36)
SCREENS = {"run": "w", "belief": "b", "memory": "m"}
"""Name of the picture -> key of the screen."""


async def still(app: SimflowApp, pilot: Pilot[None]) -> None:
    """Wait until the screen has been the same for two seconds and waits for nothing: what it shows is read in other threads."""
    seen, same = "", 0
    while same < 4:
        await pilot.pause(0.5)
        now = app.export_screenshot()
        seen, same = now, same + 1 if now == seen and "recalling" not in now else 0


async def take(home: Path, folder: Path, agent: str, situation: str) -> None:
    """One picture a screen."""
    app = SimflowApp([home])
    app.animation_level = "none"
    async with app.run_test(size=SIZE) as pilot:
        await still(app, pilot)
        await pilot.press("a")
        await still(app, pilot)
        for name, key in SCREENS.items():
            await pilot.press(key)
            await still(app, pilot)
            if name == "memory":
                app.screen.query_one("#who").value = agent  # type: ignore[attr-defined]
                app.screen.query_one("#situation").value = situation  # type: ignore[attr-defined]
                await pilot.press("i", "enter")
                await still(app, pilot)
            (folder / f"{name}.svg").write_text(app.export_screenshot(), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--agent", default="14")
    parser.add_argument("--situation", default="What is being said about the water tariff now?")
    given = parser.parse_args()
    asyncio.run(take(given.home, given.folder, given.agent, given.situation))
