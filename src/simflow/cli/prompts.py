"""`simflow prompts`: exactly what a model is sent, and what it answered: from the recording, or as it would be before any is there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simflow.runs import place

if TYPE_CHECKING:
    from simflow.llm.room import Question, Room
    from simflow.plan import Cell
    from simflow.ports import Act, Extraction, Passage, Turn


@click.command()
@click.argument("what", metavar="SCENARIO|RUN")
@click.option("--phase", type=click.Choice(["act", "extract"]), help="Turns of agents, or reading of relations; default: what there is.")
@click.option("--agent", help="An agent's id, such as @rosa14.")
@click.option("--tick", type=click.IntRange(min=0), help="The first question at or after this tick.")
@click.option("--list", "listed", is_flag=True, help="List what was asked instead of showing one question.")
@click.option("--probe", is_flag=True, help="Ask the endpoint which ways of shaping answers it masters (up to eight short calls).")
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def prompts(
    what: str, phase: str | None, agent: str | None, tick: int | None, root: Path | None, *, listed: bool, probe: bool, as_json: bool
) -> None:
    """Show what a model is sent for SCENARIO or RUN: rules first, then the turn or the lines, then the shape of the answer.

    Of a run that was recorded, the very request and its answer. Otherwise the first question as it would be, said so on standard error.
    """
    from simflow.errors import NotFound
    from simflow.llm.room import Room
    from simflow.runs import home

    cell, model = _cell(what, root)
    room = Room.of(cell, model)
    room.keep_in(root or home())
    if probe:
        _probe(room, as_json=as_json)
        return
    who = agent.removeprefix("@") if agent else None
    asked = [
        row
        for row in room.recording.asked()
        if (phase is None or row["phase"] == phase)
        and (who is None or row.get("agent") == who)
        and (tick is None or int(row.get("tick", 0)) >= tick)
    ]
    asked.sort(key=lambda r: (r["phase"], r.get("tick", 0), str(r.get("agent", ""))))
    if listed:
        click.echo(json.dumps(asked, indent=1) if as_json else "\n".join(map(_row, asked)))
        return
    if asked and (found := room.recording.read(asked[0]["key"])):
        click.echo(f"recorded: {_row(asked[0])}; {len(asked)} such in all", err=True)
        shown = {**asked[0], "request": found["request"], "answer": found.get("response"), "failure": found.get("failure")}
    else:
        question = _first(cell, room, phase, who, tick or 0)
        if question is None:
            raise NotFound("no such question would be asked", hint="`--list` shows those that were; is the agent one that speaks?")
        click.echo("not recorded: as the first one would be, with nothing said or read by a model before it", err=True)
        shown = {"phase": question.phase, **question.about, "request": room.request(question), "answer": None, "failure": None}
    click.echo(json.dumps(shown, ensure_ascii=False, indent=1) if as_json else _text(shown))


def _cell(what: str, root: Path | None) -> tuple[Cell, str | None]:
    # With the model that a run was made with, should its scenario name none.
    from simflow.runs import find_run, home
    from simflow.scenario import load
    from simflow.store import Store

    if Path(what).is_file():
        return load(Path(what)).cells[0], None
    state = root or home()
    run = Store(state).open(find_run(state, what))
    return run.cell, model_of(run.cell, run.record.about().get("ids", {}))


def model_of(cell: Cell, ids: Mapping[str, str]) -> str | None:
    """The model that the environment named when a run began, from the `ids` in its run.yaml; None if they do not tell.

    The reader's id holds that model alone; the speaker's those of personas beside it. What both begin and end with is no model's name.
    """
    from simflow.llm.endpoint import MODES

    modes = "|".join((*MODES, "auto"))
    if read := re.search(rf"\bllm/(.+)/(?:{modes})/\w+@", ids.get("extractor", "")):
        return read[1]
    if not (spoke := re.search(rf"\bspeaker/(.+)/(?:{modes})@", ids.get("engine", ""))):
        return None
    own = {p.model for p in cell.personas if p.model}
    others = [name for name in spoke[1].split("+") if name not in own]
    return "+".join(others) or (next(iter(own)) if len(own) == 1 else None)


def _first(cell: Cell, room: Room, phase: str | None, agent: str | None, tick: int) -> Question[Any] | None:
    """The first question that a run would ask, of those that are wanted; up to it nobody that a model speaks for says anything."""
    from simflow.cli.rehearsal import live
    from simflow.cli.stand_in import Silent
    from simflow.errors import Stopped
    from simflow.llm.cascade import Cascade
    from simflow.llm.extractor import ModelExtractor
    from simflow.llm.speaker import ModelSpeaker
    from simflow.ports import Act, Extraction

    phase = phase or ("act" if cell.speaks or agent else "extract")
    found: list[Question[Any]] = []

    class Listener:
        """Says nothing until the turn that is looked for."""

        id = "listener"

        def speak(self, turns: Sequence[Turn]) -> list[Act]:
            for turn in turns:
                if phase == "act" and turn.tick >= tick and agent in {None, turn.id}:
                    found.append(ModelSpeaker(cell, room).question(turn))
                    raise Stopped("the question is found")
            return [Act("nothing") for _ in turns]

    class Reader(ModelExtractor):
        """Finds nothing until the lines that are looked for."""

        def extract(self, batch: Sequence[Passage]) -> Extraction:
            question = self.question(self.batches(batch, self.size)[0])
            if phase == "extract" and agent is None and int(question.about["tick"]) >= tick:
                found.append(question)
                raise Stopped("the question is found")
            return Extraction((), tuple(p.episode for p in batch))

    reads = cell.models.extractor == "llm"
    try:
        live(cell, Listener(), Cascade(cell, Silent(), room=room, model=Reader(cell, room)) if reads else None)
    except Stopped:
        if not found:
            raise
    return next(iter(found), None)


def _text(shown: dict[str, Any]) -> str:
    from simflow.llm.room import count

    request = shown["request"]
    parts = []
    for message in request["messages"]:
        parts += [f"--- {message['role']}", str(message["content"]), ""]
    rest = {k: v for k, v in request.items() if k != "messages"}
    parts += ["--- with", json.dumps(rest, ensure_ascii=False), ""]
    if shown["answer"]:
        message = shown["answer"]["choices"][0]["message"] if shown["answer"].get("choices") else {}
        usage = shown["answer"].get("usage") or {}
        said = message.get("content") or message.get("refusal") or json.dumps(message.get("tool_calls"))
        parts += [f"--- answer ({usage.get('prompt_tokens', '?')} tokens in, {usage.get('completion_tokens', '?')} out)", str(said), ""]
    if shown["failure"]:
        parts += ["--- could not be used", str(shown["failure"]), ""]
    return "\n".join([*parts, f"about {count(request):,} tokens as sent"])


def _row(row: dict[str, Any]) -> str:
    about = f"@{row['agent']}" if "agent" in row else f"{row.get('lines', '?')} lines"
    return f"{row['phase']:<8} tick {row.get('tick', '?'):>5}  {about}  {row['key'][:12]}"


def _probe(room: Room, *, as_json: bool) -> None:
    # Says what the endpoint masters; raises EndpointFailed, after that, if it masters nothing.
    from simflow.errors import EndpointFailed
    from simflow.llm.probe import probe

    room.ready()
    place, model = room.endpoint.place, room.endpoint.model
    found = probe(room)
    able = [mode for mode, fault in found.items() if not fault]
    if as_json:
        click.echo(json.dumps({"endpoint": place, "model": model, "modes": found}, indent=1))
    else:
        click.echo("\n".join([f"{place}, {model}", *(f"  {mode:<12} {fault or 'masters it'}" for mode, fault in found.items())]))
    if not able:
        raise EndpointFailed(f"{model} at {place} masters no way of shaping answers", hint="what it said to each stands above")
    if not as_json:
        click.echo(f"set SIMFLOW_LLM_MODE={able[0]}")
