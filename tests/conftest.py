"""Fixtures that all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Machines are shared and slow at times: how long an example takes says nothing about whether it is right.
# CI draws the same examples each time, so that a red run can be looked into; anywhere else they are new each time.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real data that SIMFLOW_CORPORA names; skips where it is not set."""
    given = os.environ.get("SIMFLOW_CORPORA")
    if not given or not Path(given).is_dir():
        pytest.skip("SIMFLOW_CORPORA is not set: this test runs on real data that does not ship with the project")
    return Path(given)


@pytest.fixture(scope="session")
def _object_server() -> Iterator[str]:
    moto = pytest.importorskip("moto.server", reason="moto[server] is not installed: no object store to try")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def object_store(_object_server, tmp_path, monkeypatch) -> str:
    """An empty prefix of a bucket on an S3-compatible server on this machine: `s3://bucket/prefix`."""
    import urllib.request

    for name, value in {
        "AWS_ENDPOINT_URL": _object_server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "SIMFLOW_WORK": str(tmp_path / "work"),
    }.items():
        monkeypatch.setenv(name, value)
    request = urllib.request.Request(f"{_object_server}/simflow-test", method="PUT")
    urllib.request.urlopen(request).close()
    return f"s3://simflow-test/{tmp_path.name}"


@pytest.fixture(scope="session")
def wheel(root, tmp_path_factory) -> Path:
    """The wheel of this repository, built."""
    out = tmp_path_factory.mktemp("dist")
    # --no-isolation: the build backend is among the pinned packages, so that nothing is fetched here.
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Path:
    """A fresh environment with the wheel in it; the pinned packages are lent to it by path, simflow's own sources are not."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet", str(wheel)], check=True
    )
    (site,) = (folder / "lib").glob("python3.*/site-packages")
    # A path in a .pth file is searched, but the .pth files in it (the editable install among them) are not read.
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return folder / "bin"


HELD = """
import os, sys, time
from pathlib import Path
from simflow.cli import main
from simflow.runs import Ledger

windows, go, parent, kept = int(sys.argv.pop(1)), Path(sys.argv.pop(1)), os.getppid(), Ledger.windows

def held(self, committed):
    kept(self, committed)
    while len(committed) == windows and not go.exists() and os.getppid() == parent:
        time.sleep(0.02)

Ledger.windows = held
main()
"""


@pytest.fixture
def held_run() -> Callable[..., list[str]]:
    """The command of a `simflow run` that waits, alive, with `windows` committed until the file `go` is there: nothing has to be fast."""
    return lambda windows, go, *arguments: [sys.executable, "-c", HELD, str(windows), str(go), "run", *map(str, arguments)]
