"""The wheel, installed by itself in a fresh environment, works without the repository."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
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


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
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


def run(*argv, cwd):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, cwd=cwd)


def test_the_wheel_holds_three_packages_dbt_and_scenarios(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "simflow/py.typed",
        "simflow_pipelines/py.typed",
        "simflow_tui/py.typed",
        "simflow_pipelines/dbt/dbt_project.yml",
        "simflow/memory/embedders/vocab.txt",
    ):
        assert needed in names
    assert not [n for n in names if n.startswith(("tests/", ".simflow"))]


def test_an_installed_simflow_says_its_version(installed, tmp_path):
    from simflow import __version__

    done = run(installed / "simflow", "--version", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert __version__ in done.stdout


def test_an_installed_simflow_runs_its_own_code(installed, tmp_path):
    done = run(installed / "python", "-c", "import simflow; print(simflow.__file__)", cwd=tmp_path)
    assert str(installed.parent) in done.stdout


def test_an_installed_simflow_validates_a_scenario(installed, tmp_path, root):
    copy = tmp_path / "hello.yaml"
    copy.write_bytes((root / "scenarios" / "hello.yaml").read_bytes())
    done = run(installed / "simflow", "validate", copy, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    copy.write_text(copy.read_text("utf-8") + "\nnonsense: 1\n", "utf-8")
    done = run(installed / "simflow", "validate", copy, cwd=tmp_path)
    assert done.returncode == 2
    assert "hello.yaml:" in done.stdout + done.stderr
