# Bare `make` lists what there is. Everything is set up on the way: a .venv in the checkout, the rig in release.
SHELL := bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results/quick
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help setup run test check bench clean system test-system

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

run: setup ## set up, run experiments/quick.toml, print the table and the path of the page
	@$(BIN)/acidtest engines install firebird-5.0
	$(BIN)/acidtest run experiments/quick.toml --out $(OUT)

test: setup test-system ## set up and pass every test
	@tests/run.sh

check: setup ## lint, types, layers
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	cargo fmt --check
	cargo clippy --release --locked --all-targets -- -D warnings

bench: setup ## the generator's cost, as figures and ratios
	$(BIN)/python -m bench

clean: ## release what killed runs left behind, remove .venv and target
	-@[ ! -x $(BIN)/acidtest ] || $(BIN)/acidtest clean
	rm -rf $(VENV) target

setup: system $(VENV)/installed ## make the .venv with acidtest in it

# The wheel holds the rig: it is built again when anything that goes into it has changed.
$(VENV)/installed: pyproject.toml constraints.txt Cargo.toml Cargo.lock rig/Cargo.toml $(shell find rig/src -name '*.rs')
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@echo "setting up: Python packages, then the rig (a few minutes the first time)"
	@$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

# Firebird needs a library or two that a bare machine lacks; elsewhere `acidtest doctor` names the packages.
DEBIAN := libtommath1 libncurses5
system:
	@missing=; for p in $(DEBIAN); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ] && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	elif [ -n "$$missing" ]; then echo "missing:$$missing (see acidtest doctor)"; fi

TEST_DEBIAN := chromium strace procps binutils util-linux mount
test-system:
	@missing=; for p in $(TEST_DEBIAN); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi
