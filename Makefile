# Every target works from a clean clone with nothing but Python 3.11+, git and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast fmt lint types conform bench docs sizes clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP).demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(STAMP).test: $(VENV)/bin/python pyproject.toml requirements/llm.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/llm.txt
	@touch $@ $(STAMP).demo

demo: $(STAMP).demo ## install and run the main job: remember, recall, forget, reopen
	$(BIN)/retentive demo

test: $(STAMP).test ## install what the tests need and run them all
	$(BIN)/python -m pytest

test-fast: $(STAMP).test ## the tests without those marked slow, and without the small model
	$(BIN)/python -m pytest -m 'not slow and not llm'

fmt: $(STAMP).test ## format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(STAMP).test ## formatting, lint rules, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(STAMP).test ## strict types, in src and tests
	$(BIN)/basedpyright

conform: $(STAMP).test ## the published conformance suites over every store
	$(BIN)/python -m pytest tests/conformance

bench: $(STAMP).test ## speeds as ratios in one run; writes a JSON result
	$(BIN)/python -m bench

docs: $(STAMP).test ## run every example in README, docs and docstrings
	$(BIN)/python -m pytest tests/docs

sizes: $(STAMP).test ## the ten largest modules and functions
	$(BIN)/python tools/sizes.py

clean: ## remove the virtual environment and what the tools left
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
