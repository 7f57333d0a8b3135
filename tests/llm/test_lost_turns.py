"""Turns that come to nothing are told to whoever runs, at the end, in the report, among the checks; a run of nothing else is no success."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from simflow.cli import main
from simflow.evaluation.verdicts import scenario_verdicts
from simflow.llm.scripted import Script, completion, serving
from simflow.run import open_cell
from simflow.run.turns import turns
from simflow.runs import find_run
from simflow.scenario import load
from simflow.store import Store
from simflow_pipelines.checks import judge

SCENARIO = """\
scenario: study
topics: {tariff: A rise of water bills.}
population:
  agents: 9
  personas: {pensioner: {share: 67%, engine: llm}, renter: {share: 33%}}
  voices: {council: {followers: 100%}}
network: {links: 3}
clock: {ticks: 36, tick: 1h, window: 18, active: {night: 100%, morning: 100%, day: 100%, evening: 100%}}
events: {news: {at: 0, by: council, post: From May the tariff rises by 18%., stance: 0.5}}
extract: {every: 18}
models: {model: gpt-4o-mini}
"""
ACT = {"turn": {"act": "post", "text": "I am against the tariff.", "topic": 1, "stance": -1}}


def refuses(_):
    return completion(None, refusal="I cannot take part in this.")


def moody(request):
    """One question in four is refused, one is answered with an act that is none: by what is asked, not by when."""
    roll = hashlib.sha256(request["messages"][-1]["content"].encode()).digest()[0] % 4
    return refuses(request) if roll == 0 else completion(json.dumps({"turn": {"act": "fly"}} if roll == 1 else ACT))


def simflow(*words) -> int:
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Each kind of run once: (exit code, standard error, its data)."""
    monkeypatch, found = pytest.MonkeyPatch(), {}

    def run(name, answer, capfd):
        if name not in found:
            folder = tmp_path_factory.mktemp(name)
            path = folder / "study.yaml"
            path.write_text(SCENARIO)
            with serving(Script(lambda request, _: answer(request))) as url:
                monkeypatch.setenv("OPENAI_BASE_URL", url)
                monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
                code = simflow("run", path, "--no-tables", "--home", folder / "state")
            said = capfd.readouterr()
            found[name] = code, said.out, said.err, Store(folder / "state").open(find_run(folder / "state", "study")), folder
        return found[name]

    yield run
    monkeypatch.undo()


def test_run_of_which_no_turn_came_to_anything_is_kept_and_ends_with_exit_code_one(ran, capfd):
    code, out, err, data, _ = ran("silent", refuses, capfd)
    counted = turns(data)
    assert counted.all > 5
    assert counted.reasons == {"refused": counted.all}
    assert code == 1
    assert f"error: no turn came to anything. {data.record.id}: {counted.all} of {counted.all} turns came to nothing: refused" in err
    assert "simflow prompts RUN" in err
    assert data.record.progress().state == "done"
    assert len(data.windows) == 2
    assert "What happened" in out, "the report is shown all the same"


def test_run_of_which_some_turns_came_to_nothing_says_so_and_is_a_success(ran, capfd):
    code, out, err, data, folder = ran("moody", moody, capfd)
    counted = turns(data)
    assert 0 < counted.lost < counted.all
    assert set(counted.reasons) == {"refused", "invalid"}
    assert code == 0
    assert str(counted) in err
    assert str(counted) in out
    assert "turns_come_to_something" in out, "the checks of the data say it too"
    assert simflow("runs", "study", "--home", folder / "state", "--json") == 0
    assert json.loads(capfd.readouterr().out)["models"]["turns"] == counted.plain()
    assert simflow("runs", "study", "--home", folder / "state") == 0
    assert str(counted) in capfd.readouterr().out


def test_counts_are_those_of_the_table(ran, capfd):
    data = ran("moody", moody, capfd)[3]
    outcomes = data.table("turns")["outcome"].to_pylist()
    lost = [o for o in outcomes if o.startswith("nothing: ")]
    assert (turns(data).all, turns(data).lost) == (len(outcomes), len(lost))
    assert turns(data, "pensioner") == turns(data)
    assert turns(data, "renter").all == 0


def test_checks_that_the_manual_shows_hold_and_fail_as_it_says(ran, capfd, root, tmp_path):
    manual = (root / "docs/models.md").read_text("utf-8")
    shown = re.search(r"```yaml\n(checks:\n.*?)```", manual, re.DOTALL).group(1)
    path = tmp_path / "study.yaml"
    path.write_text(SCENARIO + shown)
    checks = load(path).cells[0].checks
    assert [c.kind for c in checks] == ["lost_turns"] * 2
    silent, some = ran("silent", refuses, capfd)[3], ran("moody", moody, capfd)[3]
    for data in (silent, some):
        found = turns(data)
        assert found.lost / found.all > 0.2
        for (_, holds, words), limit in zip(scenario_verdicts(data, checks), ("0.1", "0.2"), strict=True):
            assert not holds
            assert f"share of {found.all} turns" in words
            assert f"refused {found.reasons['refused']}" in words
            assert words.endswith(f"should be at most {limit}")
    path.write_text(SCENARIO + shown.replace("10%", "80%").replace("20%", "80%"))
    assert [holds for _, holds, _ in scenario_verdicts(some, load(path).cells[0].checks)] == [True, True]
    path.write_text(SCENARIO + shown.replace("pensioner", "renter"))
    assert [words for _, _, words in scenario_verdicts(some, load(path).cells[0].checks)][1] == "no turn of renter was a model's"


def test_world_that_is_silent_because_nobody_was_answered_is_told_why(tmp_path, monkeypatch):
    """Where all residents are a model's and it refuses them all, the check of the data that ends the run names the refusals."""
    path = tmp_path / "study.yaml"
    text = SCENARIO.replace("renter: {share: 33%}", "renter: {share: 33%, engine: llm}").replace(
        "events:", "about: nothing is announced  #"
    )
    path.write_text(text.replace("window: 18", "window: 36"))
    with serving(Script(lambda request, _: refuses(request))) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        run = open_cell(path, load(path).cells[0], tmp_path / "state")
        run.window(0)
    [silent] = [verdict for verdict in judge(run.data(), 0) if verdict.check == "world_not_silent"]
    assert not silent.passed
    assert silent.words == f"nothing happened in the day before tick 36; {turns(run.data())}"
    assert "turns came to nothing: refused" in silent.words
