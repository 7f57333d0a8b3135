"""The wheel, installed by itself in a fresh environment, works without the repository."""

from __future__ import annotations

import subprocess
import zipfile


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
