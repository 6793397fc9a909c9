# The few commands that everyone uses. `make` alone lists them. Nothing has to be installed before but python3 and git:
# uv is taken from PATH, or brought into .tools/ from PyPI; Postgres and RabbitMQ are containers or Debian packages.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup check fmt test demo play bench soak clean

UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
BIN := .venv/bin
# Debian's own Python where it is new enough: it is built with the optimisations (PGO, LTO) that one compiled by hand
# mostly lacks, and runs a fifth faster. Else what uv finds.
PYTHON ?= $(lastword $(wildcard /usr/bin/python3.11 /usr/bin/python3.12 /usr/bin/python3.13))
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# What `make test` runs; `make test TESTS=tests/unit` runs a part.
TESTS ?= tests/unit tests/scenarios tests/integration tests/e2e tests/faults
# Python code that is checked; generated code is not.
CODE := libs services tests

help: ## List the commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(UV) ## Install everything the project needs, into .venv and from Debian or Docker
	@echo "… Python packages (uv sync)"
	@$(UV) sync --locked $(if $(PYTHON),--python $(PYTHON))
	@$(BIN)/python -m cardroom.local prepare

check: setup ## Lint, format, types, contracts; says everything that is wrong, not only the first
	@failed=0; step() { echo "… $$1"; shift; "$$@" || failed=1; }; \
	step "ruff check" $(BIN)/ruff check $(CODE); \
	step "ruff format" $(BIN)/ruff format --check $(CODE); \
	step "mypy" $(BIN)/mypy $(CODE); \
	step "buf" $(BIN)/python libs/contracts/check_contracts.py; \
	[ $$failed = 0 ] && echo "✓ check"

fmt: setup ## Format the code and repair what ruff can repair
	@$(BIN)/ruff check --fix-only $(CODE); $(BIN)/ruff format $(CODE)

test: setup ## Run every test that needs no cluster, the fast ones first
	@$(BIN)/pytest $(wildcard $(TESTS))

demo: setup ## Run a whole card room with bots on this machine; HANDS=20 stops after 20 hands and audits
	@$(BIN)/cardroom demo $(if $(HANDS),--hands $(HANDS))

play: setup ## Sit down at the running demo yourself; EDGE=host:port plays somewhere else
	@$(BIN)/cardroom play $(if $(EDGE),--edge $(EDGE))

bench: setup ## Measure latency, throughput and idle cost of the whole stack; BENCH=idle measures one thing
	@$(BIN)/python -m tests.bench $(BENCH)

soak: setup ## Play at 200 tables while every process is ended in turn, then audit; MINUTES=20 says how long
	@$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),20)

clean: ## Remove what the other commands made, and what killed runs left on the machine
	@[ ! -x $(BIN)/python ] || $(BIN)/python -m cardroom.local clean
	@rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.tools/bin/uv:
	@echo "… uv (into .tools/)"
	@python3 -m venv .tools >/dev/null 2>&1 || { rm -rf .tools; echo "… apt-get install python3-venv"; \
	  $(SUDO) apt-get -qq update && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3-venv >/dev/null \
	  && python3 -m venv .tools; }
	@.tools/bin/pip --quiet install uv
