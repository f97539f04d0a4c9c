# One door to every task; `make` alone lists them.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Warnings are errors in the checks; whoever just wants to run it may have a compiler we have not met.
WERROR := OFF
check test-newer kernel-test: WERROR := ON
# A newer interpreter than the default one, when the machine has it: the suite runs there as well.
NEWER := $(shell $(PYTHON) tools/newer_python.py 2>/dev/null)
KERNEL := CMakeLists.txt pyproject.toml $(shell find kernel -name '*.?pp' -not -path '*/tests/*')

.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast test-newer check lint types kernel-test bench docs stubs torture clean

help: ## List the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(VENV)/.installed ## Make the environment and build the package into it

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"mainspring needs Python 3.11 or later: name one, as in make PYTHON=python3.13")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(VENV)/bin/python $(KERNEL)
	$(BIN)/python -m pip install --quiet --group dev
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[all]' \
		--config-settings=cmake.define.MAINSPRING_WERROR=$(WERROR)
	@touch $@

demo: install ## Run the main job: a robot cell, recorded, replayed and drawn
	$(BIN)/python -m examples.robot_cell

test: check test-newer ## Everything: the checks, the whole suite, and the newer interpreter

check: lint types kernel-test ## Exactly what .ci/run does on the default interpreter
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

lint: install ## Style, layers of the code, drift of the stubs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/stubs.py --check
	$(BIN)/python tools/docs.py --check

types: install ## Strict types
	$(BIN)/mypy

test-fast: install ## The suite without the slow tests
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m 'not slow'

test-newer: ## The suite on a newer interpreter, when the machine has one
ifneq ($(NEWER),)
	$(MAKE) VENV=.venv-newer PYTHON=$(NEWER) WERROR=$(WERROR) install
	.venv-newer/bin/python -m pytest -q -n 2 --dist worksteal
else
	@echo "no newer interpreter here; the suite ran on $$($(PYTHON) --version)"
endif

kernel-test: install ## The kernel's own tests, without Python: under the sanitizers, and with Clang
	$(BIN)/python tools/kernel_tests.py

bench: install ## Speed beside the peers, as ratios from one run
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks

docs: install ## Write the generated pages of docs/reference
	$(BIN)/python tools/docs.py

stubs: install ## Write the typed stubs of the kernel
	$(BIN)/python tools/stubs.py

torture: install ## Crash the log thousands of times
	$(BIN)/python -m tests.torture --rounds 5000

clean: ## Remove what was built
	rm -rf .venv .venv-newer build out
