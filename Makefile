# What people type. `make help` lists it. Set-up is part of each target and quick when nothing is missing.
# A company's Maven mirror: make setup IVY_SETTINGS=<Ivy settings file>.
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help setup demo test check up bench soak clean

BIN := .venv/bin
NO_ENGINE := not java and not spark and not broker and not browser and not soak
WITH_ENGINE := (java or spark or broker or browser) and not soak
# Two at a time, each with a Spark session and a broker of its own; the tests of a file share what they have set up.

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: ## virtual environment, packages, Java, jars: what is missing of them
	@./setup.sh

demo: setup ## the whole story on generated traffic; ends by itself with a summary
	@$(BIN)/tallystick demo

test: setup ## every test that CI runs; needs two cores and some 6 GB of memory
	@$(BIN)/pytest -n 2 -m "$(NO_ENGINE)"
	@$(BIN)/pytest -n 2 --dist loadfile -vv --durations=12 -m "$(WITH_ENGINE)"

check: setup ## format, lint, types, import contracts, tests that need no JVM; some three minutes
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/pytest -n 2 -m "$(NO_ENGINE)"

up: setup ## everything running, with the Dagster page; Ctrl-C ends it
	@$(BIN)/python -m cli.up

bench: setup ## each benchmark on little data, FULL=1 on much; a table at the end
	@$(BIN)/python -m cli.bench $(if $(FULL),--full)

soak: setup ## long fault tests
	@$(BIN)/pytest -m soak

clean: ## remove the virtual environment, jars and caches; state is removed by `tallystick reset`
	@rm -rf .venv .cache build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
