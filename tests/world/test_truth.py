"""What the world knows stays apart: nothing that agents, pipelines or people's screens are fed from may read it."""

import ast
from pathlib import Path

import pytest

import simflow

PACKAGE = Path(simflow.__file__).parent
READERS = {"evaluation", "measures", "store", "run", "world", "bench", "episode", "ports.py"}
"""Rooms that make, keep or measure it. Commands that evaluate are named below."""
COMMANDS = {"evaluate.py", "eval_memory.py", "eval_corpus.py", "eval_extract.py", "eval_opinions.py", "eval_cascades.py"}


def reads(path):
    """Places where a source touches truth: an attribute of that name, TRUTH, or a path that begins with it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        named = isinstance(node, ast.Attribute) and node.attr == "truth"
        imported = isinstance(node, ast.ImportFrom) and any(a.name == "TRUTH" for a in node.names)
        spelled = isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("truth/")
        if named or imported or spelled:
            yield f"{path.name}:{node.lineno}"


def sources():
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0]
        if room not in READERS and not (room == "cli" and path.name in COMMANDS):
            yield path


@pytest.mark.parametrize("path", list(sources()), ids=lambda p: "/".join(p.relative_to(PACKAGE).parts))
def test_nothing_but_evaluation_and_measures_reads_the_truth(path):
    assert not list(reads(path))


def test_the_rooms_that_do_are_found_by_this_search():
    assert list(reads(PACKAGE / "world" / "rendering.py"))
    assert list(reads(PACKAGE / "store" / "windows.py"))


def test_within_a_run_the_truth_only_passes_through(root):
    """`run` hands it to the store; it must not come back from there."""
    for path in (PACKAGE / "run").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "truth"
            assert not called, f"{path.name}:{node.lineno}"


@pytest.mark.parametrize("package", ["tui/simflow_tui", "pipelines/simflow_pipelines"])
def test_screens_and_pipelines_do_not_read_it(package, root):
    assert not [where for path in (root / package).rglob("*.py") for where in reads(path)]


def test_where_everybody_stands_is_truth_too_and_only_measures_open_it(root):
    """`standing.parquet` holds true stances: the store's door to it is opened by the measures alone."""
    folders = (PACKAGE, root / "tui/simflow_tui", root / "pipelines/simflow_pipelines")
    opens = {
        path.relative_to(folder).parts[0]
        for folder in folders
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "measured"
    }
    assert opens <= {"measures", "store", "catalog.py"}, "catalog.py asks whether a window has been measured, and where"
    assert "standing" not in (root / "pipelines/simflow_pipelines/catalog.py").read_text("utf-8")
