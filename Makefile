# Bare `make` lists what there is. Everything is set up on the way: a .venv in the checkout, the rig in release.
SHELL := bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results/quick
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help setup run finding test test-fast test-long test-durations check check-python check-rust docs studies bench fuzz planted lines clean system test-system

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

run: setup ## set up, run experiments/quick.toml, print the table and the path of the page
	@$(BIN)/acidtest engines install firebird-5.0
	$(BIN)/acidtest run experiments/quick.toml --out $(OUT)

test: setup test-system ## set up and pass every test
	@tests/run.sh

test-fast: setup ## the tests that ask nothing of the machine, and one engine
	@tests/run.sh fast

finding: setup ## one of findings/ again: make finding NAME=firebird-rollback
	@$(BIN)/python findings/$(NAME)/reproduce.py $(ARGS)

test-long: setup test-system ## every test, and every repetition of those that kill at random moments
	@tests/run.sh long

test-durations: setup test-system ## every test, after which tests/durations.json and the table of CONTRIBUTING.md say how long each took
	@tests/run.sh durations $(ARGS)

check: setup ## lint, types, layers
	@$(MAKE) --no-print-directory -j2 --output-sync=target check-python check-rust

check-python:
	$(BIN)/ruff check src tests bench findings studies programs
	$(BIN)/ruff format --check src tests bench findings studies programs
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check-rust:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

docs: setup ## write docs/EXPERIMENT.md, and the words that shells complete, from the models of an experiment
	$(BIN)/python -m acidtest.reference

studies: setup ## make docs/studies/ again from kept recordings; STUDY=linux-file-systems measures that one from scratch
ifdef STUDY
	$(BIN)/python -m studies measure $(STUDY) $(if $(ONLY),--only $(ONLY))
else
	$(BIN)/python -m studies pages
endif

bench: setup ## the generator's cost, as figures and ratios
	$(BIN)/python -m bench

fuzz: setup ## fuzz what reads other people's files, for MINUTES (10): kits, or WHAT=folders, logs, scripts or disk-faults; faults are kept
ifeq ($(WHAT),scripts)
	cargo run --locked --profile fuzz -p language --example fuzz -- $(or $(MINUTES),10) $(SEED)
else ifeq ($(WHAT),disk-faults)
	cargo run --locked --profile fuzz -p disk --example fuzz_faults -- $(or $(MINUTES),10) $(SEED)
else
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(or $(MINUTES),10) --what $(or $(WHAT),kits) $(if $(SEED),--seed $(SEED))
endif

planted: setup ## plant faults (ONLY=pattern), and see which tests notice them: EXTENT=test, long or fast, AT=commit, KEPT=1; tests/planted/README.md
	PYTHONPATH=tests $(BIN)/python -m planted $(if $(ONLY),--only '$(ONLY)') $(if $(EXTENT),--extent $(EXTENT)) $(if $(AT),--at $(AT)) $(if $(KEPT),--kept)

lines: ## count lines of the lab, the rig and the tests, the auditor's apart
	@count() { printf '%-24s %8d\n' "$$1" "$$(git ls-files -z "$${@:2}" | xargs -0 cat | wc -l)"; }; \
	  count 'lab without audit' 'src/*.py' ':!src/acidtest/audit/'; \
	  count 'rig' 'rig/*.rs'; \
	  count 'tests without audit' 'tests/*.py' ':!tests/audit/' ':!tests/kits/' ':!tests/fuzz/corpus/'; \
	  count 'audit' 'src/acidtest/audit/*.py'; \
	  count 'tests of audit' 'tests/audit/*.py'

clean: ## release what killed runs left behind, remove .venv and target
	-@[ ! -x $(BIN)/acidtest ] || $(BIN)/acidtest clean
	rm -rf $(VENV) target

setup: system $(VENV)/installed ## make the .venv with acidtest in it

# The wheel holds the rig: it is built again when anything that goes into it has changed.
$(VENV)/installed: pyproject.toml constraints.txt Cargo.toml Cargo.lock $(shell find rig -name Cargo.toml -o -path '*/src/*' -type f)
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@echo "setting up: Python packages, then the rig (a few minutes the first time)"
	@$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

# $(call debian,PACKAGES): install those that are missing where we may; elsewhere name them. No service that comes with
# a package is started (see invoke-rc.d(8)): acidtest runs its own servers.
POLICY := /usr/sbin/policy-rc.d
define debian
missing=; for p in $(1); do \
  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
if [ -z "$$missing" ]; then :; \
elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
  own=; [ -e $(POLICY) ] || { own=1; printf '#!/bin/sh\nexit 101\n' >$(POLICY); chmod +x $(POLICY); }; \
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
  code=$$?; [ -z "$$own" ] || rm -f $(POLICY); [ $$code = 0 ]; \
else echo "missing, by their Debian names:$$missing"; fi
endef

# Firebird needs a library or two that a bare machine lacks, engines of Debian what checks their signatures; places need
# what makes their file systems.
system:
	@$(call debian,gpgv debian-archive-keyring libtommath1 libncurses5 e2fsprogs xfsprogs btrfs-progs util-linux)

# Tests call these; one that is missing fails them. MariaDB 10.11 is Debian's where it has that one.
test-system:
	@$(call debian,chromium jq gnupg strace procps binutils mount jfsutils f2fs-tools nilfs-tools reiserfsprogs cryptsetup-bin dmsetup lvm2 mdadm \
	  qemu-system-x86 busybox-static mariadb-server-core galera-4 galera-arbitrator-4 openssh-server iproute2 slurm-wlm munge \
	  redis-server etcd-server etcd-client python3-gdbm python3-diskcache fio)
