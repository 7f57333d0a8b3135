"""For whom a model speaks, and that everything which depends on it agrees: the engine, the forecast, the prompts that are shown, the key that is asked for."""

from __future__ import annotations

import json

import pytest

from simflow.cli import main
from simflow.cli.forecast import spends
from simflow.errors import BadInput
from simflow.plan import Cell, Models, Persona, Topic
from simflow.run import keys_of, open_cell, window_keys
from simflow.run.parts import Parts
from simflow.runs import list_runs
from simflow.scenario import load

SCENARIO = """\
scenario: study
topics: {{tariff: A rise of water bills.}}
population:
  agents: 8
  personas: {{young: {{share: 50%{young}}}, old: {{share: 50%{old}}}}}
network: {{links: 3}}
clock: {{ticks: 24, tick: 1h, window: 24, active: {{night: 100%, morning: 100%, day: 100%, evening: 100%}}}}
models: {{engine: {engine}, model: gpt-4o-mini}}
"""
MIXTURES = {
    "all": ("llm", None, None, True),
    "all, by their personas": ("builtin", "llm", "llm", True),
    "stratum": ("builtin", "llm", None, True),
    "all but a stratum": ("llm", None, "builtin", True),
    "none": ("builtin", None, None, False),
    "all personas built in": ("llm", "builtin", "builtin", False),
}


@pytest.fixture(params=MIXTURES)
def mixture(request, tmp_path, monkeypatch):
    """A scenario file, the same cell as by hand, and whether anybody in it speaks."""
    for name in ("SIMFLOW_LLM_MODEL", "SIMFLOW_LLM_CACHE", "SIMFLOW_LLM_MODE", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / "state"))
    engine, young, old, speaks = MIXTURES[request.param]
    path = tmp_path / "study.yaml"
    named = {name: f", engine: {own}" if own else "" for name, own in (("young", young), ("old", old))}
    path.write_text(SCENARIO.format(engine=engine, **named))
    personas = (Persona("young", 4, engine=young), Persona("old", 4, engine=old))
    by_hand = Cell(
        scenario="study",
        variant="base",
        sweep={},
        seed=1,
        topics=(Topic("tariff", ""),),
        personas=personas,
        models=Models(engine=engine, model="gpt-4o-mini"),
    )
    return path, by_hand, speaks


def test_everything_agrees_on_whether_anybody_speaks(mixture, capsys):
    path, by_hand, speaks = mixture
    for cell in (load(path).cells[0], by_hand):
        assert (cell.speaks, spends(cell)) == (speaks, speaks)
        parts = Parts(cell)
        assert parts.engine_name == ("llm" if speaks else "builtin")
        if speaks:
            with pytest.raises(BadInput, match="there is no key"):
                parts.ready()
        else:
            parts.ready()
    code = 0
    try:
        main(["prompts", str(path), "--json"])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    if speaks:
        assert (code, json.loads(said.out)["phase"]) == (0, "act")
    else:
        assert code == 2
        assert "no such question would be asked" in said.err


def test_who_speaks_for_nobody_runs_without_a_key(mixture, tmp_path):
    path, _, speaks = mixture
    run = open_cell(path, load(path).cells[0], tmp_path / "state")
    if speaks:
        with pytest.raises(BadInput, match="there is no key"):
            run.window(0)
        assert run.committed == ()
        assert list_runs(tmp_path / "state") == []
    else:
        run.window(0)
        assert run.data().table("turns").num_rows == 0
        assert run.data().table("episodes").num_rows > 0


def test_cells_that_share_parts_have_the_keys_that_each_would_have_alone(tmp_path, monkeypatch):
    """What a plan says is stored is what a run finds: whatever a variant changes of who speaks, in which language, what is read."""
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / "state"))
    path = tmp_path / "study.yaml"
    variants = (
        "{base: {}, links: {network.links: 4}, model: {population.personas.young.model: gpt-4o}, engine: {population.personas.old.engine: llm}, "
        "language: {language: {code: uk}}, read: {models.extractor: llm}, other: {models.model: gpt-4o}, "
        "relations: {extract: {relations: {opinion: {on: topic}}}}}"
    )
    text = SCENARIO.format(engine="builtin", young=", engine: llm", old="")
    path.write_text(f"{text}experiment: {{repeats: 2, variants: {variants}}}\n")
    cells = load(path).cells
    found = keys_of(cells)
    assert found == {cell.name: window_keys(cell) for cell in cells}
    assert len({keys[-1] for keys in found.values()}) == len(cells)
