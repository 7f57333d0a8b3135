"""A program in a pseudo-terminal, watched from outside: its output, its CPU time, its memory. Linux and macOS; figures from /proc."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self


class Terminal:
    """Use as a context manager; the program is ended with it. `size` is columns and rows."""

    def __init__(self, command: Sequence[str], *, size: tuple[int, int] = (120, 36), environment: dict[str, str] | None = None) -> None:
        self.command = list(command)
        self.size = size
        self.environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
        self.pid = 0
        self.output = b""
        self._fd = -1

    def __enter__(self) -> Self:
        """Start the program."""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.execvpe(self.command[0], self.command, self.environment)  # noqa: S606 - the program that is measured
        self.resize(*self.size)
        return self

    def __exit__(self, *exc: object) -> None:
        """End the program."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            self.read(0.05)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size; the program is told by a signal."""
        self.size = columns, rows
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def write(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def read(self, seconds: float) -> bytes:
        """What comes within `seconds`, at most one piece."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return b""
        try:
            piece = os.read(self._fd, 1 << 16)
        except OSError:  # the program has ended
            time.sleep(min(seconds, 0.05))
            return b""
        self.output = (self.output + piece)[-(1 << 20) :]
        return piece

    def until(self, text: str, *, seconds: float = 60.0) -> bool:
        """Read until `text` comes; False if it does not within `seconds`."""
        wanted = text.encode()
        return self.see(lambda seen: wanted in seen, seconds=seconds)

    def see(self, found: Callable[[bytes], bool], *, seconds: float = 60.0) -> bool:
        """Read until `found` holds of what has come since the call; False if it does not within `seconds`."""
        seen, deadline = b"", time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if piece := self.read(min(left, 0.5)):
                seen = (seen + piece)[-(1 << 18) :]
                if found(seen):
                    return True
        return False

    def idle(self, seconds: float) -> None:
        """Read and forget for a while."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.read(min(left, 0.1))

    def settle(self, *, quiet: float = 3.0, most: float = 180.0) -> None:
        """Read until the program has used next to no CPU for `quiet` seconds."""
        deadline = time.monotonic() + most
        while time.monotonic() < deadline:
            before = self.cpu()
            self.idle(quiet)
            if self.cpu() - before < 0.15 * quiet:
                return

    def cpu(self) -> float:
        """CPU seconds of the program and all that it started so far, all threads."""
        return sum(_cpu(pid) for pid in [self.pid, *self.children()])

    def children(self) -> list[int]:
        """Processes that the program started and that run now, and theirs."""
        parents: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (fields := _stat(int(entry.name))):
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
        found, todo = [], [self.pid]
        while todo:
            below = parents.get(todo.pop(), [])
            found += below
            todo += below
        return found

    def memory(self, pid: int | None = None) -> float:
        """Resident bytes of the program at their highest so far, or of another process."""
        try:
            lines = Path(f"/proc/{pid or self.pid}/status").read_text("ascii").splitlines()
        except OSError:
            return 0.0
        return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []


def _cpu(pid: int) -> float:
    # Own time and that of children that have ended.
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
