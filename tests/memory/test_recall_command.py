from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from simflow.cli.doctor import doctor
from simflow.cli.recall import _room, recall
from simflow.errors import BadInput, NotFound, RunFailed
from simflow.memory import segments as files

GOLDEN = Path(__file__).with_name("golden") / "block.md"


@pytest.fixture
def ask(home, words, monkeypatch):
    monkeypatch.setattr("simflow.memory.facade.load", lambda cell: words)
    return lambda *args: CliRunner().invoke(recall, ["small-town", *args, "--home", str(home)])


def test_the_block_reads_as_it_is_kept_in_the_golden_file(ask):
    # To accept a change on purpose: write `result.stdout` into the file, and read it as an agent would.
    result = ask("cleo2", "--tick", "120", "--about", "Where does Bob Ray stand on water, and what is being said about it now?")
    assert result.exit_code == 0
    assert result.stdout == GOLDEN.read_text("utf-8")


def test_the_notes_tell_budgets_reading_and_sources(ask):
    result = ask("2", "--tick", "120", "--about", "Bob and Ann on water before the council vote")
    assert "of 800 tokens; persona" in result.stderr
    assert "agents: @bob1" in result.stderr
    assert "topics: water" in result.stderr
    assert "time: before council vote (tick 60)" in result.stderr
    assert "ambiguous" in result.stderr
    assert "value" in result.stderr


def test_machines_get_json(ask, view):
    result = ask("bob1", "--tick", "50", "--about", "pipes", "--json", "--mode", "vectors", "--scope", "world")
    answer = json.loads(result.stdout)
    assert answer["run"].startswith("small-town/")
    assert {line["kind"] for line in answer["lines"]} == {"persona", "episode"}


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        (("Ann", "--about", "x"), BadInput),
        (("Zoe", "--about", "x"), NotFound),
        (("bob1", "--about", "x", "--tick", "161"), BadInput),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, args, kind):
    assert isinstance(ask(*args).exception, kind)


def test_doctor_finds_and_removes_damaged_arrays(ask, home, run):
    expected = ask("bob1", "--about", "pipes").stdout
    place = files.folder(run, run.windows[2].key)
    good = (place / "exact.npy").read_bytes()
    (place / "exact.npy").write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    found = CliRunner().invoke(doctor, ["--home", str(home)])
    assert isinstance(found.exception, RunFailed)
    assert "the arrays that recall searches are damaged" in found.stdout
    assert CliRunner().invoke(doctor, ["--home", str(home), "--repair"]).exit_code == 0
    assert not place.exists()
    assert ask("bob1", "--about", "pipes").stdout == expected
    assert (place / "exact.npy").read_bytes() == good


def test_a_kind_that_uses_what_others_left_says_so():
    assert _room("scan", 140, 141) == "scan 140/141"
    assert _room("relation", 413, 200) == "relation 413/200 (+213 that others left)"
