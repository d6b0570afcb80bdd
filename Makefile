# Everything runs in .venv, made here from pyproject.toml; nothing on the machine is changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: help demo test lint bench assure clean
help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("rrcollect needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/demo.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[estimate]'
	@touch $@

$(VENV)/test.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

demo: $(VENV)/demo.stamp  ## the main job end to end, no server and no configuration
	$(BIN)/python examples/demo.py

test: $(VENV)/test.stamp  ## all tests, with branch coverage
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --cov --cov-report=term --durations=12

lint: $(VENV)/test.stamp  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/bench.stamp: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

bench: $(VENV)/bench.stamp  ## speed against named competitors, as ratios
	$(BIN)/python -m benchmarks.run

$(VENV)/assure.stamp: $(VENV)/bench.stamp
	$(BIN)/python -m pip install --quiet --editable '.[assure]'
	@touch $@

assure: $(VENV)/assure.stamp  ## the long suite: searches for counterexamples, written to docs/assurance.md
	$(BIN)/python -m assurance

clean:  ## remove what make built
	rm -rf $(VENV) build dist .coverage .hypothesis
