"""Progress is drawn on a terminal's stderr and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

CODE = """
from simflow.cli.progress import TerminalProgress
from simflow.runs import Progress
with TerminalProgress() as terminal:
    listener = terminal.named("demo base-s1")
    for tick in range(0, 101, 10):
        listener(Progress("running", tick // 50, 2, tick, 100, stage="vectors"))
    terminal._bar.refresh()
print("data")
"""


def test_a_terminal_is_shown_window_tick_and_stage():
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen([sys.executable, "-c", CODE], stdout=subprocess.PIPE, stderr=slave, env=environment)
    os.close(slave)
    seen = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the other end is closed: the process is done
            break
        if not chunk:
            break
        seen += chunk
    out, _ = process.communicate(timeout=60)
    os.close(master)
    text = seen.decode("utf-8", "replace")
    assert out == b"data\n"
    for part in ("demo base-s1", "window 2/2", "tick 100/100", "embedding"):
        assert part in text


def test_a_pipe_is_shown_nothing():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout == "data\n"
