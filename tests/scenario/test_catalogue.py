"""Every code has a page, and every page is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simflow.scenario import check
from simflow.scenario.catalogue import Page, pages, scenario


def codes_in_use(root: Path) -> set[str]:
    return {c for f in (root / "src/simflow/scenario").rglob("*.py") for c in re.findall(r'"(SF\d{3})"', f.read_text("utf-8"))}


def test_every_code_in_use_has_a_page_and_every_page_is_used(root):
    assert codes_in_use(root) == set(pages())


def checked(tmp_path: Path, text: str, files: dict[str, str]):
    for name, content in files.items():
        (tmp_path / name).write_text(content, "utf-8")
    path = tmp_path / "scenario.yaml"
    path.write_text(scenario(text), "utf-8")
    return check(path)


@pytest.mark.parametrize("page", [p for p in pages().values() if p.bad], ids=lambda p: p.code)
def test_the_bad_example_has_the_problem(page: Page, tmp_path, monkeypatch):
    monkeypatch.delenv("SIMFLOW_CORPORA", raising=False)
    plan, problems = checked(tmp_path, page.bad, dict(page.files))
    assert page.code in {p.code for p in problems}
    assert (plan is not None) == page.warning


@pytest.mark.parametrize("page", [p for p in pages().values() if p.good], ids=lambda p: p.code)
def test_the_good_example_has_no_problem_at_all(page: Page, tmp_path):
    plan, problems = checked(tmp_path, page.good, dict(page.good_files))
    assert plan is not None
    assert problems == []


def test_pages_in_docs_are_those_of_the_catalogue(root):
    folder = root / "docs/errors"
    assert {p.stem for p in folder.glob("SF*.md")} == set(pages())
    for code, page in pages().items():
        assert (folder / f"{code}.md").read_text("utf-8") == page.markdown(), f"run: simflow explain-error {code} > docs/errors/{code}.md"
