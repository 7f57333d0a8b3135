"""The root command: words on stderr, data on stdout, an exit code for each kind of end."""

from __future__ import annotations

import errno
import sqlite3

import click
import pytest

from simflow import errors
from simflow.cli import main
from simflow.cli.app import app


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.RunFailed("it failed", hint="try again"), 1),
        (errors.BadInput("bad"), 2),
        (errors.NotFound("none"), 2),
        (errors.EndpointFailed("down"), 3),
        (errors.Stopped("stopped"), 130),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("a fault"), 1),
    ],
)
def test_every_kind_of_end_has_its_exit_code_and_no_traceback(monkeypatch, capsys, error, code):
    def fail() -> None:
        raise error

    monkeypatch.delenv("SIMFLOW_DEBUG", raising=False)
    monkeypatch.setitem(app.commands, "fail", click.Command("fail", callback=fail))
    monkeypatch.setattr(app, "get_command", lambda ctx, name: app.commands[name])
    with pytest.raises(SystemExit) as end:
        main(["fail"])
    assert end.value.code == code
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    if str(error):
        assert str(error) in said.err


def _ends(monkeypatch, capsys, error) -> str:
    def fail() -> None:
        raise RuntimeError("while something was written") from error

    monkeypatch.delenv("SIMFLOW_DEBUG", raising=False)
    monkeypatch.setitem(app.commands, "fail", click.Command("fail", callback=fail))
    monkeypatch.setattr(app, "get_command", lambda ctx, name: app.commands[name])
    with pytest.raises(SystemExit) as end:
        main(["fail"])
    assert end.value.code == 1
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/data/x.json"), "error: No space left on device: /data/x.json\n"),
        (OSError(errno.EROFS, "Read-only file system", "/data"), "error: Read-only file system: /data\n"),
        (PermissionError(errno.EACCES, "Permission denied", "/data"), "error: Permission denied: /data\n"),
        (sqlite3.OperationalError("database or disk is full"), "error: database or disk is full: the records of Dagster"),
    ],
)
def test_a_disk_that_takes_nothing_is_told_as_what_it_is_however_deep_it_happened(monkeypatch, capsys, error, words):
    said = _ends(monkeypatch, capsys, error)
    assert said.startswith(words)
    assert "what is committed is kept" in said
    assert "a fault of its own" not in said


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "No such file", "/x"), sqlite3.OperationalError("no such table: x")])
def test_what_the_disk_cannot_help_is_told_as_our_own_fault(monkeypatch, capsys, error):
    assert "a fault of its own: RuntimeError" in _ends(monkeypatch, capsys, error)


def test_an_unknown_command_is_refused_with_its_name(capsys):
    with pytest.raises(SystemExit) as end:
        main(["rnu"])
    assert end.value.code == 2
    assert "rnu" in capsys.readouterr().err


def test_every_command_shows_in_help(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    for name in ("init", "validate", "plan", "run", "recall", "explain", "tui", "dev", "doctor"):
        assert f"  {name} " in out
