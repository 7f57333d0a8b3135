"""The real thing: `simflow tui` in a terminal, watching `simflow run` in another process that is killed and goes on."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pyte
import pytest

from simflow.bench.screen import Terminal

SCENARIO = """\
scenario: small-town
about: Does a small town mind?
topics: {water tariff: A plan to raise water bills by 18%.}
population:
  agents: 24
  personas:
    pensioner: {share: 50%, stance: {water tariff: -0.5 ± 0.3}}
    shop owner: {share: 50%}
clock: {ticks: 480, window: 24}
"""


class Shown:
    """A terminal as a person sees it: what the program writes, drawn by an emulator."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.screen = pyte.Screen(*terminal.size)
        self.stream = pyte.ByteStream(self.screen)
        self.bytes = b""

    def text(self) -> str:
        return "\n".join(self.screen.display)

    def look(self) -> None:
        """Take in what has been written, for a moment."""
        piece = self.terminal.read(0.1)
        self.bytes += piece
        # Queries and answers about the terminal itself, which this emulator does not know, would be drawn as text.
        self.stream.feed(re.sub(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1bP[^\x1b]*\x1b\\", b"", piece))

    def resize(self, columns: int, rows: int) -> None:
        self.terminal.resize(columns, rows)
        self.screen.resize(rows, columns)

    def until(self, *patterns: str, seconds: float = 120.0) -> str:
        """The screen once every pattern is on it at the same time: parts of a screen are painted one after another."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.look()
            if all(re.search(pattern, self.text()) for pattern in patterns):
                return self.text()
        pytest.fail(f"{patterns!r} never came; the screen is\n{self.text()}")


def committed(home) -> int:
    """Windows of the one run."""
    found = [json.loads(path.read_text("utf-8")) for path in (home / "runs").glob("*/*/windows.json")]
    return len(found[0]) if found else 0


def simflow(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "simflow", *map(str, arguments)]


def test_a_run_is_watched_while_it_is_killed_and_goes_on(home, held_run, tmp_path):
    scenarios = home.parent / "scenarios"
    scenarios.mkdir()
    (scenarios / "town.yaml").write_text(SCENARIO, "utf-8")
    how = scenarios / "town.yaml", "--home", home, "--no-tables", "--quiet"
    errors, go = tmp_path / "errors.txt", tmp_path / "go"

    def start(windows: int) -> subprocess.Popen[bytes]:
        with errors.open("wb") as told:
            command = held_run(windows, go, *how)
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told, start_new_session=True)

    with Terminal(simflow("tui", "--home", home), size=(120, 36)) as terminal:
        shown = Shown(terminal)
        shown.until("no runs yet")
        first = start(3)
        try:
            shown.until("● 1")
            shown.until(r"@\w+ (wrote|replied|shared)")
            terminal.write("w")
            shown.until("window 3 of 20", "● running")
            while committed(home) < 3 and first.poll() is None:
                shown.look()
            assert committed(home) == 3, errors.read_text()
        finally:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
        shown.until(r"◌ silent\s+no sign of life for \d+s")
        second = start(10)
        try:
            shown.until("● running", "window 10 of 20")
            go.touch()
            while second.poll() is None:  # a terminal that nobody reads stands still, and so does what writes to it
                shown.look()
        finally:
            if second.poll() is None:
                os.killpg(second.pid, signal.SIGKILL)
                second.wait()
        assert second.returncode == 0, errors.read_text()
        shown.until("✓ done", "window 20 of 20", "100%")
        assert len(list((home / "runs").glob("*/*"))) == 1
        terminal.write("s")
        shown.until("up to tick 480", r"\d+  @\w+")
        terminal.write("q")
        deadline = time.monotonic() + 120
        while terminal.read(0.2) or time.monotonic() < deadline:
            if b"\x1b[?1049l" in terminal.output:
                break
        assert b"\x1b[?1049l" in terminal.output, "the terminal was not given back"


@pytest.fixture
def run(home, make):
    """A run that fell silent, by the clock that a terminal goes by."""
    return make.run(home, now=time.time() - 60, heartbeat=time.time() - 60)


def test_without_colours_everything_is_still_said(run, home):
    with Terminal(simflow("tui", "--home", home), size=(80, 24), environment={"NO_COLOR": "1"}) as terminal:
        shown = Shown(terminal)
        shown.until("price-s7", "◌", "silent", "▸ .*water-tariff")  # the cursor has a sign of its own
        terminal.write("w")
        shown.until("no sign of life")
    colours = {tuple(map(int, m.split(b";")[2:5])) for m in re.findall(rb"\x1b\[[0-9;]*?((?:38|48);2;\d+;\d+;\d+)", shown.bytes)}
    assert all(len(set(c)) == 1 for c in colours), "only greys"


def test_sixteen_colours_are_all_that_the_ansi_theme_asks_for(run, home):
    with Terminal(simflow("tui", "--home", home, "--theme", "simflow-ansi"), size=(80, 24)) as terminal:
        shown = Shown(terminal)
        shown.until("price-s7")
        terminal.write("w")
        shown.until("of 6 committed")
        terminal.write("a")
        shown.until("@rosa0")
    assert b"38;2;" not in shown.bytes
    assert b"48;2;" not in shown.bytes
    assert b"38;5;" not in shown.bytes


@pytest.mark.parametrize("early", [True, False], ids=["while-it-starts", "later"])
def test_the_size_is_that_of_the_terminal_whatever_the_environment_says(run, home, early):
    with Terminal(simflow("tui", "--home", home), size=(100, 30), environment={"COLUMNS": "80", "LINES": "24"}) as terminal:
        shown = Shown(terminal)
        if not early:
            shown.until("price-s7")
        shown.resize(150, 45)
        shown.until("price-s7", "tokens", "\\^p all *$")


async def test_a_resize_that_was_missed_is_made_up_for(run, make, monkeypatch):
    async with make.shown(run.home, size=(100, 30)) as (app, pilot):
        monkeypatch.setattr(type(app), "is_headless", False)
        monkeypatch.setattr(os, "get_terminal_size", lambda _fd: os.terminal_size((150, 45)))
        assert "tokens" not in make.text(app)
        app._fit()
        await make.settle(app, pilot)
        assert (app.size, app.screen.size) == ((150, 45), (150, 45))
        assert "tokens" in make.text(app)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: the pseudo-terminal above shows the same")
def test_tmux_can_be_resized_while_it_watches(run, home, tmp_path):
    tmux = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]
    command = " ".join(simflow("tui", "--home", home))
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "100", "-y", "30", command],
        check=True,
        env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "COLUMNS": "80"},
    )

    def until(*words: str) -> None:
        deadline = time.monotonic() + 120
        text = ""
        while time.monotonic() < deadline:
            text = subprocess.run([*tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True).stdout
            if all(word in text for word in words):
                return
            time.sleep(0.2)
        pytest.fail(f"{words!r} never came\n{text}")

    try:
        until("price-s7")
        subprocess.run([*tmux, "resize-window", "-x", "150", "-y", "45"], check=True)
        until("tokens")
        subprocess.run([*tmux, "send-keys", "w"], check=True)
        until("extraction queue", "throughput")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
