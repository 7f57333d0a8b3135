"""`simflow bench readers`: processes that question a memory while a run is writing it. Each answer is given again once nothing moves any more."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

import click

QUESTIONS = (
    "What is being said about the water tariff now?",
    "Who influenced the water tariff debate?",
    "The bill is too high for families.",
)
ASKED = 25
"""Agents that are asked, the first ones."""


@click.command()
@click.option("--readers", default=8, show_default=True, type=click.IntRange(min=1), help="Processes that ask.")
@click.option(
    "--seconds", default=120.0, show_default=True, type=click.FloatRange(min=1), help="How long they ask while the run is written."
)
@click.option("--scenario", default="scenarios/hello.yaml", show_default=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def readers(readers: int, seconds: float, scenario: Path, *, as_json: bool) -> None:
    """Ask one memory from several processes while a window after another is committed, and count errors and wrong answers.

    An open memory is asked twice with a pause in which the run goes on: it must not have moved. Two readers at one moment must agree. After
    the run has been stopped, every moment is opened anew and asked again: what was answered while it was written must be what is answered now.
    """
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        stop, found = spawn.Event(), spawn.Queue()
        writer = spawn.Process(target=_write, args=(scenario, folder, stop))
        asking = [spawn.Process(target=_read, args=(folder, number, stop, found)) for number in range(readers)]
        for process in (writer, *asking):
            process.start()
        stop.wait(seconds)
        stop.set()
        reports = [found.get() for _ in asking]
        for process in (*asking, writer):
            process.join()
        result = _judge(folder, reports) | {"readers": readers, "seconds": seconds, "writer_failed": bool(writer.exitcode)}
    if as_json:
        click.echo(json.dumps(result, indent=1))
    else:
        click.echo("\n".join(f"{key.replace('_', ' '):28} {value}" for key, value in result.items()))
    if result["errors"] or result["wrong"] or result["moved"] or result["disagreed"] or result["writer_failed"] or not result["answers"]:
        raise SystemExit(1)


def _write(scenario: Path, folder: str, stop: Any) -> None:
    from simflow.run import open_cell
    from simflow.scenario import load

    cell = load(scenario).cells[0]
    models = dataclasses.replace(cell.models, embedder="static")
    cell = dataclasses.replace(cell, models=models, clock=dataclasses.replace(cell.clock, ticks=20_000, window=20))
    run = open_cell(scenario, cell, Path(folder))
    for number in range(len(run.windows)):
        if stop.is_set():
            return
        run.window(number)


def _read(folder: str, number: int, stop: Any, found: Any) -> None:
    from simflow.errors import NotFound

    answers: dict[str, str] = {}
    errors: list[str] = []
    moved = asked = 0
    while not stop.is_set():
        try:
            view = _view(folder)
            agent, about = (number + asked) % ASKED, QUESTIONS[asked % len(QUESTIONS)]
            said = _answer(view, agent, about)
            time.sleep(0.02)
            moved += _answer(view, agent, about) != said
            answers[f"{view.as_of}/{agent}/{asked % len(QUESTIONS)}"] = said
            asked += 1
        except NotFound:  # nothing is committed yet
            time.sleep(0.1)
        except Exception as error:  # noqa: BLE001 - counted, shown, and the bench fails
            errors.append(f"{type(error).__name__}: {error}")
    found.put({"asked": asked, "moved": moved, "answers": answers, "errors": errors})


def _view(folder: str, as_of: int | None = None) -> Any:
    from simflow import memory
    from simflow.runs import list_runs
    from simflow.store import Store

    known = list_runs(Path(folder))
    if not known:
        from simflow.errors import NotFound

        raise NotFound("there is no run yet")
    return memory.open(Store(Path(folder)).open(known[0]), as_of=as_of)


def _answer(view: Any, agent: int, about: str) -> str:
    block = json.dumps(view.recall(agent, None, about).plain(), sort_keys=True)
    return hashlib.sha256(block.encode()).hexdigest()


def _judge(folder: str, reports: list[dict[str, Any]]) -> dict[str, Any]:
    first: dict[str, str] = {}
    disagreed = 0
    for report in reports:
        for key, said in report["answers"].items():
            disagreed += first.setdefault(key, said) != said
    wrong, views = 0, {}
    for key, said in sorted(first.items()):
        tick, agent, question = map(int, key.split("/"))
        if tick not in views:
            views = {tick: _view(folder, tick)}
        wrong += _answer(views[tick], agent, QUESTIONS[question]) != said
    return {
        "answers": sum(r["asked"] for r in reports),
        "moments": len({key.split("/")[0] for key in first}),
        "checked_again": len(first),
        "errors": [e for r in reports for e in r["errors"]],
        "moved": sum(r["moved"] for r in reports),
        "disagreed": disagreed,
        "wrong": wrong,
    }
