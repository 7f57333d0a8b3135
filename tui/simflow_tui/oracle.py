"""Answers questions to memory in a process of its own: what a long run's memory weighs, and its model, never enters the terminal.

The process is started with the first question and ends when nobody has asked for a while. It speaks with its parent alone, over pipes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from simflow.runs import RunRecord
from simflow_tui.asking import Answer, Asker, Beliefs, Question

IDLE = 120.0
"""Seconds without a question after which the process is ended."""


class Oracle:
    """As `Asker`, in another process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = 0.0

    def recall(self, home: Path, record: RunRecord, question: Question) -> Answer:
        """The memory block that the agent would be given."""
        made = self._put("recall", home, record, question)
        return made if isinstance(made, Answer) else Answer(question, trouble=str(made))

    def beliefs(self, home: Path, record: RunRecord, question: Question) -> Beliefs:
        """Each belief about the agent as of the tick, with its edges, statements and raw events."""
        made = self._put("beliefs", home, record, question)
        return made if isinstance(made, Beliefs) else Beliefs(question, trouble=str(made))

    def rest(self) -> None:
        """End the process if nobody has asked for a while."""
        if self._process is not None and time.monotonic() - self._asked > IDLE and self._lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._lock.release()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if (process := self._process) is not None:
            process.kill()

    def _put(self, what: str, home: Path, record: RunRecord, question: Question) -> Answer | Beliefs | str:
        with self._lock:
            self._asked = time.monotonic()
            try:
                process = self._started()
                assert process.stdin is not None
                assert process.stdout is not None
                pickle.dump((what, home, record, question), process.stdin)
                process.stdin.flush()
                made: Answer | Beliefs = pickle.load(process.stdout)  # noqa: S301 - from our own child, over a pipe of ours
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                code = self._end()
                why = f" (signal {-code}: was there too little memory?)" if code is not None and code < 0 else f": {error}"
                return f"the process that reads memories ended{why}. Ask again to start another one"
            self._asked = time.monotonic()
            return made

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "simflow_tui.oracle"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._process

    def _end(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            return process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more questions."""
    asker = Asker()
    while True:
        try:
            what, home, record, question = pickle.load(questions)  # noqa: S301 - from our own parent, over a pipe of its own
        except EOFError:
            return
        made: Any = getattr(asker, what)(home, record, question)
        pickle.dump(made, answers)
        answers.flush()


if __name__ == "__main__":
    os.nice(5)
    with open(os.dup(1), "wb") as out:  # noqa: PTH123 - a descriptor; what a library prints must not come between the answers
        os.dup2(2, 1)
        serve(sys.stdin.buffer, out)
