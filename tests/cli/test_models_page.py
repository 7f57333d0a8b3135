"""docs/models.md: the commands that it gives for a server of one's own do what it says, here against a scripted endpoint."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

from simflow.cli import main
from simflow.llm.endpoint import VARIABLES
from simflow.llm.scripted import Script, completion, serving

ROOT = Path(__file__).parents[2]
BLOCK = re.search(r"```sh\n(vllm serve .*?)```", (ROOT / "docs" / "models.md").read_text("utf-8"), re.DOTALL)[1].splitlines()


def answer(request, _):
    """Says what each of the three kinds of question asks for."""
    shape = json.dumps(request.get("response_format", {}))
    if '"turn"' in shape:
        return completion(json.dumps({"turn": {"act": "post", "text": "The tariff is too high.", "topic": 1, "stance": -1}}))
    if '"r"' in shape:
        asked = [int(line.split(" ", 1)[0]) for line in request["messages"][-1]["content"].splitlines() if re.match(r"\d+ @", line)]
        return completion(json.dumps({"r": [{"e": n, "c": 1, "v": -1} for n in asked], "n": []}))
    return completion(json.dumps({"signs": [{"item": 1, "sign": 1}, {"item": 2, "sign": -1}]}))


def simflow(*words: str) -> int:
    try:
        main(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_commands_for_a_server_of_ones_own_probe_run_and_list(tmp_path, monkeypatch, capsys):
    serve, export, *rest = BLOCK
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIMFLOW_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    given = dict(word.split("=", 1) for word in shlex.split(export)[1:])
    served = dict(re.findall(r"--(\S+) (\S+)", serve))
    assert given["OPENAI_BASE_URL"] == f"http://{served['host']}:{served['port']}/v1"
    assert given["SIMFLOW_LLM_MODEL"] == served["served-model-name"]
    shown: dict[str, str] = {}
    script = Script(answer)
    with serving(script) as url:
        for name, value in {**given, "OPENAI_BASE_URL": url}.items():
            monkeypatch.setenv(name, value)
        asked = 0
        for line in rest:
            program, *words = shlex.split(line)
            if program == "sed":
                subprocess.run(line, shell=True, check=True)
                continue
            assert program == "simflow"
            extra = ["--quiet", "--no-tables", "--yes"] if words[0] == "run" else []
            assert simflow(*words, *extra) == 0, line
            shown[line] = capsys.readouterr().out
            if "--probe" in words:
                asked = len(script.requests)
    run = script.requests[asked:]
    assert run
    assert {request["model"] for request in script.requests} == {served["served-model-name"]}
    assert "masters it" in shown["simflow prompts small.yaml --probe"]
    assert len(shown["simflow prompts local-llm --list"].splitlines()) == len(run)
