"""One module, one noun, at most 400 lines; every room says what it knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOTS = ("src/simflow", "pipelines/simflow_pipelines", "tui/simflow_tui")
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "manager", "service", "misc"}


def modules(root: Path) -> list[Path]:
    return sorted(p for r in ROOTS for p in (root / r).rglob("*.py"))


def test_no_module_is_longer_than_400_lines(root):
    long = {str(p.relative_to(root)): n for p in modules(root) if (n := len(p.read_text("utf-8").splitlines())) > 400}
    assert long == {}


def test_no_module_is_named_for_what_it_is_not(root):
    assert [str(p) for p in modules(root) if p.stem in FORBIDDEN] == []


def test_every_room_says_what_it_knows(root):
    rooms = [p for p in (root / "src/simflow").iterdir() if p.is_dir() and (p / "__init__.py").exists()]
    for room in rooms:
        assert (room / "README.md").exists(), room.name
        assert len((room / "README.md").read_text("utf-8").splitlines()) <= 12, room.name


def test_the_lock_holds_plain_pins_only(root):
    lines = (root / "requirements.lock").read_text("utf-8").splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []


@pytest.mark.parametrize("package", ROOTS)
def test_every_package_is_typed(root, package):
    assert (root / package / "py.typed").exists()
